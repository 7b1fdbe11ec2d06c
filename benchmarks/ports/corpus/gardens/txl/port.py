"""Transformer-XL in PyTorch: fused kv projection, modules per sub-layer."""
import math
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class RelAttention(nn.Module):
    def __init__(self, d, heads, dh):
        super().__init__()
        self.heads, self.dh = heads, dh
        self.q = nn.Linear(d, heads * dh, bias=False)
        self.kv = nn.Linear(d, 2 * heads * dh, bias=False)
        self.r = nn.Linear(d, heads * dh, bias=False)
        self.o = nn.Linear(heads * dh, d, bias=False)
        self.norm = nn.LayerNorm(d)

    @staticmethod
    def shift(x):
        b, h, q, k = x.shape
        zeros = x.new_zeros(b, h, q, 1)
        x = torch.cat([zeros, x], dim=3).view(b, h, k + 1, q)
        return x[:, :, 1:].reshape(b, h, q, k)

    def heads_first(self, y):
        return y.unflatten(-1, (self.heads, self.dh)).transpose(-3, -2)

    def forward(self, x, mem, pos, u, v, mask):
        q = self.heads_first(self.q(x))                                   # B H T K
        k, val = map(self.heads_first, self.kv(torch.cat([mem, x], 1)).chunk(2, dim=-1))
        r = self.heads_first(self.r(pos))                                 # H S K
        content = (q + u[:, None]) @ k.transpose(-1, -2)
        position = (q + v[:, None]) @ r.transpose(-1, -2)
        score = (content + self.shift(position)) / math.sqrt(self.dh)
        score = score.masked_fill(mask, float("-inf"))
        y = score.softmax(-1) @ val
        y = y.transpose(1, 2).flatten(2)
        return self.norm(x + self.o(y))


class FF(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        return self.norm(x + self.net(x))


class XL(nn.Module):
    def __init__(self, vocab=50, d=24, heads=3, dh=8, n_layers=2):
        super().__init__()
        self.d = d
        self.emb = nn.Embedding(vocab, d)
        self.u = nn.Parameter(torch.randn(heads, dh) * 0.3)
        self.v = nn.Parameter(torch.randn(heads, dh) * 0.3)
        self.att = nn.ModuleList(RelAttention(d, heads, dh) for _ in range(n_layers))
        self.ff = nn.ModuleList(FF(d) for _ in range(n_layers))
        self.bias = nn.Parameter(torch.randn(vocab) * 0.1)
        self.register_buffer("inv_freq", 1 / 10000 ** (torch.arange(0, d, 2) / d))

    def forward(self, tokens, mems):
        x = self.emb(tokens) * math.sqrt(self.d)
        q_len, m_len = tokens.size(1), mems.size(2)
        k_len = q_len + m_len
        dist = torch.arange(k_len - 1, -1, -1).float()
        ang = torch.outer(dist, self.inv_freq)
        pos = torch.cat([ang.sin(), ang.cos()], dim=-1)
        mask = torch.ones(q_len, k_len, dtype=torch.bool).triu(diagonal=1 + m_len)
        hidden = []
        for att, ff, mem in zip(self.att, self.ff, mems):
            hidden.append(torch.cat([mem, x], dim=1)[:, k_len - m_len:])
            x = ff(att(x, mem, pos, self.u, self.v, mask))
        logits = x @ self.emb.weight.t() + self.bias
        return logits, torch.stack(hidden)


def make(seed=28):
    torch.manual_seed(seed)
    return XL().eval()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    return r.integers(0, 50, (4, 8)), r.normal(0, 1, (2, 4, 6, 24)).astype("float32")


@torch.no_grad()
def load(ported, original):
    t = lambda v: torch.from_numpy(v.numpy())
    flat = lambda v: t(v).flatten(1).T
    ported.emb.weight.copy_(t(original.table))
    ported.u.copy_(t(original.u))
    ported.v.copy_(t(original.v))
    ported.bias.copy_(t(original.out_bias))
    for att, ff, src in zip(ported.att, ported.ff, original.layers):
        att.q.weight.copy_(flat(src.wq))
        att.kv.weight.copy_(torch.cat([flat(src.wk), flat(src.wv)]))
        att.r.weight.copy_(flat(src.wr))
        att.o.weight.copy_(t(src.wo).flatten(0, 1).T)
        att.norm.weight.copy_(t(src.g1))
        att.norm.bias.copy_(t(src.n1))
        ff.norm.weight.copy_(t(src.g2))
        ff.norm.bias.copy_(t(src.n2))
        for lin, w, b in ((ff.net[0], src.w1, src.b1), (ff.net[2], src.w2, src.b2)):
            lin.weight.copy_(t(w).T)
            lin.bias.copy_(t(b))
