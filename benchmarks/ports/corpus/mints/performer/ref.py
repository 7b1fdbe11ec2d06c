"""Performer (Choromanski et al. 2021): causal language model with FAVOR+ attention."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


def softmax_kernel(data, projection_matrix, is_query, eps=1e-4):
    data_normalizer = data.shape[-1] ** -0.25
    ratio = projection_matrix.shape[0] ** -0.5
    data_dash = torch.einsum("bhtd,md->bhtm", data_normalizer * data, projection_matrix)
    diag_data = (data**2).sum(dim=-1) / 2.0 * data_normalizer**2
    diag_data = diag_data.unsqueeze(-1)
    if is_query:
        stabilizer = data_dash.amax(dim=-1, keepdim=True)
    else:
        stabilizer = data_dash.amax(dim=(-1, -2), keepdim=True)
    return ratio * (torch.exp(data_dash - diag_data - stabilizer) + eps)


def causal_linear_attention(q, k, v, eps=1e-6):
    k_cumsum = k.cumsum(dim=-2) + eps
    d_inv = 1.0 / torch.einsum("bhtm,bhtm->bht", q, k_cumsum)
    context = torch.einsum("bhtm,bhte->bhtme", k, v)
    context = context.cumsum(dim=-3)
    return torch.einsum("bhtme,bhtm,bht->bhte", context, q, d_inv)


class FastAttention(nn.Module):
    def __init__(self, dim, heads, features):
        super().__init__()
        self.heads = heads
        self.register_buffer("projection", torch.zeros(features, dim // heads))
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(dim, dim, bias=False)
        self.to_v = nn.Linear(dim, dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def split(self, x):
        b, t, d = x.shape
        return x.view(b, t, self.heads, d // self.heads).transpose(1, 2)

    def forward(self, x):
        q, k, v = (self.split(f(x)) for f in (self.to_q, self.to_k, self.to_v))
        q = softmax_kernel(q, self.projection, is_query=True)
        k = softmax_kernel(k, self.projection, is_query=False)
        out = causal_linear_attention(q, k, v)
        b, h, t, e = out.shape
        return self.to_out(out.transpose(1, 2).reshape(b, t, h * e))


class Block(nn.Module):
    def __init__(self, dim, heads, features):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = FastAttention(dim, heads, features)
        self.ff1, self.ff2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.ff2(F.gelu(self.ff1(self.norm2(x))))


def sinusoidal(length, dim):
    position = torch.arange(length).unsqueeze(1)
    div = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
    pe = torch.zeros(length, dim)
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe


class Performer(nn.Module):
    def __init__(self, vocab=20, dim=8, heads=2, features=6, depth=2, max_len=16):
        super().__init__()
        self.token_emb = nn.Embedding(vocab, dim)
        self.register_buffer("pe", sinusoidal(max_len, dim))
        self.blocks = nn.ModuleList([Block(dim, heads, features) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.to_logits = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.token_emb(ids) + self.pe[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.to_logits(self.norm(x))


def make():
    net = Performer()
    g = torch.Generator().manual_seed(21)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.5)
        for m in net.modules():
            if isinstance(m, nn.LayerNorm):
                m.weight.add_(1.0)
        for b in net.blocks:
            b.attn.projection.copy_(torch.randn(b.attn.projection.shape, generator=g))
    return net.eval()


def inputs(seed):
    return (np.random.default_rng(seed).integers(0, 20, size=(4, 9)),)
