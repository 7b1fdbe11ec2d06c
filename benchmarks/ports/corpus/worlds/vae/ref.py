"""A beta-VAE with transposed convolutions, and its loss. torch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LATENT, BETA = 7, 4.0


class BetaVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc1 = nn.Conv2d(1, 8, 4, stride=2, padding=1)
        self.enc2 = nn.Conv2d(8, 12, 4, stride=2, padding=1)
        self.fc = nn.Linear(12 * 5 * 5, 32)
        self.mu = nn.Linear(32, LATENT)
        self.logvar = nn.Linear(32, LATENT)
        self.dec_fc = nn.Linear(LATENT, 12 * 5 * 5)
        self.dec1 = nn.ConvTranspose2d(12, 8, 4, stride=2, padding=1)
        self.dec2 = nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1)

    def encode(self, x):
        h = F.leaky_relu(self.enc1(x), 0.2)
        h = F.leaky_relu(self.enc2(h), 0.2)
        h = F.relu(self.fc(h.flatten(1)))
        return self.mu(h), self.logvar(h)

    def decode(self, z):
        h = F.relu(self.dec_fc(z)).view(-1, 12, 5, 5)
        h = F.leaky_relu(self.dec1(h), 0.2)
        return self.dec2(h)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        logits = self.decode(z)
        recon = F.binary_cross_entropy_with_logits(logits, x, reduction="none").flatten(1).sum(1)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1)
        return {"mu": mu, "logvar": logvar, "image": torch.sigmoid(logits), "loss": (recon + BETA * kl).mean(),
                "kl": kl}


def rough(module, seed=7, size=0.1):
    """Moves all vectors (biases, norms) off their trivial defaults, as training would."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(size * torch.randn(p.shape, generator=gen))
    return module


def make():
    torch.manual_seed(9)
    return rough(BetaVAE())


def inputs(seed):
    return np.random.default_rng(seed + 9).random((6, 1, 20, 20)).astype("float32")
