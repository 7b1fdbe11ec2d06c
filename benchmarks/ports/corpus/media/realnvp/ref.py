"""RealNVP: masked affine couplings with log-determinant and log-likelihood."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
D, H, N = 6, 24, 4
MASKS = [np.array([(i + j) % 2 for i in range(D)], "float32") for j in range(N)]


class Coupling(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", torch.tensor(mask))
        self.s = nn.Sequential(nn.Linear(D, H), nn.LeakyReLU(), nn.Linear(H, H), nn.LeakyReLU(), nn.Linear(H, D), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(D, H), nn.LeakyReLU(), nn.Linear(H, H), nn.LeakyReLU(), nn.Linear(H, D))
        self.log_scale = nn.Parameter(torch.zeros(D))

    def forward(self, x):
        xm = x * self.mask
        inv = 1 - self.mask
        s = self.s(xm) * torch.exp(self.log_scale) * inv
        t = self.t(xm) * inv
        return xm + inv * (x - t) * torch.exp(-s), -s.sum(1)


class RealNVP(nn.Module):
    def __init__(self):
        super().__init__()
        self.couplings = nn.ModuleList(Coupling(m) for m in MASKS)

    def forward(self, x):
        z, logdet = x, x.new_zeros(x.shape[0])
        for c in reversed(self.couplings):
            z, ld = c(z)
            logdet = logdet + ld
        prior = torch.distributions.Normal(0.0, 1.0)
        logp = prior.log_prob(z).sum(1)
        return {"z": z, "log_det": logdet, "log_prob": logp + logdet}


def make():
    torch.manual_seed(7)
    net = RealNVP()
    for c in net.couplings:
        nn.init.uniform_(c.log_scale, -0.3, 0.3)
    return net.eval()


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(8, D)).astype("float32")
