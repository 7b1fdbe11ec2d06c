"""A beta-VAE with a transposed-convolution decoder."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
B, Z, S, BETA = 4, 5, 16, 4.0


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.e1, self.e2 = nn.Conv2d(1, 8, 4, 2, 1), nn.Conv2d(8, 16, 4, 2, 1)
        self.mu, self.logvar = nn.Linear(256, Z), nn.Linear(256, Z)
        self.fc = nn.Linear(Z, 256)
        self.d1, self.d2 = nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.ConvTranspose2d(8, 1, 4, 2, 1)

    def forward(self, x):
        h = torch.relu(self.e2(torch.relu(self.e1(x)))).flatten(1)
        mu, logvar = self.mu(h), self.logvar(h).clamp(-6, 2)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        y = nn.functional.leaky_relu(self.fc(z), 0.2).view(-1, 16, 4, 4)
        y = nn.functional.leaky_relu(self.d1(y), 0.2)
        recon = torch.sigmoid(self.d2(y))
        kl = 0.5 * (mu ** 2 + logvar.exp() - 1 - logvar).sum(1)
        rec = ((recon - x) ** 2).flatten(1).sum(1)
        return {"recon": recon, "kl": kl, "loss": rec + BETA * kl}


def make():
    torch.manual_seed(10)
    ref = VAE()
    with torch.no_grad():
        ref.logvar.weight.mul_(12)
        ref.fc.weight.mul_(2)
    return ref


def inputs(seed):
    return np.random.default_rng(seed + 10).random(size=(B, 1, S, S)).astype("float32")
