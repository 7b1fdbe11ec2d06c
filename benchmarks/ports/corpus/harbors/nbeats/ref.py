"""N-BEATS (Oreshkin et al. 2020), interpretable and generic stacks, on windows scaled one by one."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
BACK, AHEAD, WIDTH, DEGREE, WAVES = 24, 8, 32, 3, 3


def trend(steps):
    t = torch.arange(steps) / steps
    return torch.stack([t**i for i in range(DEGREE)])


def seasonality(steps):
    t = torch.arange(steps) / steps
    k = torch.arange(1, WAVES + 1)[:, None]
    return torch.cat([torch.cos(2 * torch.pi * k * t), torch.sin(2 * torch.pi * k * t)])


class Block(nn.Module):
    def __init__(self, basis):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(BACK, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
        back, ahead = (BACK, AHEAD) if basis is None else (len(basis(BACK)), len(basis(AHEAD)))
        self.theta_b = nn.Linear(WIDTH, back, bias=basis is None)
        self.theta_f = nn.Linear(WIDTH, ahead, bias=basis is None)
        self.basis = basis
        if basis is not None:
            self.register_buffer("basis_b", basis(BACK))
            self.register_buffer("basis_f", basis(AHEAD))

    def forward(self, x):
        h = self.fc(x)
        backcast, forecast = self.theta_b(h), self.theta_f(h)
        if self.basis is not None:
            backcast, forecast = backcast @ self.basis_b, forecast @ self.basis_f
        return backcast, forecast


class NBeats(nn.Module):
    def __init__(self):
        super().__init__()
        kinds = [trend, trend, seasonality, seasonality, None]
        self.blocks = nn.ModuleList(Block(kind) for kind in kinds)

    def forward(self, series):
        loc = series.mean(1, keepdim=True)
        scale = series.std(1, keepdim=True) + 1e-3
        rest, total = (series - loc) / scale, 0.0
        for block in self.blocks:
            backcast, forecast = block(rest)
            rest = rest - backcast
            total = total + forecast
        return total * scale + loc


@torch.no_grad()
def make(seed=0):
    net, g = NBeats(), torch.Generator().manual_seed(seed)
    for p in net.parameters():
        p.copy_(torch.randn(p.shape, generator=g) * (p.shape[1] ** -0.5 if p.ndim > 1 else 0.2))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(BACK)
    level, slope, phase = rng.normal(20, 5, (6, 1)), rng.normal(0, 0.3, (6, 1)), rng.uniform(0, 6, (6, 1))
    series = level + slope * t + 3 * np.sin(t * np.pi / 6 + phase) + rng.normal(0, 1, (6, BACK))
    return series.astype("float32")
