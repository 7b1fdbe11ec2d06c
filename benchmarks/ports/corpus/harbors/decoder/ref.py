"""A Mistral-like decoder: RMSNorm, rotary grouped-query attention in a sliding window, SwiGLU."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
VOCAB, DIM, HEADS, GROUPS, FF, WINDOW, LAYERS = 40, 32, 4, 2, 48, 4, 2


def rotary(t, d):
    rate = 10000.0 ** (-torch.arange(0, d, 2) / d)
    angle = torch.arange(t)[:, None] * rate
    angle = torch.cat([angle, angle], dim=-1)
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-b, a], dim=-1) * sin


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        d = DIM // HEADS
        self.att_norm, self.ff_norm = nn.RMSNorm(DIM, eps=1e-5), nn.RMSNorm(DIM, eps=1e-5)
        self.q, self.o = nn.Linear(DIM, HEADS * d, bias=False), nn.Linear(HEADS * d, DIM, bias=False)
        self.k, self.v = (nn.Linear(DIM, GROUPS * d, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(DIM, FF, bias=False) for _ in range(2))
        self.down = nn.Linear(FF, DIM, bias=False)

    def forward(self, x, cos, sin, mask):
        b, t, _ = x.shape
        h = self.att_norm(x)
        q, k, v = (f(h).view(b, t, -1, DIM // HEADS).transpose(1, 2) for f in (self.q, self.k, self.v))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = (y.repeat_interleave(HEADS // GROUPS, dim=1) for y in (k, v))
        h = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.o(h.transpose(1, 2).flatten(2))
        h = self.ff_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(DIM, eps=1e-5)

    def forward(self, tokens):
        t = tokens.shape[1]
        cos, sin = rotary(t, DIM // HEADS)
        i = torch.arange(t)
        mask = (i[:, None] >= i) & (i[:, None] - i < WINDOW)
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        return self.norm(x) @ self.embed.weight.T


@torch.no_grad()
def make(seed=0):
    net, g = Decoder(), torch.Generator().manual_seed(seed)
    for p in net.parameters():
        noise = torch.randn(p.shape, generator=g)
        p.copy_(noise * 1.5 * p.shape[1] ** -0.5 if p.ndim > 1 else 1 + 0.2 * noise)
    return net.eval()


def inputs(seed=0):
    return np.random.default_rng(seed).integers(0, VOCAB, (4, 12))
