"""BERT encoder, post-norm, with a padding mask and RoBERTa-like positions; einsum all over."""

import math

import numpy as np
import torch
from torch import einsum, nn

FRAMEWORK = "torch"
PAD = 1


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, keep):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).unbind(2)
        scores = einsum("bihc,bjhc->bhij", q, k) / math.sqrt(d // self.heads)
        scores = scores.masked_fill(~keep[:, None, None, :], torch.finfo(scores.dtype).min)
        mixed = einsum("bhij,bjhc->bihc", scores.softmax(-1), v)
        return self.out(mixed.reshape(b, n, d))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.norm1 = nn.LayerNorm(width, eps=1e-12)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, keep):
        x = self.norm1(x + self.attention(x, keep))
        h = self.up(x)
        h = h * 0.5 * (1.0 + torch.erf(h / math.sqrt(2.0)))
        return self.norm2(x + self.down(h))


class Bert(nn.Module):
    def __init__(self, vocabulary=23, width=16, heads=4, depth=2, longest=20):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(longest, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(depth))
        self.pooler = nn.Linear(width, width)
        self.transform = nn.Linear(width, width)
        self.transform_norm = nn.LayerNorm(width, eps=1e-12)
        self.decoder_bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, ids, segments):
        keep = ids.ne(PAD)
        positions = torch.cumsum(keep.long(), dim=1) * keep.long() + PAD
        x = self.words(ids) + self.positions(positions) + self.segments(segments)
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x, keep)
        weights = keep.to(x.dtype).unsqueeze(-1)
        sentence = (x * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        sentence = nn.functional.normalize(sentence, dim=-1)
        pooled = torch.tanh(self.pooler(x[:, 0]))
        h = self.transform_norm(nn.functional.gelu(self.transform(x)))
        words = h @ self.words.weight.t() + self.decoder_bias
        return pooled, sentence, words


def make():
    torch.manual_seed(2)
    net = Bert().eval()
    for p in net.parameters():
        if p.dim() == 1:
            p.data += 0.2 * torch.randn_like(p)
    net.words.weight.data *= 0.7
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    ids = rng.integers(2, 23, size=(4, 9))
    for row, length in enumerate((9, 6, 4, 7)):
        ids[row, length:] = PAD
    segments = (np.arange(9)[None] >= np.array([5, 3, 2, 4])[:, None]).astype("int64")
    return ids, segments
