"""Mip-NeRF in torch."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class IPE(nn.Module):
    def __init__(self, degrees):
        super().__init__()
        self.register_buffer("scales", 2.0 ** torch.arange(degrees))

    def forward(self, mean, var):
        y = (mean.unsqueeze(-2) * self.scales[:, None]).flatten(-2)
        v = (var.unsqueeze(-2) * self.scales[:, None].square()).flatten(-2)
        damp = torch.exp(-0.5 * v)
        return torch.cat([damp * y.sin(), damp * y.cos()], dim=-1)


class ViewEncoding(nn.Module):
    def __init__(self, degrees):
        super().__init__()
        self.register_buffer("scales", 2.0 ** torch.arange(degrees))

    def forward(self, x):
        y = (x[:, None, :] * self.scales[:, None]).flatten(1)
        return torch.cat([x, y.sin(), y.cos()], dim=-1)


def frustum_gaussians(origins, dirs, t, radius):
    left, right = t[:, :-1], t[:, 1:]
    mu, hw = (left + right) / 2, (right - left) / 2
    denom = 3 * mu.square() + hw.square()
    t_mean = mu + 2 * mu * hw.square() / denom
    t_var = hw.square() / 3 - (4 / 15) * hw.pow(4) * (12 * mu.square() - hw.square()) / denom.square()
    r_var = radius**2 * (mu.square() / 4 + 5 / 12 * hw.square() - 4 / 15 * hw.pow(4) / denom)
    sq = dirs.square()
    perp = 1 - sq / sq.sum(-1, keepdim=True)
    mean = origins[:, None] + torch.einsum("bn,bc->bnc", t_mean, dirs)
    var = torch.einsum("bn,bc->bnc", t_var, sq) + torch.einsum("bn,bc->bnc", r_var, perp)
    return mean, var


def render(rgb, sigma, t, dirs):
    delta = (t[:, 1:] - t[:, :-1]) * dirs.norm(dim=-1, keepdim=True)
    tau = sigma * delta
    before = torch.cumsum(tau, dim=-1) - tau
    weights = (1 - torch.exp(-tau)) * torch.exp(-before)
    acc = weights.sum(-1)
    color = torch.einsum("bn,bnc->bc", weights, rgb) + (1 - acc)[:, None]
    depth = (weights * (t[:, 1:] + t[:, :-1]) / 2).sum(-1) / acc
    return color, depth, weights


class MipNerf(nn.Module):
    def __init__(self, width=16, deg=4, deg_view=2, radius=0.05):
        super().__init__()
        enc, view = 6 * deg, 3 + 6 * deg_view
        self.radius = radius
        self.ipe, self.view_encoding = IPE(deg), ViewEncoding(deg_view)
        self.trunk = nn.Sequential(nn.Linear(enc, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.after_skip = nn.Sequential(nn.Linear(width + enc, width), nn.ReLU())
        self.sigma = nn.Linear(width, 1)
        self.feature = nn.Linear(width, width)
        self.color = nn.Sequential(nn.Linear(width + view, 8), nn.ReLU(), nn.Linear(8, 3))

    def forward(self, origins, directions, t_vals):
        mean, var = frustum_gaussians(origins, directions, t_vals, self.radius)
        x = self.ipe(mean, var)
        view = self.view_encoding(nn.functional.normalize(directions, dim=-1))
        h = self.after_skip(torch.cat([self.trunk(x), x], dim=-1))
        sigma = nn.functional.softplus(self.sigma(h).squeeze(-1) - 1)
        view = view[:, None].expand(-1, h.shape[1], -1)
        rgb = torch.sigmoid(self.color(torch.cat([self.feature(h), view], dim=-1)))
        rgb = rgb * 1.002 - 0.001
        return render(rgb, sigma, t_vals, directions)


def make():
    torch.manual_seed(2)
    return MipNerf().eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    origins = rng.normal(size=(6, 3)) * 0.5
    directions = rng.normal(size=(6, 3))
    t_vals = 0.5 + np.cumsum(rng.uniform(0.1, 0.5, size=(6, 8)), axis=-1)
    return origins.astype("float32"), directions.astype("float32"), t_vals.astype("float32")


def load(ported, original):
    pairs = [
        (ported.trunk[0], original.layers[0]), (ported.trunk[2], original.layers[1]),
        (ported.after_skip[0], original.layers[2]), (ported.sigma, original.density),
        (ported.feature, original.bottleneck), (ported.color[0], original.view_layer),
        (ported.color[2], original.rgb),
    ]
    for t, f in pairs:
        t.weight.data.copy_(torch.from_numpy(f.kernel.numpy().T.copy()))
        t.bias.data.copy_(torch.from_numpy(f.bias.numpy()))
