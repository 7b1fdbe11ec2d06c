"""Small LLaMA-flavoured decoder: RMSNorm, rotary embeddings, grouped-query attention, KV cache.

forward(prompt, continuation): prefill on the prompt, then feed the continuation one token at a time
through the cache (teacher forced). Returns the logits at every position.
"""
import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


@dataclass
class Config:
    vocab: int = 29
    dim: int = 32
    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: int = 2
    hidden: int = 48
    theta: float = 10000.0
    eps: float = 1e-5


class RMSNorm(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotate(x, pos, theta):
    # x: (B, T, H, D), pairs (2i, 2i+1)
    d = x.shape[-1]
    inv = theta ** (-torch.arange(0, d, 2, dtype=torch.float32) / d)
    ang = pos.float()[:, None] * inv[None, :]
    cos, sin = ang.cos()[None, :, None, :], ang.sin()[None, :, None, :]
    x0, x1 = x[..., 0::2], x[..., 1::2]
    return torch.stack([x0 * cos - x1 * sin, x0 * sin + x1 * cos], dim=-1).flatten(-2)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.hd = c.dim // c.n_heads
        self.wq = nn.Linear(c.dim, c.n_heads * self.hd, bias=False)
        self.wk = nn.Linear(c.dim, c.n_kv_heads * self.hd, bias=False)
        self.wv = nn.Linear(c.dim, c.n_kv_heads * self.hd, bias=False)
        self.wo = nn.Linear(c.n_heads * self.hd, c.dim, bias=False)

    def forward(self, x, cache):
        B, T, _ = x.shape
        past = 0 if cache is None else cache[0].shape[1]
        pos = torch.arange(past, past + T)
        q = rotate(self.wq(x).view(B, T, self.c.n_heads, self.hd), pos, self.c.theta)
        k = rotate(self.wk(x).view(B, T, self.c.n_kv_heads, self.hd), pos, self.c.theta)
        v = self.wv(x).view(B, T, self.c.n_kv_heads, self.hd)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
        cache = (k, v)
        rep = self.c.n_heads // self.c.n_kv_heads
        k, v = k.repeat_interleave(rep, 2), v.repeat_interleave(rep, 2)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        s = q @ k.transpose(-1, -2) / math.sqrt(self.hd)
        keep = torch.arange(past + T)[None, :] <= pos[:, None]
        s = s.masked_fill(~keep, float("-inf"))
        y = (s.softmax(-1) @ v).transpose(1, 2).reshape(B, T, -1)
        return self.wo(y), cache


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(c.dim, c.eps), RMSNorm(c.dim, c.eps)
        self.attn = Attention(c)
        self.w_gate = nn.Linear(c.dim, c.hidden, bias=False)
        self.w_up = nn.Linear(c.dim, c.hidden, bias=False)
        self.w_down = nn.Linear(c.hidden, c.dim, bias=False)

    def forward(self, x, cache):
        a, cache = self.attn(self.norm1(x), cache)
        x = x + a
        h = self.norm2(x)
        return x + self.w_down(F.silu(self.w_gate(h)) * self.w_up(h)), cache


class GPT(nn.Module):
    def __init__(self, c=Config()):
        super().__init__()
        self.emb = nn.Embedding(c.vocab, c.dim)
        self.blocks = nn.ModuleList([Block(c) for _ in range(c.n_layers)])
        self.norm = RMSNorm(c.dim, c.eps)

    def step(self, tok, caches):
        x = self.emb(tok)
        new = []
        for blk, cache in zip(self.blocks, caches):
            x, cache = blk(x, cache)
            new.append(cache)
        return F.linear(self.norm(x), self.emb.weight), new

    def forward(self, prompt, continuation):
        logits, caches = self.step(prompt, [None] * len(self.blocks))
        out = [logits]
        for t in range(continuation.shape[1]):
            logits, caches = self.step(continuation[:, t:t + 1], caches)
            out.append(logits)
        return torch.cat(out, 1)


def make():
    torch.manual_seed(22)
    net = GPT()
    for name, p in net.named_parameters():
        if "norm" in name:
            nn.init.normal_(p, 1.0, 0.2)
        elif name == "emb.weight":
            nn.init.normal_(p, 0.0, 0.05)
        elif "wo" in name or "w_down" in name:
            nn.init.normal_(p, 0.0, 0.06)
        else:
            nn.init.normal_(p, 0.0, 0.3)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 29, (3, 6)), rng.integers(0, 29, (3, 4))
