"""LLaMA-style blocks with grouped-query attention, in torch."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.empty(d).uniform_(0.5, 1.5)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class Block(nn.Module):
    def __init__(self, d, heads, kv, hd, ff):
        super().__init__()
        self.heads, self.kv, self.hd = heads, kv, hd
        self.n1, self.n2 = RMSNorm(d), RMSNorm(d)
        self.q, self.k, self.v = (nn.Linear(d, n * hd, bias=False) for n in (heads, kv, kv))
        self.o = nn.Linear(heads * hd, d, bias=False)
        self.gate, self.up, self.down = nn.Linear(d, ff, bias=False), nn.Linear(d, ff, bias=False), nn.Linear(ff, d, bias=False)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        y = self.n1(x)
        q = self.q(y).view(b, t, self.heads, self.hd).transpose(1, 2)
        k = self.k(y).view(b, t, self.kv, self.hd).transpose(1, 2)
        v = self.v(y).view(b, t, self.kv, self.hd).transpose(1, 2)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        k, v = (a.repeat_interleave(self.heads // self.kv, dim=1) for a in (k, v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, -1))
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, vocab=40, d=48, heads=6, kv=2, hd=8, ff=64, depth=2):
        super().__init__()
        self.hd = hd
        self.emb = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList(Block(d, heads, kv, hd, ff) for _ in range(depth))
        self.norm = RMSNorm(d)

    def forward(self, tokens):
        x = self.emb(tokens)
        inv = 1.0 / 10000 ** (torch.arange(0, self.hd, 2, dtype=x.dtype) / self.hd)
        angles = torch.arange(tokens.shape[1], dtype=x.dtype)[:, None] * inv
        angles = torch.cat((angles, angles), dim=-1)
        for block in self.blocks:
            x = block(x, angles.cos(), angles.sin())
        return self.norm(x) @ self.emb.weight.T


def make():
    torch.manual_seed(0)
    return Llama().eval()


def inputs(seed):
    return np.random.default_rng(seed + 5).integers(0, 40, (3, 11))
