"""BERT encoder of nn.MultiheadAttention, token types, pooler."""
import numpy as np, torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
V, H, HEADS, T, LAYERS = 50, 32, 4, 9, 2


class TLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.att = nn.MultiheadAttention(H, HEADS, batch_first=True)
        self.ln1, self.ln2 = nn.LayerNorm(H, eps=1e-12), nn.LayerNorm(H, eps=1e-12)
        self.inter, self.out = nn.Linear(H, 64), nn.Linear(64, H)

    def forward(self, x, pad):
        a, _ = self.att(x, x, x, key_padding_mask=pad, need_weights=False)
        x = self.ln1(x + a)
        return self.ln2(x + self.out(F.gelu(self.inter(x))))


class TorchBert(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.pos, self.kind = nn.Embedding(V, H), nn.Embedding(16, H), nn.Embedding(2, H)
        self.ln = nn.LayerNorm(H, eps=1e-12)
        self.layers = nn.ModuleList(TLayer() for _ in range(LAYERS))
        self.pooler = nn.Linear(H, H)

    def forward(self, ids, types, mask):
        x = self.word(ids) + self.pos(torch.arange(ids.shape[1]))[None] + self.kind(types)
        x = self.ln(x)
        for layer in self.layers:
            x = layer(x, mask == 0)
        return {"sequence": x, "pooled": torch.tanh(self.pooler(x[:, 0]))}


def make():
    torch.manual_seed(5)
    net = TorchBert().eval()
    with torch.no_grad():
        for n, p in net.named_parameters():
            if "word" in n or "pos" in n or "kind" in n: p.mul_(0.2)
            else: p.add_(0.1 * torch.randn_like(p))
    return net


def inputs(seed):
    r = np.random.default_rng(seed + 5)
    mask = np.ones((4, T), "int64"); mask[1, 6:] = 0; mask[3, 4:] = 0
    types = np.zeros((4, T), "int64"); types[:, 4:] = 1
    return r.integers(0, V, (4, T)), types, mask
