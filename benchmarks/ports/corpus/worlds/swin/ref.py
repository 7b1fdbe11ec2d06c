"""A Swin block: shifted windows, relative position bias, MLP. torch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
DIM, HEADS, WS, SHIFT, RES = 24, 3, 4, 2, 8


def window_partition(x, ws):
    B, H, W, C = x.shape
    x = x.view(B, H // ws, ws, W // ws, ws, C)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, ws * ws, C)


def window_reverse(w, ws, H, W):
    B = w.shape[0] // (H // ws * W // ws)
    x = w.view(B, H // ws, W // ws, ws, ws, -1)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(B, H, W, -1)


def position_index(ws):
    coords = torch.stack(torch.meshgrid(torch.arange(ws), torch.arange(ws), indexing="ij")).flatten(1)
    rel = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0) + (ws - 1)
    return rel[..., 0] * (2 * ws - 1) + rel[..., 1]


def shift_mask(H, W, ws, shift):
    img = torch.zeros(1, H, W, 1)
    spans = (slice(0, -ws), slice(-ws, -shift), slice(-shift, None))
    count = 0
    for h in spans:
        for w in spans:
            img[:, h, w] = count
            count += 1
    win = window_partition(img, ws).squeeze(-1)
    diff = win[:, None, :] - win[:, :, None]
    return diff.masked_fill(diff != 0, -100.0).masked_fill(diff == 0, 0.0)


class WindowAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.proj = nn.Linear(DIM, DIM)
        self.table = nn.Parameter(0.5 * torch.randn((2 * WS - 1) ** 2, HEADS))
        self.register_buffer("index", position_index(WS))

    def forward(self, x, mask):
        B_, n, C = x.shape
        qkv = self.qkv(x).reshape(B_, n, 3, HEADS, C // HEADS).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0] * (C // HEADS) ** -0.5, qkv[1], qkv[2]
        attn = q @ k.transpose(-2, -1)
        bias = self.table[self.index.view(-1)].view(n, n, HEADS).permute(2, 0, 1)
        attn = attn + bias.unsqueeze(0)
        nw = mask.shape[0]
        attn = attn.view(B_ // nw, nw, HEADS, n, n) + mask[None, :, None]
        attn = attn.view(-1, HEADS, n, n).softmax(-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(B_, n, C))


class SwinBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.attn = WindowAttention()
        self.fc1, self.fc2 = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)
        self.act = nn.GELU()
        self.register_buffer("mask", shift_mask(RES, RES, WS, SHIFT))

    def forward(self, x):
        B, H, W, C = x.shape
        y = torch.roll(self.norm1(x), (-SHIFT, -SHIFT), dims=(1, 2))
        y = self.attn(window_partition(y, WS), self.mask)
        y = torch.roll(window_reverse(y, WS, H, W), (SHIFT, SHIFT), dims=(1, 2))
        x = x + y
        return x + self.fc2(self.act(self.fc1(self.norm2(x))))


def rough(module, seed=7, size=0.1):
    """Moves all vectors (biases, norms) off their trivial defaults, as training would."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(size * torch.randn(p.shape, generator=gen))
    return module


def make():
    torch.manual_seed(5)
    return rough(SwinBlock())


def inputs(seed):
    return np.random.default_rng(seed + 5).normal(size=(3, RES, RES, DIM)).astype("float32")
