"""RealNVP with ActNorm and fixed permutations, on vectors."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(dim))
        self.log_scale = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        z = (x + self.loc) * torch.exp(self.log_scale)
        return z, self.log_scale.sum().expand(x.shape[0])


class Permute(nn.Module):
    def __init__(self, dim, seed):
        super().__init__()
        perm = np.random.RandomState(100 + seed).permutation(dim)
        self.register_buffer("perm", torch.from_numpy(perm))

    def forward(self, x):
        return x[:, self.perm]


class Coupling(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.half = dim // 2
        self.net = nn.Sequential(
            nn.Linear(self.half, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 2 * (dim - self.half)))
        self.bound = nn.Parameter(torch.ones(dim - self.half))

    def forward(self, x):
        a, b = x[:, :self.half], x[:, self.half:]
        s, t = self.net(a).chunk(2, dim=1)
        s = self.bound * torch.tanh(s)
        b = b * torch.exp(s) + t
        return torch.cat([a, b], dim=1), s.sum(dim=1)


class RealNVP(nn.Module):
    def __init__(self, dim=8, hidden=20, steps=4):
        super().__init__()
        self.dim = dim
        self.norms = nn.ModuleList(ActNorm(dim) for _ in range(steps))
        self.perms = nn.ModuleList(Permute(dim, k) for k in range(steps))
        self.couplings = nn.ModuleList(Coupling(dim, hidden) for _ in range(steps))

    def forward(self, x):
        logdet = torch.zeros(x.shape[0])
        for norm, perm, coupling in zip(self.norms, self.perms, self.couplings):
            x, ld = norm(x)
            logdet = logdet + ld
            x = perm(x)
            x, ld = coupling(x)
            logdet = logdet + ld
        prior = -0.5 * (x ** 2).sum(dim=1) - 0.5 * self.dim * math.log(2 * math.pi)
        return x, prior + logdet


def make(seed=0):
    torch.manual_seed(seed)
    flow = RealNVP()
    for name, p in flow.named_parameters():
        if "bound" in name:
            nn.init.uniform_(p, 0.5, 1.)
        elif p.ndim == 2:
            nn.init.kaiming_normal_(p, nonlinearity="linear")
        else:
            nn.init.normal_(p, std=0.2)
    return flow.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    mix = np.random.default_rng(99).normal(size=(8, 8)) / 8 ** 0.5
    return (rng.normal(size=(6, 8)) @ mix).astype("float32")
