"""N-HiTS without torch.nn's layers: parameters in a ParameterDict, the rest functions."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"

INPUT, HORIZON, UNITS = 20, 12, 16
STACKS = ((8, 2), (3, 4), (1, 12))  # (pooling, knots)


def masked_moments(x, mask):
    n = mask.sum(-1, keepdim=True)
    mean = torch.einsum("bt,bt->b", x, mask)[:, None] / n
    centred = (x - mean) * mask
    std = torch.sqrt((centred * centred).sum(-1, keepdim=True) / n)
    return mean, std + 1e-6


def pool(x, size):
    """Maximum of each window; the last one may be short."""
    if size == 1:
        return x
    short = -x.shape[-1] % size
    filled = torch.nn.functional.pad(x, (0, short), value=float("-inf"))
    return filled.unfold(-1, size, size).amax(-1)


def interpolate(knots, size):
    """Linear interpolation between the centres of the knots' intervals."""
    n = knots.shape[-1]
    at = (torch.arange(size, dtype=knots.dtype) + 0.5) * (n / size) - 0.5
    at = at.clamp(0, n - 1)
    left = at.floor().long()
    right = (left + 1).clamp(max=n - 1)
    share = at - left
    return knots[:, left] * (1 - share) + knots[:, right] * share


def mlp(p, i, x):
    x = torch.relu(x @ p[f"{i}_w0"] + p[f"{i}_b0"])
    x = torch.relu(x @ p[f"{i}_w1"] + p[f"{i}_b1"])
    return x @ p[f"{i}_w2"] + p[f"{i}_b2"]


def nhits(p, y, mask):
    mean, std = masked_moments(y, mask)
    y = (y - mean) / std
    forecast = y[:, -1:]
    mask = torch.flip(mask, [-1])
    residual = torch.flip(y, [-1]) * mask
    for i, (size, n_knots) in enumerate(STACKS):
        theta = mlp(p, i, pool(residual, size))
        backcast, knots = theta.split([INPUT, n_knots], dim=-1)
        residual = (residual - backcast) * mask
        forecast = forecast + interpolate(knots, HORIZON)
    return forecast * std + mean, residual


class NHits(nn.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.p = nn.ParameterDict()
        for i, (size, n_knots) in enumerate(STACKS):
            sizes = (-(-INPUT // size), UNITS, UNITS, INPUT + n_knots)
            for j in range(3):
                w, b = rng.normal(0, 0.3, sizes[j : j + 2]), rng.normal(0, 0.3, sizes[j + 1])
                self.p[f"{i}_w{j}"] = nn.Parameter(torch.tensor(w, dtype=torch.float32))
                self.p[f"{i}_b{j}"] = nn.Parameter(torch.tensor(b, dtype=torch.float32))

    def forward(self, y, mask):
        return nhits(self.p, y, mask)


def make():
    return NHits(3).eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    t = np.arange(20)
    series = np.cumsum(rng.normal(size=(6, 20)), -1) + 5 + np.sin(t / 2) * rng.uniform(1, 3, (6, 1))
    first = np.array([0, 3, 0, 5, 1, 7])[:, None]
    mask = (t[None] >= first).astype("float32")
    return (series * mask).astype("float32"), mask


def load(ported, original):
    with torch.no_grad():
        for i, block in enumerate(original.blocks):
            for j in range(3):
                linear = block.layers[2 * j]
                ported.p[f"{i}_w{j}"].copy_(linear.weight.T)
                ported.p[f"{i}_b{j}"].copy_(linear.bias)
