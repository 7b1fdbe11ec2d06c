"""Llama-style decoder with rotary positions, grouped-query attention and a key-value cache.

The forward pass prefills the cache with a left-padded prompt, then feeds the continuation token by
token (teacher forcing), and returns the logits of the last prompt token and of every step.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


@dataclass
class LMConfig:
    vocab: int = 24
    dim: int = 32
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    hidden: int = 48
    theta: float = 1000.0
    eps: float = 1e-5
    pad: int = 0

    @property
    def head_dim(self):
        return self.dim // self.heads


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([-b, a], dim=-1)


def rope_tables(positions, cfg):
    """Cosines and sines of shape (batch, 1, time, head_dim)."""
    inv = cfg.theta ** (-torch.arange(0, cfg.head_dim, 2).float() / cfg.head_dim)
    angles = positions[:, :, None].float() * inv
    angles = torch.cat([angles, angles], dim=-1)[:, None]
    return angles.cos(), angles.sin()


class RMSNorm(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.eps = cfg.eps
        self.weight = nn.Parameter(torch.empty(cfg.dim).uniform_(0.7, 1.3))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


class Attention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.wq = nn.Linear(cfg.dim, cfg.heads * cfg.head_dim, bias=False)
        self.wk = nn.Linear(cfg.dim, cfg.kv_heads * cfg.head_dim, bias=False)
        self.wv = nn.Linear(cfg.dim, cfg.kv_heads * cfg.head_dim, bias=False)
        self.wo = nn.Linear(cfg.dim, cfg.dim, bias=False)

    def split(self, x, heads):
        return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)

    def forward(self, x, tables, mask, cache):
        cfg = self.cfg
        cos, sin = tables
        q = self.split(self.wq(x), cfg.heads)
        k = self.split(self.wk(x), cfg.kv_heads)
        v = self.split(self.wv(x), cfg.kv_heads)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        if cache is not None:
            k = torch.cat([cache[0], k], dim=2)
            v = torch.cat([cache[1], v], dim=2)
        cache = (k, v)
        groups = cfg.heads // cfg.kv_heads
        k = k.repeat_interleave(groups, dim=1)
        v = v.repeat_interleave(groups, dim=1)
        scores = q @ k.transpose(-2, -1) / cfg.head_dim**0.5
        scores = scores.masked_fill(~mask, -1e9)
        out = scores.softmax(dim=-1) @ v
        return self.wo(out.transpose(1, 2).flatten(2)), cache


class Layer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.norm_a, self.norm_f = RMSNorm(cfg), RMSNorm(cfg)
        self.attn = Attention(cfg)
        self.gate = nn.Linear(cfg.dim, cfg.hidden, bias=False)
        self.up = nn.Linear(cfg.dim, cfg.hidden, bias=False)
        self.down = nn.Linear(cfg.hidden, cfg.dim, bias=False)

    def forward(self, x, tables, mask, cache):
        h, cache = self.attn(self.norm_a(x), tables, mask, cache)
        x = x + h
        h = self.norm_f(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h)), cache


class DecoderLM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.layers = nn.ModuleList([Layer(cfg) for _ in range(cfg.layers)])
        self.norm = RMSNorm(cfg)
        self.lm_head = nn.Linear(cfg.dim, cfg.vocab, bias=False)

    def run(self, ids, positions, mask, caches):
        x = self.embed(ids)
        tables = rope_tables(positions, self.cfg)
        new = []
        for layer, cache in zip(self.layers, caches):
            x, cache = layer(x, tables, mask, cache)
            new.append(cache)
        return self.lm_head(self.norm(x[:, -1])), new

    def forward(self, prompt, continuation):
        real = prompt != self.cfg.pad
        positions = (real.long().cumsum(1) - 1).clamp(min=0)
        length = prompt.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        mask = causal[None, None] & real[:, None, None, :]
        logits, caches = self.run(prompt, positions, mask, [None] * len(self.layers))
        steps = [logits]
        position = positions[:, -1:]
        for t in range(continuation.shape[1]):
            position = position + 1
            real = torch.cat([real, torch.ones_like(real[:, :1])], dim=1)
            token = continuation[:, t : t + 1]
            logits, caches = self.run(token, position, real[:, None, None, :], caches)
            steps.append(logits)
        return torch.stack(steps, dim=1)


def make(seed=0):
    torch.manual_seed(seed)
    return DecoderLM(LMConfig()).eval()


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed + 5)
    prompt = rng.integers(1, 24, size=(5, 7))
    for row, pad in enumerate([0, 2, 0, 0, 3]):
        prompt[row, :pad] = 0
    return prompt.astype(np.int64), rng.integers(1, 24, size=(5, 4)).astype(np.int64)
