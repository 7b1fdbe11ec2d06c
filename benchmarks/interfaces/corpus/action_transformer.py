"""A transformer that imitates.

Interface: a dict observation, integer timesteps, a keyword-only boolean mask of padding; a dict
out, with a None.
"""

import keras
import numpy as np
import tensorflow as tf
import torch
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn

D, H, A, LAYERS = 16, 4, 3, 2


class TorchDT(nn.Module):
    def __init__(self):
        super().__init__()
        self.state = nn.Linear(6, D)
        self.action = nn.Linear(A, D)
        self.rtg = nn.Linear(1, D)
        self.time = nn.Embedding(32, D)
        layer = nn.TransformerEncoderLayer(
            D, H, 32, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
        )
        self.enc = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.ln = nn.LayerNorm(D)
        self.head = nn.Linear(D, A)

    def forward(self, obs, timesteps, *, padding_mask=None):
        B, T = timesteps.shape
        e = self.time(timesteps)
        toks = torch.stack(
            [
                self.rtg(obs["rtg"]) + e,
                self.state(obs["state"]) + e,
                self.action(obs["action"]) + e,
            ],
            dim=2,
        ).reshape(B, 3 * T, D)
        causal = torch.triu(torch.ones(3 * T, 3 * T, dtype=torch.bool), 1)
        pad = None if padding_mask is None else padding_mask.repeat_interleave(3, dim=1)
        y = self.ln(self.enc(toks, mask=causal, src_key_padding_mask=pad))
        y = y.reshape(B, T, 3, D)[:, :, 1]
        return {"actions": torch.tanh(self.head(y)), "tokens": y, "attn": None}


class KBlock(layers.Layer):
    def __init__(self):
        super().__init__()
        self.ln1 = layers.LayerNormalization(epsilon=1e-5)
        self.mha = layers.MultiHeadAttention(H, D // H)
        self.ln2 = layers.LayerNormalization(epsilon=1e-5)
        self.fc1 = layers.Dense(32, activation="gelu")
        self.fc2 = layers.Dense(D)
        self.drop = layers.Dropout(0.1)

    def call(self, x, mask, training=None):
        y = self.ln1(x)
        x = x + self.drop(self.mha(y, y, attention_mask=mask, training=training), training=training)
        y = self.fc2(self.fc1(self.ln2(x)))
        return x + self.drop(y, training=training)


class KerasDT(keras.Model):
    def __init__(self):
        super().__init__()
        self.time = layers.Embedding(32, D)
        self.rtg, self.state, self.action = layers.Dense(D), layers.Dense(D), layers.Dense(D)
        self.blocks = [KBlock() for _ in range(LAYERS)]
        self.ln = layers.LayerNormalization(epsilon=1e-5)
        self.head = layers.Dense(A, activation="tanh")

    def call(self, obs, timesteps, *, padding_mask=None, training=None):
        T = timesteps.shape[1]
        e = self.time(timesteps)
        toks = [
            self.rtg(obs["rtg"]) + e,
            self.state(obs["state"]) + e,
            self.action(obs["action"]) + e,
        ]
        x = ops.reshape(ops.stack(toks, axis=2), (-1, 3 * T, D))
        mask = ops.tril(ops.ones((3 * T, 3 * T), dtype="bool"))[None]
        if padding_mask is not None:
            mask = ops.logical_and(
                mask, ops.logical_not(ops.repeat(padding_mask, 3, axis=1))[:, None, :]
            )
        for b in self.blocks:
            x = b(x, mask, training=training)
        y = self.ln(x)[:, 1::3]
        return {"actions": self.head(y), "tokens": y, "attn": None}


class TFDT(tf.Module):
    def __init__(self):
        super().__init__()
        v = lambda *s: tf.Variable(tf.random.normal(s, stddev=0.3))
        self.emb = v(32, D)
        self.tok = [(v(n, D), v(D)) for n in (1, 6, A)]
        self.blk = [
            dict(
                g1=v(D),
                b1=v(D),
                qkv=v(D, 3 * D),
                qkvb=v(3 * D),
                o=v(D, D),
                ob=v(D),
                g2=v(D),
                b2=v(D),
                w1=v(D, 32),
                c1=v(32),
                w2=v(32, D),
                c2=v(D),
            )
            for _ in range(LAYERS)
        ]
        self.g, self.b, self.w, self.c = v(D), v(D), v(D, A), v(A)

    @staticmethod
    def norm(x, g, b):
        m, s = tf.nn.moments(x, [-1], keepdims=True)
        return (x - m) / tf.sqrt(s + 1e-5) * g + b

    @tf.function
    def __call__(self, obs, timesteps, *, padding_mask=None):
        T = timesteps.shape[1]
        e = tf.gather(self.emb, timesteps)
        parts = [
            tf.tensordot(obs[k], w, 1) + b + e
            for k, (w, b) in zip(("rtg", "state", "action"), self.tok)
        ]
        x = tf.reshape(tf.stack(parts, 2), (-1, 3 * T, D))
        keep = tf.linalg.band_part(tf.ones((3 * T, 3 * T)), -1, 0)[None, None] > 0
        if padding_mask is not None:
            keep = keep & ~tf.repeat(padding_mask, 3, axis=1)[:, None, None, :]
        for p in self.blk:
            y = self.norm(x, p["g1"], p["b1"])
            y = tf.tensordot(y, p["qkv"], 1) + p["qkvb"]
            y = tf.transpose(tf.reshape(y, (-1, 3 * T, 3, H, D // H)), (2, 0, 3, 1, 4))
            q, k, val = y[0], y[1], y[2]
            s = tf.matmul(q, k, transpose_b=True) / (D // H) ** 0.5
            w = tf.nn.softmax(tf.where(keep, s, -1e9))
            o = tf.reshape(tf.transpose(w @ val, (0, 2, 1, 3)), (-1, 3 * T, D))
            x += tf.tensordot(o, p["o"], 1) + p["ob"]
            y = self.norm(x, p["g2"], p["b2"])
            y = tf.nn.gelu(tf.tensordot(y, p["w1"], 1) + p["c1"])
            x += tf.tensordot(y, p["w2"], 1) + p["c2"]
        y = self.norm(x, self.g, self.b)
        y = tf.reshape(y, (-1, T, 3, D))[:, :, 1]
        return {"actions": tf.tanh(tf.tensordot(y, self.w, 1) + self.c), "tokens": y, "attn": None}


def inputs():
    r = np.random.default_rng(9)
    f = lambda *s: r.normal(size=s).astype("float32")
    pad = np.arange(5)[None] >= np.array([5, 3, 4, 5])[:, None]  # True is padding, on the right
    return {
        "obs": {"rtg": f(4, 5, 1), "state": f(4, 5, 6), "action": f(4, 5, A)},
        "timesteps": r.integers(0, 27, size=(4, 1)) + np.arange(5)[None],
        "padding_mask": pad,
    }


def keras_side():
    model = KerasDT()
    model(**inputs())
    return drawn(model)


SIDES = {
    "torch": lambda: drawn(TorchDT()),
    "keras": keras_side,
    "tensorflow": lambda: drawn(TFDT()),
}
