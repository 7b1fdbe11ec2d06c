"""One training step's loss of a small DDPM with a v-target: U-Net-like, weight-standardised, FiLM by time."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
MODE = "train"


class WSConv(nn.Conv2d):
    """Weight standardisation: each filter has mean 0 and variance 1."""

    def forward(self, x):
        mean = self.weight.mean(dim=(1, 2, 3), keepdim=True)
        var = self.weight.var(dim=(1, 2, 3), keepdim=True, unbiased=False)
        weight = (self.weight - mean) * torch.rsqrt(var + 1e-5)
        return F.conv2d(x, weight, self.bias, self.stride, self.padding)


class TimeEmbedding(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.mlp = nn.Sequential(nn.Linear(size, 2 * size), nn.SiLU(), nn.Linear(2 * size, size))

    def forward(self, t):
        half = self.size // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(half) / (half - 1))
        angles = t[:, None].float() * freqs[None]
        return self.mlp(torch.cat([angles.sin(), angles.cos()], dim=-1))


class ResBlock(nn.Module):
    def __init__(self, cin, cout, time, groups=2):
        super().__init__()
        self.conv1 = WSConv(cin, cout, 3, padding=1)
        self.norm1 = nn.GroupNorm(groups, cout)
        self.film = nn.Linear(time, 2 * cout)
        self.conv2 = WSConv(cout, cout, 3, padding=1)
        self.norm2 = nn.GroupNorm(groups, cout)
        self.dropout = nn.Dropout(0.1)
        self.shortcut = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, emb):
        scale, shift = self.film(F.silu(emb))[:, :, None, None].chunk(2, dim=1)
        h = self.norm1(self.conv1(x)) * (1 + scale) + shift
        h = self.norm2(self.conv2(self.dropout(F.silu(h))))
        return F.silu(h) + self.shortcut(x)


class Denoiser(nn.Module):
    def __init__(self, width=4, steps=50):
        super().__init__()
        self.time = TimeEmbedding(8)
        self.enter = ResBlock(2, width, 8)
        self.middle = ResBlock(width, 2 * width, 8)
        self.leave = ResBlock(3 * width, width, 8)
        self.out = nn.Conv2d(width, 2, 1)
        x = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
        curve = torch.cos((x + 0.008) / 1.008 * math.pi / 2) ** 2
        betas = (1 - curve[1:] / curve[:-1]).clamp(max=0.999)
        self.register_buffer("alpha_bar", torch.cumprod(1 - betas, dim=0).float())

    def predict(self, x, t):
        emb = self.time(t)
        a = self.enter(x, emb)
        b = self.middle(F.avg_pool2d(a, 2), emb)
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.out(self.leave(torch.cat([a, b], dim=1), emb))

    def forward(self, x0, t):
        noise = torch.randn_like(x0)
        bar = self.alpha_bar[t][:, None, None, None]
        xt = bar.sqrt() * x0 + (1 - bar).sqrt() * noise
        v = self.predict(xt, t)
        target = bar.sqrt() * noise - (1 - bar).sqrt() * x0
        snr = self.alpha_bar[t] / (1 - self.alpha_bar[t])
        weight = torch.clamp(snr, max=5.0) / (snr + 1)
        loss = weight * (v - target).pow(2).mean(dim=(1, 2, 3))
        x0_hat = bar.sqrt() * xt - (1 - bar).sqrt() * v
        return loss, x0_hat.clamp(-2, 2)


def make():
    torch.manual_seed(11)
    net = Denoiser()
    for p in net.parameters():
        if p.dim() == 1:
            p.data += 0.2 * torch.randn_like(p)
    return net.train()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, 2, 6, 6)).astype("float32"), np.array([3, 17, 30, 44])
