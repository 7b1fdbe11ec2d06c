"""A decision transformer of a library's encoder layer.

Interface: five inputs by keyword, with integer timesteps and a padding mask of integers, a training
flag; a dict out, with a None. The Keras model is not built before it is used.
"""

import keras
import numpy as np
import torch
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn


class TorchDT(nn.Module):
    def __init__(self, state=5, act=3, d=16, heads=2, horizon=20, p=0.1):
        super().__init__()
        self.heads, self.d = heads, d
        self.e_t = nn.Embedding(horizon, d)
        self.e_r, self.e_s, self.e_a = nn.Linear(1, d), nn.Linear(state, d), nn.Linear(act, d)
        self.ln = nn.LayerNorm(d)
        self.block = nn.TransformerEncoderLayer(
            d, heads, 32, dropout=p, activation="gelu", batch_first=True, norm_first=True
        )
        self.drop = nn.Dropout(p)
        self.to_a = nn.Linear(d, act)

    def forward(self, states, actions, rtg, timesteps, attention_mask=None):
        b, t = states.shape[:2]
        pos = self.e_t(timesteps)
        x = torch.stack([self.e_r(rtg) + pos, self.e_s(states) + pos, self.e_a(actions) + pos], 2)
        x = self.drop(self.ln(x.reshape(b, 3 * t, self.d)))
        causal = torch.triu(torch.ones(3 * t, 3 * t, dtype=torch.bool, device=x.device), 1)
        pad = None
        if attention_mask is not None:
            pad = ~attention_mask.bool().repeat_interleave(3, 1)
        x = self.block(x, src_mask=causal, src_key_padding_mask=pad)
        h = x.reshape(b, t, 3, self.d)[:, :, 1]
        return {"actions": torch.tanh(self.to_a(h)), "hidden": h, "returns": None}


class KerasDT(keras.Model):
    def __init__(self, state=5, act=3, d=16, heads=2, horizon=20, p=0.1):
        super().__init__()
        self.d = d
        self.time = layers.Embedding(horizon, d)
        self.er, self.es, self.ea = layers.Dense(d), layers.Dense(d), layers.Dense(d)
        self.ln0 = layers.LayerNormalization(epsilon=1e-5)
        self.ln1 = layers.LayerNormalization(epsilon=1e-5)
        self.ln2 = layers.LayerNormalization(epsilon=1e-5)
        self.mha = layers.MultiHeadAttention(heads, d // heads)
        self.f1, self.f2 = (
            layers.Dense(32, activation=lambda v: keras.activations.gelu(v, approximate=False)),
            layers.Dense(d),
        )
        self.drop = layers.Dropout(p)
        self.head = layers.Dense(act, activation="tanh")

    def call(self, states, actions, rtg, timesteps, attention_mask=None, training=None):
        b, t = states.shape[:2]
        pos = self.time(timesteps)
        x = ops.stack([self.er(rtg) + pos, self.es(states) + pos, self.ea(actions) + pos], axis=2)
        x = self.drop(self.ln0(ops.reshape(x, (b, 3 * t, self.d))), training=training)
        mask = ops.tril(ops.ones((3 * t, 3 * t), dtype="bool"))[None]
        if attention_mask is not None:
            pad = ops.repeat(ops.cast(attention_mask, "bool"), 3, axis=1)
            mask = ops.logical_and(mask, pad[:, None, :])
        y = self.ln1(x)
        x = x + self.drop(self.mha(y, y, attention_mask=mask, training=training), training=training)
        x = x + self.drop(self.f2(self.f1(self.ln2(x))), training=training)
        h = ops.reshape(x, (b, t, 3, self.d))[:, :, 1]
        return {"actions": self.head(h), "hidden": h, "returns": None}


def inputs(seed=0, n=4, t=6):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    start = r.integers(0, 8, (n, 1))
    mask = np.ones((n, t), "int64")
    mask[1, 4:] = 0
    mask[2, 3:] = 0
    return {
        "states": f(n, t, 5),
        "actions": f(n, t, 3),
        "rtg": f(n, t, 1),
        "timesteps": start + np.arange(t),
        "attention_mask": mask,
    }


SIDES = {
    "torch": lambda: drawn(TorchDT()),
    "keras": KerasDT,
}
