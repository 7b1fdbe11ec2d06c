"""NeRF: stratified samples along rays, positional encoding, volume rendering."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


def encode(x, bands):
    freqs = 2.0 ** torch.arange(bands, dtype=x.dtype) * math.pi
    angles = x[..., None] * freqs
    code = torch.cat([torch.sin(angles), torch.cos(angles)], dim=-1)
    return torch.cat([x, code.flatten(-2)], dim=-1)


class Field(nn.Module):
    def __init__(self, width=24, bands=3, view_bands=2):
        super().__init__()
        self.bands, self.view_bands = bands, view_bands
        position, view = 3 + 6 * bands, 3 + 6 * view_bands
        self.first = nn.Linear(position, width)
        self.second = nn.Linear(width, width)
        self.third = nn.Linear(width + position, width)
        self.sigma = nn.Linear(width, 1)
        self.feature = nn.Linear(width, width)
        self.view = nn.Linear(width + view, width // 2)
        self.rgb = nn.Linear(width // 2, 3)

    def forward(self, points, directions):
        p = encode(points, self.bands)
        h = F.relu(self.first(p))
        h = F.relu(self.second(h))
        h = F.relu(self.third(torch.cat([h, p], dim=-1)))
        density = F.softplus(self.sigma(h).squeeze(-1) - 1.0)
        d = encode(directions, self.view_bands)[:, None].expand(-1, points.shape[1], -1)
        h = F.relu(self.view(torch.cat([self.feature(h), d], dim=-1)))
        colour = torch.sigmoid(self.rgb(h)) * (1 + 2 * 0.001) - 0.001
        return density, colour


class Renderer(nn.Module):
    def __init__(self, near=0.5, far=3.0, samples=8):
        super().__init__()
        self.near, self.far, self.samples = near, far, samples
        self.field = Field()

    def depths(self, rays):
        edges = torch.linspace(self.near, self.far, self.samples + 1)
        lower, upper = edges[:-1], edges[1:]
        jitter = torch.rand(rays, self.samples)
        return lower + (upper - lower) * jitter

    def forward(self, origins, directions):
        views = F.normalize(directions, dim=-1)
        t = self.depths(origins.shape[0])
        points = origins[:, None] + t[..., None] * directions[:, None]
        density, colour = self.field(points, views)
        delta = torch.cat([t[:, 1:] - t[:, :-1], self.far - t[:, -1:]], dim=-1)
        delta = delta * directions.norm(dim=-1, keepdim=True)
        alpha = 1.0 - torch.exp(-density * delta)
        through = torch.cumprod(1.0 - alpha + 1e-10, dim=-1)
        through = torch.cat([torch.ones_like(through[:, :1]), through[:, :-1]], dim=-1)
        weights = alpha * through
        opacity = weights.sum(-1)
        rgb = (weights[..., None] * colour).sum(dim=-2) + (1.0 - opacity)[:, None]
        depth = (weights * t).sum(-1) / (opacity + 1e-6)
        disparity = 1.0 / torch.clamp(depth, min=1e-3)
        return {"rgb": rgb, "opacity": opacity, "disparity": disparity}


def make():
    torch.manual_seed(5)
    return Renderer()


def inputs(seed):
    rng = np.random.default_rng(seed)
    origins = rng.normal(scale=0.5, size=(6, 3)).astype("float32")
    directions = rng.normal(size=(6, 3)).astype("float32")
    return origins, directions
