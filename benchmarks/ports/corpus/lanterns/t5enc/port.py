"""T5-style encoder classifier in torch."""
import math

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class T5LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        variance = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + self.eps))


class T5Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.h = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim, bias=False)

    def forward(self, x, bias):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, d // self.h).unbind(2)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) + bias
        weights = scores.softmax(dim=-1)
        return self.proj(torch.einsum("bhqk,bkhd->bqhd", weights, v).reshape(b, t, d))


class T5Block(nn.Module):
    def __init__(self, dim, heads, ff):
        super().__init__()
        self.ln_attn = T5LayerNorm(dim)
        self.attn = T5Attention(dim, heads)
        self.ln_ff = T5LayerNorm(dim)
        self.wi_0 = nn.Linear(dim, ff, bias=False)
        self.wi_1 = nn.Linear(dim, ff, bias=False)
        self.wo = nn.Linear(ff, dim, bias=False)

    def forward(self, x, bias):
        x = x + self.attn(self.ln_attn(x), bias)
        y = self.ln_ff(x)
        y = F.gelu(self.wi_0(y), approximate="tanh") * self.wi_1(y)
        return x + self.wo(y)


class T5Encoder(nn.Module):
    def __init__(self, vocab=50, dim=24, heads=3, ff=36, depth=2, classes=4, num_buckets=8, max_distance=16):
        super().__init__()
        self.num_buckets, self.max_distance = num_buckets, max_distance
        self.shared = nn.Embedding(vocab, dim)
        self.relative_attention_bias = nn.Embedding(num_buckets, heads)
        self.layers = nn.ModuleList([T5Block(dim, heads, ff) for _ in range(depth)])
        self.final_norm = T5LayerNorm(dim)
        self.classifier = nn.Linear(dim, classes)

    def position_bias(self, t):
        pos = torch.arange(t)
        distance = pos[None, :] - pos[:, None]
        n = self.num_buckets // 2
        bucket = (distance > 0).long() * n
        distance = distance.abs()
        max_exact = n // 2
        scale = (n - max_exact) / math.log(self.max_distance / max_exact)
        large = max_exact + (torch.log(distance.clamp(min=1).double() / max_exact) * scale).long()
        large = large.clamp(max=n - 1)
        bucket = bucket + torch.where(distance < max_exact, distance, large)
        return self.relative_attention_bias(bucket).permute(2, 0, 1)[None]

    def forward(self, tokens):
        keep = tokens != 0
        bias = self.position_bias(tokens.shape[1])
        bias = bias.masked_fill(~keep[:, None, None, :], -1e9)
        x = self.shared(tokens)
        for layer in self.layers:
            x = layer(x, bias)
        x = self.final_norm(x)
        keep = keep[..., None].float()
        return self.classifier((x * keep).sum(1) / keep.sum(1))


def make(seed=1):
    torch.manual_seed(seed)
    net = T5Encoder()
    for p in net.parameters():
        nn.init.normal_(p, std=0.3)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    tokens = rng.integers(1, 50, size=(5, 12))
    lengths = rng.integers(5, 13, size=(5, 1))
    return np.where(np.arange(12) < lengths, tokens, 0).astype("int64")


@torch.no_grad()
def load(ported, original):
    def t(v):
        return torch.from_numpy(np.array(v))

    ported.shared.weight.copy_(t(original.embed.embeddings))
    ported.relative_attention_bias.weight.copy_(t(original.relative.table))
    for mine, theirs in zip(ported.layers, original.blocks):
        mine.ln_attn.weight.copy_(t(theirs.norm1.scale))
        mine.ln_ff.weight.copy_(t(theirs.norm2.scale))
        a = theirs.attention
        mine.attn.qkv.weight.copy_(torch.cat([t(p.kernel).T for p in (a.q, a.k, a.v)]))
        mine.attn.proj.weight.copy_(t(a.o.kernel).T)
        mine.wi_0.weight.copy_(t(theirs.wi_0.kernel).T)
        mine.wi_1.weight.copy_(t(theirs.wi_1.kernel).T)
        mine.wo.weight.copy_(t(theirs.wo.kernel).T)
    ported.final_norm.weight.copy_(t(original.final.scale))
    ported.classifier.weight.copy_(t(original.head.kernel).T)
    ported.classifier.bias.copy_(t(original.head.bias))
