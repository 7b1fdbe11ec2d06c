"""Gato-style agent in PyTorch."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
T, KO, KA, BINS, D, HEADS, DEPTH = 3, 4, 2, 32, 16, 2, 2
MU, M = 100.0, 256.0
STEP = KO + 1 + KA


def mu_law(x):
    y = torch.sign(x) * torch.log1p(x.abs() * MU) / math.log(M * MU + 1.0)
    return y.clamp(-1.0, 1.0)


def to_bins(x):
    return ((x + 1.0) / 2.0 * BINS).floor().long().clamp(0, BINS - 1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(D, 3 * D)
        self.proj = nn.Linear(D, D)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(D // HEADS)
        future = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        w = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        return self.proj((w @ v).transpose(1, 2).reshape(b, n, D))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(D, 4 * D)
        self.down = nn.Linear(2 * D, D)

    def forward(self, x):
        value, gate = self.up(x).chunk(2, dim=-1)
        return self.down(value * F.gelu(gate))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(D), Attention()
        self.ln2, self.ff = nn.LayerNorm(D), FeedForward()

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ff(self.ln2(x))


class Gato(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(2 * BINS, D)
        self.local = nn.Parameter(torch.randn(KO, D))
        self.action_pos = nn.Parameter(torch.randn(1, D))
        self.sep = nn.Parameter(torch.randn(1, D))
        self.pos = nn.Embedding(T * STEP, D)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.ln_f = nn.LayerNorm(D)
        self.head = nn.Linear(D, BINS)

    def tokens(self, obs, act):
        b = obs.shape[0]
        o = self.table(to_bins(mu_law(obs))) + self.local
        a = self.table(to_bins(act.clamp(-1.0, 1.0)) + BINS) + self.action_pos
        seq = torch.cat([o, self.sep.expand(b, T, 1, D), a], dim=2)
        return seq.flatten(1, 2)

    def forward(self, obs, act):
        x = self.tokens(obs, act)
        x = x + self.pos(torch.arange(T * STEP))
        for blk in self.blocks:
            x = blk(x)
        x = self.ln_f(x).unflatten(1, (T, STEP))
        return self.head(x[:, :, KO:KO + KA])


def make():
    m = Gato()
    g = torch.Generator().manual_seed(77)
    with torch.no_grad():
        for n, p in m.named_parameters():
            v = torch.randn(p.shape, generator=g) * 0.3
            p.copy_(v + 1 if "ln" in n and n.endswith("weight") else v)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (2 * r.randn(4, T, KO)).astype("float32"), r.uniform(-1, 1, (4, T, KA)).astype("float32")


def load(ported, original):
    def put(p, a):
        with torch.no_grad():
            p.copy_(torch.from_numpy(np.array(a)))

    get = original.get_layer
    tok = get("tokens")
    put(ported.table.weight, tok.table)
    put(ported.local, tok.local)
    put(ported.action_pos, tok.action_pos)
    put(ported.sep, tok.sep)
    put(ported.pos.weight, get("timing").pos)

    def ln(dst, src):
        put(dst.weight, src.gamma)
        put(dst.bias, src.beta)

    def dense(dst, src):
        put(dst.weight, np.array(src.kernel).T)
        put(dst.bias, src.bias)

    for i, blk in enumerate(ported.blocks):
        ln(blk.ln1, get(f"ln1_{i}"))
        ln(blk.ln2, get(f"ln2_{i}"))
        qw, qb, kw, kb, vw, vb, ow, ob = [np.array(w) for w in get(f"attn_{i}").weights]
        put(blk.attn.qkv.weight, np.concatenate([w.reshape(D, D).T for w in (qw, kw, vw)]))
        put(blk.attn.qkv.bias, np.concatenate([b.reshape(D) for b in (qb, kb, vb)]))
        put(blk.attn.proj.weight, ow.reshape(D, D).T)
        put(blk.attn.proj.bias, ob)
        dense(blk.ff.up, get(f"ff_{i}").up)
        dense(blk.ff.down, get(f"ff_{i}").down)
    ln(ported.ln_f, get("ln_f"))
    dense(ported.head, get("head"))
