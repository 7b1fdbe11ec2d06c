"""NeRF (Mildenhall et al. 2020): positional encoding, the MLP with its skip, volume rendering."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
L_POS, L_DIR, WIDTH, SAMPLES = 4, 2, 32, 12
NEAR, FAR = 2.0, 6.0


def encode(x, octaves):
    parts = [x]
    for k in range(octaves):
        parts.append(torch.sin(2.0**k * x))
        parts.append(torch.cos(2.0**k * x))
    return torch.cat(parts, dim=-1)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        pos, view = 3 + 6 * L_POS, 3 + 6 * L_DIR
        self.before = nn.ModuleList([nn.Linear(pos, WIDTH), nn.Linear(WIDTH, WIDTH)])
        self.after = nn.ModuleList([nn.Linear(pos + WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)])
        self.sigma = nn.Linear(WIDTH, 1)
        self.feature = nn.Linear(WIDTH, WIDTH)
        self.view = nn.Linear(WIDTH + view, WIDTH // 2)
        self.rgb = nn.Linear(WIDTH // 2, 3)

    def forward(self, points, dirs):
        x = encode(points, L_POS)
        h = x
        for layer in self.before:
            h = F.relu(layer(h))
        h = torch.cat([x, h], dim=-1)
        for layer in self.after:
            h = F.relu(layer(h))
        density = F.relu(self.sigma(h)).squeeze(-1)
        h = torch.cat([self.feature(h), encode(dirs, L_DIR)], dim=-1)
        colour = torch.sigmoid(self.rgb(F.relu(self.view(h))))
        return density, colour


class Renderer(nn.Module):
    def __init__(self):
        super().__init__()
        self.field = Field()

    def forward(self, origins, directions):
        t = torch.linspace(NEAR, FAR, SAMPLES)
        points = origins[:, None] + t[:, None] * directions[:, None]
        view = directions / directions.norm(dim=-1, keepdim=True)
        density, colour = self.field(points, view[:, None].expand_as(points))
        steps = torch.cat([t[1:] - t[:-1], torch.tensor([1e3])])
        steps = steps * directions.norm(dim=-1, keepdim=True)
        alpha = 1 - torch.exp(-density * steps)
        clear = torch.cumprod(1 - alpha + 1e-10, dim=-1)
        clear = torch.cat([torch.ones_like(clear[:, :1]), clear[:, :-1]], dim=-1)
        weights = alpha * clear
        rgb = (weights[..., None] * colour).sum(dim=1)
        depth = (weights * t).sum(dim=1)
        acc = weights.sum(dim=1, keepdim=True)
        return rgb + (1 - acc), depth


def make(seed=0):
    torch.manual_seed(seed)
    net = Renderer()
    for name, p in net.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(p, std=0.2)
        else:
            nn.init.normal_(p, std=math.sqrt(2.0 / p.shape[1]))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    origins = rng.normal(size=(6, 3)) * 0.3 + np.array([0, 0, 4.0])
    directions = rng.normal(size=(6, 3)) * 0.3 + np.array([0, 0, -1.0])
    return origins.astype("float32"), directions.astype("float32")
