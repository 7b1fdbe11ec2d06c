"""N-HiTS (Challu et al. 2022) with temporal normalisation, torch modules."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class TemporalNorm(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def transform(self, x, mask):
        n = mask.sum(-1, keepdim=True)
        self.shift = (x * mask).sum(-1, keepdim=True) / n
        var = (mask * (x - self.shift) ** 2).sum(-1, keepdim=True) / n
        self.scale = torch.sqrt(var) + self.eps
        return (x - self.shift) / self.scale

    def inverse(self, y):
        return y * self.scale + self.shift


class NHITSBlock(nn.Module):
    def __init__(self, input_size, h, n_knots, pool, units):
        super().__init__()
        self.input_size, self.h = input_size, h
        self.pooling = nn.MaxPool1d(kernel_size=pool, stride=pool, ceil_mode=True)
        self.layers = nn.Sequential(
            nn.Linear(-(-input_size // pool), units),
            nn.ReLU(),
            nn.Linear(units, units),
            nn.ReLU(),
            nn.Linear(units, input_size + n_knots),
        )

    def forward(self, insample_y):
        pooled = self.pooling(insample_y.unsqueeze(1)).squeeze(1)
        theta = self.layers(pooled)
        backcast = theta[:, : self.input_size]
        knots = theta[:, self.input_size :]
        forecast = F.interpolate(knots[:, None, :], size=self.h, mode="linear")
        return backcast, forecast[:, 0, :]


class NHITS(nn.Module):
    def __init__(self, input_size=20, h=12, units=16, pools=(8, 3, 1), knots=(2, 4, 12)):
        super().__init__()
        self.norm = TemporalNorm()
        self.blocks = nn.ModuleList(
            NHITSBlock(input_size, h, k, p, units) for p, k in zip(pools, knots)
        )

    def forward(self, insample_y, insample_mask):
        y = self.norm.transform(insample_y, insample_mask)
        residuals = y.flip(dims=(-1,))
        mask = insample_mask.flip(dims=(-1,))
        residuals = residuals * mask

        forecast = y[:, -1:]  # level with naive 1
        for block in self.blocks:
            backcast, block_forecast = block(residuals)
            residuals = (residuals - backcast) * mask
            forecast = forecast + block_forecast
        return self.norm.inverse(forecast), residuals


def make():
    net = NHITS()
    rng = np.random.default_rng(31)
    with torch.no_grad():
        for p in net.parameters():
            std = 1.2 / np.sqrt(p.shape[1]) if p.ndim > 1 else 0.2
            p.copy_(torch.tensor(rng.normal(0, std, p.shape), dtype=torch.float32))
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    t = np.arange(20)
    series = np.cumsum(rng.normal(size=(6, 20)), -1) + 5 + np.sin(t / 2) * rng.uniform(1, 3, (6, 1))
    first = np.array([0, 3, 0, 5, 1, 7])[:, None]  # the window begins before the series
    mask = (t[None] >= first).astype("float32")
    return (series * mask).astype("float32"), mask
