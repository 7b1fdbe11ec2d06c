"""Swin transformer in small (Liu et al. 2021): patches, a plain and a shifted block, a merge, a head."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
DIM, HEADS, WIN, RES = 24, 3, 4, 8


def windows(x, w):  # b (h w1) (v w2) c -> (b h v) (w1 w2) c
    b, h, v, c = x.shape
    return x.view(b, h // w, w, v // w, w, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, c)


def unwindows(x, w, res):  # (b h v) (w1 w2) c -> b (h w1) (v w2) c
    n = res // w
    return x.view(-1, n, n, w, w, x.shape[-1]).permute(0, 1, 3, 2, 4, 5).reshape(-1, res, res, x.shape[-1])


def relative_index(w):
    p = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(w), indexing="ij")).flatten(1)
    d = p[:, :, None] - p[:, None, :] + w - 1
    return d[0] * (2 * w - 1) + d[1]


def shift_mask(res, w, s):
    zone = torch.zeros(1, res, res, 1)
    cuts = slice(0, -w), slice(-w, -s), slice(-s, None)
    for i, rows in enumerate(cuts):
        for j, cols in enumerate(cuts):
            zone[:, rows, cols] = 3 * i + j
    zone = windows(zone, w).squeeze(-1)
    return torch.where(zone[:, None, :] == zone[:, :, None], 0.0, -100.0)


class Block(nn.Module):
    def __init__(self, dim, heads, res, shift):
        super().__init__()
        self.heads, self.res, self.shift = heads, res, shift
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.table = nn.Parameter(torch.zeros((2 * WIN - 1) ** 2, heads))
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.register_buffer("index", relative_index(WIN))
        if shift:
            self.register_buffer("mask", shift_mask(res, WIN, shift))

    def attend(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        bias = self.table[self.index].permute(2, 0, 1)[None]
        if self.shift:
            bias = bias + self.mask[:, None].repeat(n // len(self.mask), 1, 1, 1)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return self.proj(out.transpose(1, 2).reshape(n, t, c))

    def forward(self, x):
        h = self.norm1(x)
        if self.shift:
            h = h.roll((-self.shift, -self.shift), (1, 2))
        h = unwindows(self.attend(windows(h, WIN)), WIN, self.res)
        if self.shift:
            h = h.roll((self.shift, self.shift), (1, 2))
        x = x + h
        return x + self.mlp(self.norm2(x))


class Swin(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.patch_norm = nn.Conv2d(3, DIM, 4, 4), nn.LayerNorm(DIM)
        self.blocks = nn.Sequential(Block(DIM, HEADS, RES, 0), Block(DIM, HEADS, RES, WIN // 2))
        self.merge_norm, self.merge = nn.LayerNorm(4 * DIM), nn.Linear(4 * DIM, 2 * DIM, bias=False)
        self.last = Block(2 * DIM, 2 * HEADS, RES // 2, 0)
        self.norm, self.head = nn.LayerNorm(2 * DIM), nn.Linear(2 * DIM, 10)

    def forward(self, images):
        x = self.patch_norm(self.patch(images).permute(0, 2, 3, 1))
        x = self.blocks(x)
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
        x = self.last(self.merge(self.merge_norm(x)))
        return self.head(self.norm(x).mean((1, 2)))


@torch.no_grad()
def make(seed=0):
    net, g = Swin(), torch.Generator().manual_seed(seed)
    for name, p in net.named_parameters():
        noise = torch.randn(p.shape, generator=g)
        if "norm" in name and name.endswith("weight"):
            p.copy_(1 + 0.2 * noise)
        elif p.ndim == 1:
            p.copy_(0.2 * noise)
        else:
            p.copy_(noise * (0.5 if "table" in name else p[0].numel() ** -0.5))
    return net.eval()


def inputs(seed=0):
    return np.random.default_rng(seed).normal(0, 1, (4, 3, 32, 32)).astype("float32")
