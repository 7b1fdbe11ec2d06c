"""Convolutional VAE, 28x28 images, in torch (NCHW)."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class VAE(nn.Module):
    def __init__(self, latent=10):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, stride=2, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.mu = nn.Linear(32 * 49, latent)
        self.logvar = nn.Linear(32 * 49, latent)
        self.fc = nn.Linear(latent, 32 * 49)
        self.d1 = nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1)
        self.d2 = nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1)

    def encode(self, x):
        h = torch.relu(self.c1(x))
        h = torch.relu(self.c2(h))
        h = h.flatten(1)
        return self.mu(h), self.logvar(h)

    def decode(self, z):
        h = torch.relu(self.fc(z)).view(-1, 32, 7, 7)
        h = torch.relu(self.d1(h))
        return torch.sigmoid(self.d2(h))

    def forward(self, x):
        mu, logvar = self.encode(x)
        std = torch.exp(0.5 * logvar)
        z = mu + std * torch.randn_like(std)
        return {"recon": self.decode(z), "mu": mu, "logvar": logvar}


def make():
    torch.manual_seed(0)
    return VAE().eval()


def inputs(seed):
    return np.random.default_rng(seed).random((6, 1, 28, 28)).astype("float32")
