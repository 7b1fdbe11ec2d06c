"""A convolutional VAE: reconstruction logits and the terms of the ELBO per sample."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
Z = 8


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 4, 2, 1)
        self.c2 = nn.Conv2d(8, 16, 4, 2, 1)
        self.mu = nn.Linear(16 * 16, Z)
        self.logvar = nn.Linear(16 * 16, Z)
        self.fc = nn.Linear(Z, 16 * 16)
        self.d1 = nn.ConvTranspose2d(16, 8, 4, 2, 1)
        self.d2 = nn.ConvTranspose2d(8, 1, 4, 2, 1)

    def forward(self, x):
        h = F.elu(self.c2(F.elu(self.c1(x)))).flatten(1)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        d = F.elu(self.fc(z)).view(-1, 16, 4, 4)
        logits = self.d2(F.elu(self.d1(d)))
        bce = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum((1, 2, 3))
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1)
        return {"logits": logits, "bce": bce, "kl": kl}


def make():
    torch.manual_seed(8)
    net = VAE()
    nn.init.normal_(net.logvar.bias, -0.5, 0.3)
    return net.eval()


def inputs(seed):
    return np.random.default_rng(seed).random((5, 1, 16, 16)).astype("float32")
