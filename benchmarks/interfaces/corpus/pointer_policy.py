"""A policy that points at entities.

Interface: a bound method; a boolean mask of padding, an optional state in and out, a keyword-only
number of steps; a list of distributions out. What is pointed at first decides what comes next.
"""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import torch
from chainer.distributions import Categorical as CCategorical
from torch import nn

from benchmarks.interfaces.weights import drawn

E, D, HEADS = 7, 12, 3


class TorchPointer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(E, D)
        self.attn = nn.MultiheadAttention(D, HEADS, batch_first=True)
        self.ln1 = nn.LayerNorm(D)
        self.ln2 = nn.LayerNorm(D)
        self.ff = nn.Sequential(nn.Linear(D, 24), nn.GELU(), nn.Linear(24, D))
        self.cell = nn.GRUCell(D, D)
        self.w_e = nn.Linear(D, D, bias=False)
        self.w_q = nn.Linear(D, D)
        self.v = nn.Linear(D, 1, bias=False)

    def encode(self, entities, mask):
        x = self.embed(entities)
        a, _ = self.attn(x, x, x, key_padding_mask=~mask, need_weights=False)
        x = self.ln1(x + a)
        x = self.ln2(x + self.ff(x))
        return x * mask.unsqueeze(-1)

    def select(self, entities, mask, hidden=None, *, steps=2):
        """Points at `steps` entities, one after the other, none of them twice."""
        e = self.encode(entities, mask)
        pooled = e.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
        h = pooled if hidden is None else hidden
        query, free, picks = pooled, mask, []
        for _ in range(steps):
            h = self.cell(query, h)
            logits = self.v(torch.tanh(self.w_e(e) + self.w_q(h).unsqueeze(1))).squeeze(-1)
            logits = logits.masked_fill(~free, float("-inf"))
            dist = torch.distributions.Categorical(logits=logits)
            pick = logits.argmax(-1)
            query = e[torch.arange(len(pick)), pick]
            free = free & ~nn.functional.one_hot(pick, mask.shape[1]).bool()
            picks.append(dist)
        return picks, h


class ChainerPointer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.Linear(E, D)
            self.q, self.k, self.val, self.o = (
                L.Linear(D, D),
                L.Linear(D, D),
                L.Linear(D, D),
                L.Linear(D, D),
            )
            self.n1, self.n2 = L.LayerNormalization(D, eps=1e-5), L.LayerNormalization(D, eps=1e-5)
            self.f1, self.f2 = L.Linear(D, 24), L.Linear(24, D)
            self.gx, self.gh = L.Linear(D, 3 * D), L.Linear(D, 3 * D)
            self.we, self.wq, self.v = (
                L.Linear(D, D, nobias=True),
                L.Linear(D, D),
                L.Linear(D, 1, nobias=True),
            )

    def norm(self, link, x):
        b, n, d = x.shape
        return F.reshape(link(F.reshape(x, (b * n, d))), (b, n, d))

    def attend(self, x, mask):
        b, n, _ = x.shape
        split = lambda t: F.transpose(F.reshape(t, (b, n, HEADS, D // HEADS)), (0, 2, 1, 3))
        q, k, v = (split(link(x, n_batch_axes=2)) for link in (self.q, self.k, self.val))
        s = F.matmul(q, k, transb=True) / np.sqrt(D // HEADS).astype("f")
        m = np.broadcast_to(mask[:, None, None, :], s.shape)
        w = F.softmax(F.where(m, s, np.full(s.shape, -np.inf, "f")), axis=3)
        y = F.reshape(F.transpose(F.matmul(w, v), (0, 2, 1, 3)), (b, n, D))
        return self.o(y, n_batch_axes=2)

    def gelu(self, x):
        return 0.5 * x * (1 + F.erf(x / np.float32(np.sqrt(2))))

    def gru(self, x, h):
        rx, zx, nx = F.split_axis(self.gx(x), 3, axis=1)
        rh, zh, nh = F.split_axis(self.gh(h), 3, axis=1)
        r, z = F.sigmoid(rx + rh), F.sigmoid(zx + zh)
        n = F.tanh(nx + r * nh)
        return (1 - z) * n + z * h

    def select(self, entities, mask, hidden=None, *, steps=2):
        x = self.embed(entities, n_batch_axes=2)
        x = self.norm(self.n1, x + self.attend(x, mask))
        x = self.norm(self.n2, x + self.f2(self.gelu(self.f1(x, n_batch_axes=2)), n_batch_axes=2))
        e = x * np.broadcast_to(mask[:, :, None], x.shape).astype("f")
        n = np.maximum(mask.sum(1, keepdims=True), 1).astype("f")
        pooled = F.sum(e, axis=1) / np.broadcast_to(n, (len(n), D))
        h = pooled if hidden is None else hidden
        query, free, picks = pooled, mask.copy(), []
        for _ in range(steps):
            h = self.gru(query, h)
            t = F.tanh(
                self.we(e, n_batch_axes=2) + F.broadcast_to(F.expand_dims(self.wq(h), 1), e.shape)
            )
            logits = F.squeeze(self.v(t, n_batch_axes=2), axis=2)
            logits = F.where(free, logits, np.full(logits.shape, -np.inf, "f"))
            picks.append(CCategorical(logit=logits))
            pick = logits.array.argmax(1)
            query = e[np.arange(len(pick)), pick]
            free = free.copy()
            free[np.arange(len(pick)), pick] = False
        return picks, h


def inputs():
    r = np.random.default_rng(0)
    mask = np.arange(6) < np.array([6, 3, 4, 5])[:, None]
    x = r.normal(size=(4, 6, E)).astype("f") * mask[..., None]
    x = x.astype("f")
    return (x, mask, r.normal(size=(4, D)).astype("f"))


SIDES = {
    "torch": lambda: drawn(TorchPointer().eval()).select,
    "chainer": lambda: drawn(ChainerPointer()).select,
}
