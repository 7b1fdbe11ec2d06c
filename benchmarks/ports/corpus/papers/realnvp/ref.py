"""Conditional RealNVP policy density (Dinh et al. 2017, with ActNorm from Glow)."""
import math

import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(dim))
        self.shift = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        y = (x + self.shift) * torch.exp(self.log_scale)
        return y, self.log_scale.sum().expand(x.shape[0])


class AffineCoupling(nn.Module):
    def __init__(self, dim, context, hidden, mask):
        super().__init__()
        self.register_buffer("mask", mask)
        self.net = nn.Sequential(
            nn.Linear(dim + context, hidden), nn.ELU(),
            nn.Linear(hidden, hidden), nn.ELU(),
        )
        self.s = nn.Linear(hidden, dim)
        self.t = nn.Linear(hidden, dim)
        self.rescale = nn.Parameter(torch.ones(dim))

    def forward(self, x, context):
        frozen = x * self.mask
        h = self.net(torch.cat([frozen, context], dim=1))
        free = 1 - self.mask
        s = self.rescale * torch.tanh(self.s(h)) * free
        t = self.t(h) * free
        y = frozen + free * (x * torch.exp(s) + t)
        return y, s.sum(dim=1)


class RealNVP(nn.Module):
    def __init__(self, dim=6, obs=9, context=10, hidden=24, steps=4):
        super().__init__()
        self.context = nn.Sequential(nn.Linear(obs, hidden), nn.ELU(), nn.Linear(hidden, context))
        even = (torch.arange(dim) % 2 == 0).float()
        self.norms = nn.ModuleList([ActNorm(dim) for _ in range(steps)])
        self.couplings = nn.ModuleList([
            AffineCoupling(dim, context, hidden, even if i % 2 == 0 else 1 - even) for i in range(steps)])

    def forward(self, action, obs):
        context = self.context(obs)
        z = action
        log_det = torch.zeros(action.shape[0])
        for norm, coupling in zip(self.norms, self.couplings):
            z, ld = norm(z)
            log_det = log_det + ld
            z, ld = coupling(z, context)
            log_det = log_det + ld
            z = z.flip(1)
        log_base = (-0.5 * z ** 2 - 0.5 * math.log(2 * math.pi)).sum(dim=1)
        return z, log_base + log_det


def make():
    torch.manual_seed(61)
    model = RealNVP()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "log_scale" in name or "shift" in name:
                p.normal_(0, 0.3)
            elif "rescale" in name:
                p.uniform_(0.5, 1.2)
            elif p.ndim == 1:
                p.normal_(0, 0.2)
            else:
                p.mul_(1.5)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(6, 6)).astype(np.float32), rng.normal(size=(6, 9)).astype(np.float32)
