"""Diffusion-policy-like conditional U-Net over action sequences."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
ACT, TH, COND, D = 3, 8, 10, 16


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half = self.dim // 2
        emb = math.log(10000) / (half - 1)
        emb = torch.exp(torch.arange(half) * -emb)
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class Conv1dBlock(nn.Module):
    def __init__(self, i, o, k=3, groups=4):
        super().__init__()
        self.block = nn.Sequential(nn.Conv1d(i, o, k, padding=k // 2), nn.GroupNorm(groups, o), nn.Mish())

    def forward(self, x):
        return self.block(x)


class CondRes(nn.Module):
    def __init__(self, i, o, cond):
        super().__init__()
        self.b1, self.b2 = Conv1dBlock(i, o), Conv1dBlock(o, o)
        self.cond = nn.Sequential(nn.Mish(), nn.Linear(cond, 2 * o))
        self.o = o
        self.skip = nn.Conv1d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x, cond):
        out = self.b1(x)
        embed = self.cond(cond).reshape(x.shape[0], 2, self.o, 1)
        out = embed[:, 0] * out + embed[:, 1]
        return self.b2(out) + self.skip(x)


class TorchUnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(SinusoidalPosEmb(D), nn.Linear(D, 4 * D), nn.Mish(), nn.Linear(4 * D, D))
        self.d1, self.d2 = CondRes(ACT, 16, D + COND), CondRes(16, 24, D + COND)
        self.down = nn.Conv1d(16, 16, 3, 2, 1)
        self.up1 = CondRes(24, 16, D + COND)
        self.up = nn.ConvTranspose1d(16, 16, 4, 2, 1)
        self.last = CondRes(32, 16, D + COND)
        self.final = nn.Sequential(Conv1dBlock(16, 16), nn.Conv1d(16, ACT, 1))

    def forward(self, sample, timestep, cond):
        x = sample.transpose(1, 2)
        g = torch.cat([self.time(timestep), cond], -1)
        h = self.d1(x, g)
        x = self.d2(self.down(h), g)
        x = self.up(self.up1(x, g))
        x = self.last(torch.cat((x, h), dim=1), g)
        return self.final(x).transpose(1, 2)


def make():
    torch.manual_seed(10)
    net = TorchUnet().eval()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, nn.GroupNorm):
                m.weight.uniform_(0.5, 1.5), m.bias.normal_(0, 0.2)
    return net


def inputs(seed):
    r = np.random.default_rng(seed + 20)
    return (r.normal(size=(4, TH, ACT)).astype("float32"), np.array([3.0, 17.0, 42.0, 88.0], "float32"),
            r.normal(size=(4, COND)).astype("float32"))
