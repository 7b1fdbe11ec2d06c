"""N-BEATS, interpretable and generic blocks, with an input mask (Oreshkin et al. 2020)."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
BACK, HORIZON = 18, 6


class GenericBasis(nn.Module):
    size = BACK + HORIZON

    def forward(self, theta):
        return theta[:, :BACK], theta[:, BACK:]


class TrendBasis(nn.Module):
    def __init__(self, degree=3):
        super().__init__()
        self.terms = degree + 1
        self.size = 2 * self.terms
        powers = torch.arange(self.terms)[:, None]
        self.register_buffer("back", (torch.arange(BACK) / BACK)[None, :] ** powers)
        self.register_buffer("fore", (torch.arange(HORIZON) / HORIZON)[None, :] ** powers)

    def forward(self, theta):
        return theta[:, self.terms:] @ self.back, theta[:, :self.terms] @ self.fore


class SeasonalBasis(nn.Module):
    def __init__(self, harmonics=3):
        super().__init__()
        freq = torch.arange(1, harmonics + 1)[:, None]
        self.size = 4 * harmonics
        for name, length in (("back", BACK), ("fore", HORIZON)):
            grid = 2 * np.pi * freq * torch.arange(length)[None, :] / (2 * HORIZON)
            self.register_buffer(name, torch.cat([torch.cos(grid), torch.sin(grid)]))

    def forward(self, theta):
        half = self.size // 2
        return theta[:, half:] @ self.back, theta[:, :half] @ self.fore


class Block(nn.Module):
    def __init__(self, basis, width=20, depth=3):
        super().__init__()
        self.fcs = nn.ModuleList(nn.Linear(BACK if i == 0 else width, width) for i in range(depth))
        self.theta = nn.Linear(width, basis.size)
        self.basis = basis

    def forward(self, x):
        for fc in self.fcs:
            x = F.relu(fc(x))
        return self.basis(self.theta(x))


class NBeats(nn.Module):
    def __init__(self):
        super().__init__()
        bases = [TrendBasis(), TrendBasis(), SeasonalBasis(), SeasonalBasis(), GenericBasis()]
        self.blocks = nn.ModuleList(Block(b) for b in bases)

    def forward(self, x, mask):
        residual = x.flip(dims=(1,))
        mask = mask.flip(dims=(1,))
        forecast = x[:, -1:]
        for block in self.blocks:
            backcast, step = block(residual)
            residual = (residual - backcast) * mask
            forecast = forecast + step
        return forecast


def make(seed=0):
    torch.manual_seed(seed)
    net = NBeats()
    for p in net.parameters():
        nn.init.normal_(p, std=0.2 if p.ndim == 1 else 0.8 * p.shape[1] ** -0.5)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(BACK)
    x = 1 + 0.05 * t + np.sin(2 * np.pi * (t + rng.integers(0, 12, (6, 1))) / 12) + 0.2 * rng.normal(size=(6, BACK))
    mask = (t >= rng.integers(0, 7, size=(6, 1))).astype("float32")
    return (x * mask).astype("float32"), mask
