"""RealNVP on 6 dimensions: log-density and a sample, in torch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
D = 6


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.register_buffer("mask", (torch.arange(D) % 2 == int(flip)).float())
        self.net = nn.Sequential(nn.Linear(D, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2 * D))

    def st(self, x):
        s, t = self.net(x * self.mask).chunk(2, dim=1)
        return torch.tanh(s) * (1 - self.mask), t * (1 - self.mask)

    def forward(self, x):
        s, t = self.st(x)
        return x * torch.exp(s) + t, s.sum(1)

    def inverse(self, y):
        s, t = self.st(y)
        return (y - t) * torch.exp(-s)


class RealNVP(nn.Module):
    def __init__(self, depth=4):
        super().__init__()
        self.couplings = nn.ModuleList(Coupling(i % 2) for i in range(depth))

    def forward(self, x):
        z, logdet = x, torch.zeros(x.shape[0], dtype=x.dtype)
        for coupling in self.couplings:
            z, ld = coupling(z)
            logdet = logdet + ld
        log_prob = -0.5 * (z**2).sum(1) - 0.5 * D * np.log(2 * np.pi) + logdet
        sample = torch.randn_like(x)
        for coupling in reversed(self.couplings):
            sample = coupling.inverse(sample)
        return log_prob, sample


def make():
    torch.manual_seed(0)
    return RealNVP().eval()


def inputs(seed):
    return np.random.default_rng(seed + 6).normal(size=(8, D)).astype("float32")
