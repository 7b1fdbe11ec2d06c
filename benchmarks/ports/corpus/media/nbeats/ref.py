"""N-BEATS with a trend and a seasonality stack."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
B, H, U, DEG = 20, 6, 24, 3  # backcast, horizon, units, polynomial degree


class Trend(nn.Module):
    def __init__(self):
        super().__init__()
        self.theta = nn.Linear(U, 2 * (DEG + 1))
        self.register_buffer("b", torch.stack([(torch.arange(B) / B) ** i for i in range(DEG + 1)]))
        self.register_buffer("f", torch.stack([(torch.arange(H) / H) ** i for i in range(DEG + 1)]))

    def forward(self, h):
        tb, tf = self.theta(h).chunk(2, -1)
        return tb @ self.b, tf @ self.f


class Season(nn.Module):
    def __init__(self):
        super().__init__()
        n = H // 2
        self.theta = nn.Linear(U, 4 * n)

        def basis(size):
            t = torch.arange(size) / size
            g = 2 * np.pi * torch.outer(torch.arange(1, n + 1).float(), t)
            return torch.cat([g.cos(), g.sin()])

        self.register_buffer("b", basis(B))
        self.register_buffer("f", basis(H))

    def forward(self, h):
        tb, tf = self.theta(h).chunk(2, -1)
        return tb @ self.b, tf @ self.f


class Block(nn.Module):
    def __init__(self, basis):
        super().__init__()
        self.fc = nn.ModuleList([nn.Linear(B, U), nn.Linear(U, U), nn.Linear(U, U)])
        self.basis = basis

    def forward(self, x):
        for fc in self.fc:
            x = F.relu(fc(x))
        return self.basis(x)


class NBeats(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(Trend()), Block(Trend()), Block(Season()), Block(Season())])

    def forward(self, series):
        scale = series.abs().amax(1, keepdim=True) + 1e-8
        residual = series / scale
        forecast = torch.zeros(series.shape[0], H)
        for block in self.blocks:
            back, fore = block(residual)
            residual = residual - back
            forecast = forecast + fore
        return forecast * scale, residual


def make():
    torch.manual_seed(10)
    return NBeats().eval()


def inputs(seed):
    return np.cumsum(np.random.default_rng(seed).normal(size=(6, B)), 1).astype("float32")
