"""Longformer (Beltagy et al. 2020): sliding windows and a global first token, torch."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"

PAD = 1


class LongformerSelfAttention(nn.Module):
    def __init__(self, dim, heads, attention_window):
        super().__init__()
        self.num_heads, self.head_dim = heads, dim // heads
        self.one_sided = attention_window // 2
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.query_global = nn.Linear(dim, dim)
        self.key_global = nn.Linear(dim, dim)
        self.value_global = nn.Linear(dim, dim)

    def heads(self, x):
        return x.view(*x.shape[:2], self.num_heads, self.head_dim).transpose(1, 2)

    def windows(self, x, value=0.0):
        """(.., n, d) -> (.., n, 2w + 1, d): each token's neighbourhood."""
        w = self.one_sided
        return F.pad(x, (0, 0, w, w), value=value).unfold(-2, 2 * w + 1, 1).transpose(-2, -1)

    def forward(self, hidden, mask):
        b, n, dim = hidden.shape
        q = self.heads(self.query(hidden)) / math.sqrt(self.head_dim)
        k, v = self.heads(self.key(hidden)), self.heads(self.value(hidden))

        local = torch.einsum("bhnd,bhnwd->bhnw", q, self.windows(k))
        # the global token is not attended to through the window: it has its own column
        is_local = mask.clone()
        is_local[:, 0] = 0.0
        allowed = self.windows(is_local[:, None, :, None])[..., 0]
        local = local.masked_fill(allowed == 0, -1e9)
        to_global = torch.einsum("bhnd,bhd->bhn", q, k[:, :, 0])[..., None]
        probs = torch.softmax(torch.cat([to_global, local], -1), dim=-1)
        probs = probs * mask[:, None, :, None]
        out = torch.einsum("bhnw,bhnwd->bhnd", probs[..., 1:], self.windows(v))
        out = out + probs[..., :1] * v[:, :, :1]

        # the global token attends to all tokens, with projections of its own
        qg = self.heads(self.query_global(hidden[:, :1])) / math.sqrt(self.head_dim)
        kg, vg = self.heads(self.key_global(hidden)), self.heads(self.value_global(hidden))
        scores = (qg @ kg.transpose(-1, -2)).masked_fill(mask[:, None, None] == 0, -1e9)
        out_global = torch.softmax(scores, -1) @ vg
        out = torch.cat([out_global, out[:, :, 1:]], dim=2)
        return out.transpose(1, 2).reshape(b, n, dim)


class LongformerLayer(nn.Module):
    def __init__(self, dim, heads, attention_window):
        super().__init__()
        self.attention = LongformerSelfAttention(dim, heads, attention_window)
        self.attention_output = nn.Linear(dim, dim)
        self.attention_norm = nn.LayerNorm(dim, eps=1e-5)
        self.intermediate = nn.Linear(dim, 2 * dim)
        self.output = nn.Linear(2 * dim, dim)
        self.output_norm = nn.LayerNorm(dim, eps=1e-5)

    def forward(self, x, mask):
        x = self.attention_norm(x + self.attention_output(self.attention(x, mask)))
        return self.output_norm(x + self.output(F.gelu(self.intermediate(x))))


class Longformer(nn.Module):
    def __init__(self, vocab=23, dim=12, heads=2, layers=2, window=4, positions=16):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.position_embeddings = nn.Embedding(positions, dim, padding_idx=PAD)
        self.norm = nn.LayerNorm(dim, eps=1e-5)
        self.layers = nn.ModuleList(LongformerLayer(dim, heads, window) for _ in range(layers))
        self.pooler = nn.Linear(dim, dim)

    def forward(self, input_ids):
        mask = input_ids.ne(PAD).int()
        position_ids = torch.cumsum(mask, dim=1) * mask + PAD
        x = self.word_embeddings(input_ids) + self.position_embeddings(position_ids)
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x, mask.float())
        return x, torch.tanh(self.pooler(x[:, 0]))


def make():
    net = Longformer()
    rng = np.random.default_rng(61)
    with torch.no_grad():
        for name, p in net.named_parameters():
            if "norm" in name and name.endswith("weight"):
                value = rng.uniform(0.6, 1.4, p.shape)
            elif "embeddings" in name:
                value = rng.normal(0, 1, p.shape)
            elif p.ndim > 1:
                value = rng.normal(0, 1.3 / math.sqrt(p.shape[1]), p.shape)
            else:
                value = rng.normal(0, 0.3, p.shape)
            p.copy_(torch.tensor(value, dtype=torch.float32))
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    ids = rng.integers(2, 23, (4, 11))
    ids[:, 0] = 0
    ids[np.arange(11)[None] >= np.array([11, 8, 10, 7])[:, None]] = PAD
    return (ids.astype("int64"),)
