"""Beta-VAE with a Bernoulli decoder; convolutional."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
MODE = "train"
Z, BETA = 6, 4.0


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 4, 2, 1)
        self.conv2 = nn.Conv2d(6, 10, 4, 2, 1)
        self.stats = nn.Linear(160, 2 * Z)
        self.fc = nn.Linear(Z, 160)
        self.deconv1 = nn.ConvTranspose2d(10, 6, 4, 2, 1)
        self.deconv2 = nn.ConvTranspose2d(6, 1, 4, 2, 1)

    def forward(self, x):
        h = F.relu(self.conv2(F.relu(self.conv1(x)))).flatten(1)
        mu, logvar = self.stats(h).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        h = F.relu(self.fc(z)).view(-1, 10, 4, 4)
        logits = self.deconv2(F.relu(self.deconv1(h)))
        nll = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(dim=(1, 2, 3))
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(dim=1)
        return {"probs": torch.sigmoid(logits), "loss": nll + BETA * kl}


def make():
    torch.manual_seed(5)
    net = VAE()
    nn.init.normal_(net.stats.bias, 0, 0.7)
    nn.init.normal_(net.stats.weight, 0, 0.2)
    return net


def inputs(seed):
    return np.random.default_rng(seed).uniform(size=(5, 1, 16, 16)).astype("float32")
