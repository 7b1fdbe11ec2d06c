"""Conditional Glow: actnorm, 1x1 mixing, affine coupling; log density."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
B, D, C, STEPS = 6, 8, 5, 3


class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias, self.logs = nn.Parameter(torch.randn(D) * 0.3), nn.Parameter(torch.randn(D) * 0.2)
        self.mix = nn.Parameter(torch.linalg.qr(torch.randn(D, D))[0] + 0.1 * torch.randn(D, D))
        self.net = nn.Sequential(nn.Linear(D // 2 + C, 24), nn.Tanh(), nn.Linear(24, D))

    def forward(self, x, cond):
        x = (x + self.bias) * self.logs.exp()
        logdet = self.logs.sum()
        x = x @ self.mix.T
        logdet = logdet + torch.linalg.slogdet(self.mix)[1]
        a, b = x.chunk(2, -1)
        raw, shift = self.net(torch.cat([a, cond], -1)).chunk(2, -1)
        scale = torch.sigmoid(raw + 2.0)
        b = (b + shift) * scale
        return torch.cat([a, b], -1).flip(-1), logdet + scale.log().sum(-1)


class Glow(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList(Step() for _ in range(STEPS))

    def forward(self, x, cond):
        total = torch.zeros(x.shape[0])
        for s in self.steps:
            x, ld = s(x, cond)
            total = total + ld
        prior = -0.5 * (x ** 2).sum(-1) - 0.5 * D * math.log(2 * math.pi)
        return {"z": x, "log_prob": prior + total}


def make():
    torch.manual_seed(7)
    return Glow()


def inputs(seed):
    r = np.random.default_rng(seed + 7)
    return r.normal(size=(B, D)).astype("float32"), r.normal(size=(B, C)).astype("float32")
