"""DeBERTa (He et al. 2021): disentangled attention over contents and relative positions; two layers."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
VOCAB, DIM, HEADS, SPAN, LAYERS, CLASSES = 60, 16, 2, 5, 2, 3


class DisentangledAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query_proj = nn.Linear(DIM, DIM)
        self.key_proj = nn.Linear(DIM, DIM)
        self.value_proj = nn.Linear(DIM, DIM)
        self.pos_key_proj = nn.Linear(DIM, DIM, bias=False)
        self.pos_query_proj = nn.Linear(DIM, DIM)

    def split(self, x):
        return x.reshape(*x.shape[:-1], HEADS, DIM // HEADS).transpose(-2, -3)

    def forward(self, x, mask, rel_emb):
        b, n, _ = x.shape
        q, k, v = self.split(self.query_proj(x)), self.split(self.key_proj(x)), self.split(self.value_proj(x))
        pos_k, pos_q = self.split(self.pos_key_proj(rel_emb)), self.split(self.pos_query_proj(rel_emb))
        scale = 1 / math.sqrt(3 * (DIM // HEADS))
        scores = q @ k.transpose(-1, -2)
        where = torch.arange(n)
        relative = where[:, None] - where[None, :]
        c2p_index = (relative + SPAN).clamp(0, 2 * SPAN - 1).expand(b, HEADS, n, n)
        scores = scores + (q @ pos_k.transpose(-1, -2)).gather(-1, c2p_index)
        p2c_index = (SPAN - relative).clamp(0, 2 * SPAN - 1).expand(b, HEADS, n, n)
        p2c = (k @ pos_q.transpose(-1, -2)).gather(-1, p2c_index)
        scores = scores + p2c.transpose(-1, -2)
        scores = (scores * scale).masked_fill(~mask[:, None, None, :], torch.finfo(x.dtype).min)
        out = scores.softmax(-1) @ v
        return out.transpose(1, 2).reshape(b, n, DIM)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = DisentangledAttention()
        self.dense = nn.Linear(DIM, DIM)
        self.norm1 = nn.LayerNorm(DIM, eps=1e-7)
        self.up = nn.Linear(DIM, 2 * DIM)
        self.down = nn.Linear(2 * DIM, DIM)
        self.norm2 = nn.LayerNorm(DIM, eps=1e-7)

    def forward(self, x, mask, rel_emb):
        x = self.norm1(x + self.dense(self.attention(x, mask, rel_emb)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Deberta(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCAB, DIM)
        self.norm = nn.LayerNorm(DIM, eps=1e-7)
        self.rel_embeddings = nn.Embedding(2 * SPAN, DIM)
        self.rel_norm = nn.LayerNorm(DIM, eps=1e-7)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.pooler = nn.Linear(DIM, DIM)
        self.classifier = nn.Linear(DIM, CLASSES)

    def forward(self, ids, attention_mask):
        mask = attention_mask.bool()
        x = self.norm(self.words(ids)) * mask[..., None]
        rel_emb = self.rel_norm(self.rel_embeddings.weight)
        for layer in self.layers:
            x = layer(x, mask, rel_emb)
        pooled = F.gelu(self.pooler(x[:, 0]))
        return self.classifier(pooled), x


def make():
    torch.manual_seed(61)
    net = Deberta()
    for name, p in net.named_parameters():
        nn.init.normal_(p, mean=1.0 if "norm" in name and name.endswith("weight") else 0.0, std=0.25)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    lengths = np.array([12, 7, 10, 5])
    mask = np.arange(12) < lengths[:, None]
    ids = np.where(mask, rng.integers(1, VOCAB, (4, 12)), 0)
    return ids.astype("int64"), mask.astype("int64")
