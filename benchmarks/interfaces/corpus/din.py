"""A deep interest network.

Interface: keyword-only arguments, a functional model of named inputs, and one dict of features,
mostly integers; a dict out. The batch norm has no weights, only statistics.
"""

import keras
import numpy as np
import tensorflow as tf
import torch
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn

USERS, ITEMS, CATS, E = 11, 17, 5, 6


class Dice(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.bn = nn.BatchNorm1d(n, eps=1e-8, affine=False)
        self.alpha = nn.Parameter(torch.full((n,), 0.2))

    def forward(self, x):
        p = torch.sigmoid(self.bn(x))
        return p * x + (1 - p) * self.alpha * x


class TorchDIN(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(USERS, E)
        self.item = nn.Embedding(ITEMS, E)
        self.cat = nn.Embedding(CATS, 4)
        self.att = nn.Sequential(nn.Linear(4 * (E + 4), 12), nn.Sigmoid(), nn.Linear(12, 1))
        self.fc1, self.dice1 = nn.Linear(E + 3 * (E + 4) + 3, 16), Dice(16)
        self.fc2 = nn.Linear(16, 1)

    def lookup(self, item, cat):
        return torch.cat([self.item(item), self.cat(cat)], -1)

    def forward(self, *, user, item, cat, hist_item, hist_cat, hist_len, dense):
        query, keys = self.lookup(item, cat), self.lookup(hist_item, hist_cat)
        q = query.unsqueeze(1).expand_as(keys)
        w = self.att(torch.cat([q, keys, q - keys, q * keys], -1)).squeeze(-1)
        mask = torch.arange(keys.shape[1])[None] < hist_len[:, None]
        w = w * mask
        interest = (w.unsqueeze(-1) * keys).sum(1)
        x = torch.cat([self.user(user), query, interest, query * interest, dense], -1)
        logit = self.fc2(self.dice1(self.fc1(x))).squeeze(-1)
        return {"ctr": torch.sigmoid(logit), "logit": logit, "interest": interest}


class KerasDice(layers.Layer):
    def build(self, shape):
        self.bn = layers.BatchNormalization(epsilon=1e-8, center=False, scale=False)
        self.alpha = self.add_weight(shape=(shape[-1],), initializer="random_uniform", name="alpha")

    def call(self, x, training=None):
        p = ops.sigmoid(self.bn(x, training=training))
        return p * x + (1 - p) * self.alpha * x


class LengthMask(layers.Layer):
    def call(self, w, length):
        steps = ops.arange(w.shape[1])
        return w * ops.cast(steps[None] < ops.cast(length, "int32")[:, None], w.dtype)


def keras_din(length=6):
    i = {k: keras.Input((), dtype="int32", name=k) for k in ("user", "item", "cat", "hist_len")}
    i |= {k: keras.Input((length,), dtype="int32", name=k) for k in ("hist_item", "hist_cat")}
    i["dense"] = keras.Input((3,), name="dense")
    item, cat = layers.Embedding(ITEMS, E), layers.Embedding(CATS, 4)
    query = layers.Concatenate()([item(i["item"]), cat(i["cat"])])
    keys = layers.Concatenate()([item(i["hist_item"]), cat(i["hist_cat"])])
    q = layers.RepeatVector(length)(query)
    w = layers.Concatenate()([q, keys, layers.Subtract()([q, keys]), layers.Multiply()([q, keys])])
    w = layers.Dense(1, name="att2")(layers.Dense(12, activation="sigmoid", name="att1")(w))
    w = LengthMask()(layers.Reshape((length,))(w), i["hist_len"])
    interest = layers.Dot(axes=(1, 1))([w, keys])
    x = layers.Concatenate()(
        [
            layers.Embedding(USERS, E)(i["user"]),
            query,
            interest,
            layers.Multiply()([query, interest]),
            i["dense"],
        ]
    )
    logit = layers.Flatten()(
        layers.Dense(1, name="fc2")(KerasDice()(layers.Dense(16, name="fc1")(x)))
    )
    logit = ops.squeeze(logit, -1)
    return keras.Model(
        i, {"ctr": layers.Activation("sigmoid")(logit), "logit": logit, "interest": interest}
    )


class TFDIN(tf.Module):
    def __init__(self):
        super().__init__()
        var = lambda *s: tf.Variable(tf.random.normal(s, stddev=0.3))
        self.user_table, self.item_table, self.cat_table = (
            var(USERS, E),
            var(ITEMS, E),
            var(CATS, 4),
        )
        self.w1, self.b1, self.w2, self.b2 = var(40, 12), var(12), var(12, 1), var(1)
        self.w3, self.b3, self.w4, self.b4 = var(39, 16), var(16), var(16, 1), var(1)
        self.alpha = var(16)
        self.mean, self.var = (
            tf.Variable(tf.zeros(16), trainable=False),
            tf.Variable(tf.ones(16), trainable=False),
        )

    @tf.function
    def __call__(self, features):
        f = features
        both = lambda i, c: tf.concat(
            [tf.gather(self.item_table, i), tf.nn.embedding_lookup(self.cat_table, c)], -1
        )
        query, keys = both(f["item"], f["cat"]), both(f["hist_item"], f["hist_cat"])
        q = tf.broadcast_to(query[:, None], tf.shape(keys))
        w = (
            tf.sigmoid(tf.concat([q, keys, q - keys, q * keys], -1) @ self.w1 + self.b1) @ self.w2
            + self.b2
        )
        w *= tf.sequence_mask(f["hist_len"], tf.shape(keys)[1], tf.float32)[..., None]
        interest = tf.reduce_sum(w * keys, 1)
        x = tf.concat(
            [tf.gather(self.user_table, f["user"]), query, interest, query * interest, f["dense"]],
            -1,
        )
        x = x @ self.w3 + self.b3
        p = tf.sigmoid((x - self.mean) * tf.math.rsqrt(self.var + 1e-8))
        logit = tf.squeeze(x * (self.alpha + (1 - self.alpha) * p) @ self.w4 + self.b4, -1)
        return {"ctr": tf.sigmoid(logit), "logit": logit, "interest": interest}


def inputs(seed=0, n=8, length=6):
    r = np.random.default_rng(seed)
    i = lambda hi, *s: r.integers(0, hi, s).astype("int32")
    return dict(
        user=i(USERS, n),
        item=i(ITEMS, n),
        cat=i(CATS, n),
        hist_item=i(ITEMS, n, length),
        hist_cat=i(CATS, n, length),
        hist_len=r.integers(1, length + 1, n).astype("int32"),
        dense=r.normal(size=(n, 3)).astype("float32"),
    )


SIDES = {
    "torch": lambda: drawn(TorchDIN().eval()),
    "keras": lambda: drawn(keras_din()),
    "tensorflow": lambda: drawn(TFDIN()),
}
