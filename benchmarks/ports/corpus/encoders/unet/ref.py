"""A small U-Net denoiser with a time embedding."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
B, S, CH = 3, 12, 8



def embed(t, dim):
    half = dim // 2
    freq = torch.exp(-math.log(10000.0) * torch.arange(half) / half)
    args = t[:, None] * freq[None]
    return torch.cat([args.sin(), args.cos()], -1)


class Res(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.c1, self.n1 = nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(4, cout)
        self.c2, self.n2 = nn.Conv2d(cout, cout, 3, padding=1), nn.GroupNorm(4, cout)
        self.t = nn.Linear(32, cout)

    def forward(self, x, e):
        h = nn.functional.silu(self.n1(self.c1(x)))
        h = h + self.t(e)[:, :, None, None]
        return nn.functional.silu(self.n2(self.c2(h)))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.r1, self.down = Res(2, CH), nn.Conv2d(CH, 2 * CH, 3, 2, 1)
        self.mid, self.up = Res(2 * CH, 2 * CH), nn.Conv2d(2 * CH, CH, 3, padding=1)
        self.r2, self.out = Res(2 * CH, CH), nn.Conv2d(CH, 2, 1)

    def forward(self, x, t):
        e = self.time(embed(t, 16))
        s = self.r1(x, e)
        h = self.mid(self.down(s), e)
        h = self.up(nn.functional.interpolate(h, scale_factor=2, mode="nearest"))
        h = self.r2(torch.cat([h, s], 1), e)
        return self.out(h)


def make():
    torch.manual_seed(8)
    ref = UNet()
    with torch.no_grad():
        for n, p in ref.named_parameters():
            if ".n1" in n or ".n2" in n:
                p.add_(torch.randn_like(p) * 0.2)
    return ref


def inputs(seed):
    r = np.random.default_rng(seed + 8)
    return r.normal(size=(B, 2, S, S)).astype("float32"), np.array([3.0, 40.0, 211.0], "float32")
