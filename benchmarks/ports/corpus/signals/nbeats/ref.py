"""N-BEATS, interpretable: a trend stack, a seasonal stack and a generic one. torch."""

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
BACK, FORE, WIDTH = 20, 6, 32


class Trend(nn.Module):
    def __init__(self, degree=3):
        super().__init__()
        back = torch.arange(BACK) / BACK
        fore = torch.arange(FORE) / FORE
        powers = torch.arange(degree + 1)
        self.register_buffer("back", back[None, :] ** powers[:, None])
        self.register_buffer("fore", fore[None, :] ** powers[:, None])
        self.size = degree + 1

    def forward(self, theta):
        return theta[:, : self.size] @ self.back, theta[:, self.size :] @ self.fore


class Seasonality(nn.Module):
    def __init__(self, harmonics=2):
        super().__init__()
        rates = torch.arange(harmonics, FORE / 2 * harmonics) / harmonics
        rates = torch.cat([torch.zeros(1), rates])
        for name, length in (("back", BACK), ("fore", FORE)):
            grid = 2 * np.pi * (torch.arange(length) / FORE) * rates[:, None]
            if name == "back":
                grid = -grid
            self.register_buffer(name, torch.cat([torch.cos(grid), torch.sin(grid)]))
        self.size = 2 * len(rates)

    def forward(self, theta):
        return theta[:, : self.size] @ self.back, theta[:, self.size :] @ self.fore


class Generic(nn.Module):
    def __init__(self, size=8):
        super().__init__()
        self.size = size
        self.back = nn.Linear(size, BACK)
        self.fore = nn.Linear(size, FORE)

    def forward(self, theta):
        return self.back(theta[:, : self.size]), self.fore(theta[:, self.size :])


class Block(nn.Module):
    def __init__(self, basis):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(BACK, WIDTH), nn.ReLU(),
            nn.Linear(WIDTH, WIDTH), nn.ReLU(),
            nn.Linear(WIDTH, WIDTH), nn.ReLU(),
        )
        self.theta = nn.Linear(WIDTH, 2 * basis.size, bias=False)
        self.basis = basis

    def forward(self, x):
        return self.basis(self.theta(self.trunk(x)))


class NBeats(nn.Module):
    def __init__(self):
        super().__init__()
        self.stacks = nn.ModuleList(
            nn.ModuleList(Block(kind()) for _ in range(2)) for kind in (Trend, Seasonality, Generic)
        )

    def forward(self, series):
        level = series.abs().mean(dim=1, keepdim=True).clamp(min=1e-3)
        residual = (series / level).flip(1)
        forecast = (series[:, -1:] / level).repeat(1, FORE)
        parts = []
        for stack in self.stacks:
            total = torch.zeros_like(forecast)
            for block in stack:
                backcast, part = block(residual)
                residual = residual - backcast
                total = total + part
            parts.append(total * level)
            forecast = forecast + total
        return forecast * level, torch.stack(parts, dim=1)


def make():
    torch.manual_seed(8)
    return NBeats().eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    t = np.arange(BACK)
    series = 3 + rng.normal(size=(5, 1)) * t / 10 + np.sin(2 * np.pi * t / 6 + rng.uniform(0, 6, (5, 1)))
    return (series + rng.normal(size=(5, BACK)) * 0.2).astype("float32")
