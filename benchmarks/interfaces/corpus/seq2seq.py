"""A translator with additive attention.

Interface: two arrays of integers, where 0 is padding, and an optional state; a tuple of logits, a
dict with a None, and the state out. The decoder is a loop over steps.
"""

import keras
import numpy as np
import torch
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn

V, EMB, HID, ATT = 13, 8, 10, 9


class TorchSeq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.src_emb = nn.Embedding(V, EMB, padding_idx=0)
        self.tgt_emb = nn.Embedding(V, EMB)
        self.encoder = nn.LSTM(EMB, HID, batch_first=True, bidirectional=True)
        self.bridge_h, self.bridge_c = nn.Linear(2 * HID, HID), nn.Linear(2 * HID, HID)
        self.w_enc = nn.Linear(2 * HID, ATT, bias=False)
        self.w_dec = nn.Linear(HID, ATT)
        self.score = nn.Linear(ATT, 1, bias=False)
        self.cell = nn.LSTMCell(EMB + 2 * HID, HID)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(3 * HID, V)

    def encode(self, src):
        memory, (h, c) = self.encoder(self.drop(self.src_emb(src)))
        h, c = torch.cat([h[0], h[1]], -1), torch.cat([c[0], c[1]], -1)
        return memory, (torch.tanh(self.bridge_h(h)), self.bridge_c(c))

    def attend(self, h, keys, memory, mask):
        e = self.score(torch.tanh(keys + self.w_dec(h).unsqueeze(1))).squeeze(-1)
        a = torch.softmax(e.masked_fill(~mask, -1e4), dim=-1)
        return torch.bmm(a.unsqueeze(1), memory).squeeze(1), a

    def forward(self, src, tgt, state=None):
        memory, first = self.encode(src)
        if state is None:
            state = first
        h, c = state
        keys, mask = self.w_enc(memory), src != 0
        logits, weights = [], []
        for t in range(tgt.shape[1]):
            context, a = self.attend(h, keys, memory, mask)
            h, c = self.cell(torch.cat([self.tgt_emb(tgt[:, t]), context], -1), (h, c))
            logits.append(self.out(torch.cat([h, context], -1)))
            weights.append(a)
        return (
            torch.stack(logits, 1),
            {"attention": torch.stack(weights, 1), "coverage": None},
            (h, c),
        )


class KerasSeq2Seq(keras.Model):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.src_emb = layers.Embedding(V, EMB)
        self.tgt_emb = layers.Embedding(V, EMB)
        self.encoder = layers.Bidirectional(
            layers.LSTM(HID, return_sequences=True, return_state=True)
        )
        self.bridge_h, self.bridge_c = layers.Dense(HID, activation="tanh"), layers.Dense(HID)
        self.w_enc = layers.Dense(ATT, use_bias=False)
        self.w_dec = layers.Dense(ATT)
        self.score = layers.Dense(1, use_bias=False)
        self.cell = layers.LSTMCell(HID)
        self.drop = layers.Dropout(0.2)
        self.out = layers.Dense(V)

    def call(self, src, tgt, state=None, training=False):
        x = self.drop(self.src_emb(src), training=training)
        memory, fh, fc, bh, bc = self.encoder(x)
        if state is None:
            h = self.bridge_h(ops.concatenate([fh, bh], -1))
            c = self.bridge_c(ops.concatenate([fc, bc], -1))
        else:
            h, c = state
        keys = self.w_enc(memory)
        bias = ops.where(ops.equal(src, 0), -1e9, 0.0)
        logits, weights = [], []
        for t in range(tgt.shape[1]):
            e = self.score(ops.tanh(keys + self.w_dec(h)[:, None]))[..., 0]
            a = ops.softmax(e + bias)
            context = ops.einsum("bs,bsd->bd", a, memory)
            _, (h, c) = self.cell(ops.concatenate([self.tgt_emb(tgt[:, t]), context], -1), [h, c])
            logits.append(self.out(ops.concatenate([h, context], -1)))
            weights.append(a)
        return ops.stack(logits, 1), {"attention": ops.stack(weights, 1), "coverage": None}, (h, c)


def inputs(seed=0, n=4, s=6, t=4):
    r = np.random.default_rng(seed)
    src = r.integers(1, V, (n, s))
    src[1, 4:] = 0
    src[2, 3:] = 0
    return (src, r.integers(1, V, (n, t)))


def keras_side():
    model = KerasSeq2Seq()
    model(*inputs())
    return drawn(model)


SIDES = {
    "torch": lambda: drawn(TorchSeq2Seq()),
    "keras": keras_side,
}
