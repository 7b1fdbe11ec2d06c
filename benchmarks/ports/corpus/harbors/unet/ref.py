"""A DDPM noise predictor in small (Ho et al. 2020): FiLM residual blocks, attention below, skips."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
CH, GROUPS, TEMB = 16, 4, 32


class GroupNorm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x):  # b (g c) h w
        g = x.unflatten(1, (GROUPS, -1))
        var, mean = torch.var_mean(g, dim=(2, 3, 4), keepdim=True, correction=0)
        g = (g - mean) * torch.rsqrt(var + 1e-5)
        return g.flatten(1, 2) * self.gamma[:, None, None] + self.beta[:, None, None]


def sinusoid(t):
    k = TEMB // 2
    rate = torch.exp(-math.log(10000.0) * torch.arange(k) / (k - 1))
    angle = t.float()[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], dim=1)


class ResBlock(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.norm1, self.conv1 = GroupNorm(n_in), nn.Conv2d(n_in, n_out, 3, padding=1)
        self.film = nn.Linear(TEMB, 2 * n_out)
        self.norm2, self.conv2 = GroupNorm(n_out), nn.Conv2d(n_out, n_out, 3, padding=1)
        self.short = nn.Conv2d(n_in, n_out, 1) if n_in != n_out else nn.Identity()

    def forward(self, x, emb):
        h = self.conv1(F.silu(self.norm1(x)))
        scale, shift = self.film(F.silu(emb))[:, :, None, None].chunk(2, dim=1)
        h = self.norm2(h) * (1 + scale) + shift
        return self.short(x) + self.conv2(F.silu(h))


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm, self.qkv, self.out = GroupNorm(c), nn.Conv2d(c, 3 * c, 1), nn.Conv2d(c, c, 1)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).flatten(2).chunk(3, dim=1)  # b c (h w)
        a = (q.mT @ k * q.shape[1] ** -0.5).softmax(-1)
        return x + self.out((v @ a.mT).view_as(x))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(TEMB, TEMB), nn.SiLU(), nn.Linear(TEMB, TEMB))
        self.stem = nn.Conv2d(3, CH, 3, padding=1)
        self.enc1 = ResBlock(CH, CH)
        self.down = nn.Conv2d(CH, CH, 3, stride=2, padding=1)
        self.enc2, self.attention = ResBlock(CH, 2 * CH), Attention(2 * CH)
        self.up = nn.Conv2d(2 * CH, CH, 3, padding=1)
        self.dec = ResBlock(2 * CH, CH)
        self.norm, self.head = GroupNorm(CH), nn.Conv2d(CH, 3, 3, padding=1)

    def forward(self, x, t):
        emb = self.time(sinusoid(t))
        skip = self.enc1(self.stem(x), emb)
        h = self.attention(self.enc2(self.down(skip), emb))
        h = self.up(F.interpolate(h, scale_factor=2.0, mode="nearest"))
        h = self.dec(torch.cat([h, skip], dim=1), emb)
        return self.head(F.silu(self.norm(h)))


@torch.no_grad()
def make(seed=0):
    net, g = UNet(), torch.Generator().manual_seed(seed)
    for name, p in net.named_parameters():
        noise = torch.randn(p.shape, generator=g)
        p.copy_(noise * p[0].numel() ** -0.5 if p.ndim > 1 else float("gamma" in name) + 0.2 * noise)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, 3, 12, 12)).astype("float32"), rng.integers(0, 1000, 4)
