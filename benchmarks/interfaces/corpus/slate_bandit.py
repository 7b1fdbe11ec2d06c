"""A recommender of slates, with an ensemble of heads.

Interface: a bound method, or the model; integers by keyword, an optional boolean mask, three
numbers with defaults, one of them given; a dataclass out with integers and a list. Statistics that
a layer written by hand keeps.
"""

from dataclasses import dataclass
from typing import Any

import chainer
import chainer.functions as CF
import chainer.links as L
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

from benchmarks.interfaces.weights import drawn

USERS, ITEMS, D, CTX, K = 13, 17, 8, 5, 4


@dataclass
class Slate:
    scores: Any
    items: Any
    heads: list[Any]
    bonus: Any = None


class RunningNorm(layers.Layer):
    def build(self, shape):
        self.mean = self.add_weight(
            shape=(shape[-1],), initializer="zeros", trainable=False, name="mean"
        )
        self.var = self.add_weight(
            shape=(shape[-1],), initializer="ones", trainable=False, name="var"
        )
        self.count = self.add_weight(shape=(), initializer="zeros", trainable=False, name="count")

    def call(self, x, training=False):
        if training:
            self.count.assign_add(1.0)
            self.mean.assign(self.mean + 0.1 * (ops.mean(x, 0) - self.mean))
            self.var.assign(self.var + 0.1 * (ops.var(x, 0) - self.var))
        return ops.clip((x - self.mean) / ops.sqrt(self.var + 1e-8), -5.0, 5.0)


class KerasSlate(keras.Model):
    def __init__(self):
        super().__init__()
        self.users, self.items = layers.Embedding(USERS, D), layers.Embedding(ITEMS, D)
        self.norm = RunningNorm()
        self.u1, self.u2 = layers.Dense(16, activation="relu"), layers.Dense(D)
        self.i1 = layers.Dense(D, activation="gelu")
        self.ens = [layers.Dense(1) for _ in range(K)]
        self.drop = layers.Dropout(0.2)

    def call(
        self,
        user,
        context,
        candidates,
        seen=None,
        temperature=1.0,
        beta=0.5,
        top_k=3,
        training=False,
    ):
        c = self.norm(context, training=training)
        u = self.u2(
            self.drop(self.u1(ops.concatenate([self.users(user), c], axis=-1)), training=training)
        )
        i = self.i1(self.items(candidates))
        x = u[:, None, :] * i
        heads = [head(x)[..., 0] / temperature for head in self.ens]
        s = ops.stack(heads, -1)
        bonus = ops.std(s, axis=-1)
        score = ops.mean(s, axis=-1) + beta * bonus + ops.sum(x, -1)
        if seen is not None:
            score = ops.where(seen, -1e30, score)
        _, index = ops.top_k(score, top_k)
        return Slate(
            score, ops.take_along_axis(candidates, ops.cast(index, "int64"), axis=1), heads, bonus
        )


class TFSlate(tf.Module):
    def __init__(self):
        super().__init__()
        n = lambda *s: tf.Variable(tf.random.normal(s) / s[0] ** 0.5)
        self.user_table, self.item_table = n(USERS, D), n(ITEMS, D)
        self.mean, self.var, self.count = (
            tf.Variable(tf.zeros(CTX), trainable=False),
            tf.Variable(tf.ones(CTX), trainable=False),
            tf.Variable(0.0, trainable=False),
        )
        self.w1, self.b1, self.w2, self.b2 = n(D + CTX, 16), n(16), n(16, D), n(D)
        self.wi, self.bi = n(D, D), n(D)
        self.heads_w, self.heads_b = [n(D, 1) for _ in range(K)], [n(1) for _ in range(K)]

    def rank(self, user, context, candidates, seen=None, temperature=1.0, beta=0.5, top_k=3):
        c = tf.clip_by_value((context - self.mean) * tf.math.rsqrt(self.var + 1e-8), -5.0, 5.0)
        u = tf.concat([tf.nn.embedding_lookup(self.user_table, user), c], 1)
        u = tf.nn.relu(u @ self.w1 + self.b1) @ self.w2 + self.b2
        i = tf.nn.gelu(tf.nn.embedding_lookup(self.item_table, candidates) @ self.wi + self.bi)
        x = tf.einsum("bd,bnd->bnd", u, i)
        heads = [
            tf.squeeze(x @ w + b, -1) / temperature for w, b in zip(self.heads_w, self.heads_b)
        ]
        mean, var = tf.nn.moments(tf.stack(heads), [0])
        bonus = tf.sqrt(var)
        score = mean + beta * bonus + tf.einsum("bd,bnd->bn", u, i)
        if seen is not None:
            score = tf.where(seen, -1e30, score)
        _, index = tf.math.top_k(score, top_k)
        return Slate(score, tf.gather(candidates, index, batch_dims=1), heads, bonus)


class ChainerSlate(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.user, self.item = L.EmbedID(USERS, D), L.EmbedID(ITEMS, D)
            self.l1, self.l2 = L.Linear(D + CTX, 16), L.Linear(16, D)
            self.li = L.Linear(D, D)
            self.ens = chainer.ChainList(*[L.Linear(D, 1) for _ in range(K)])
        self.add_persistent("mean", np.zeros(CTX, "f"))
        self.add_persistent("var", np.ones(CTX, "f"))
        self.add_persistent("count", np.float32(0))

    def rank(self, user, context, candidates, seen=None, temperature=1.0, beta=0.5, top_k=3):
        if chainer.config.train:
            self.count = self.count + np.float32(1)
            self.mean = self.mean + np.float32(0.1) * (context.mean(0) - self.mean)
            self.var = self.var + np.float32(0.1) * (context.var(0) - self.var)
        c = np.clip((context - self.mean) / np.sqrt(self.var + np.float32(1e-8)), -5, 5).astype("f")
        u = self.l2(CF.dropout(CF.relu(self.l1(CF.concat([self.user(user), c]))), 0.2))
        h = self.li(self.item(candidates), n_batch_axes=2)
        i = h * 0.5 * (1 + CF.erf(h * np.float32(0.5**0.5)))
        x = i * CF.broadcast_to(u[:, None], i.shape)
        heads = [head(x, n_batch_axes=2)[:, :, 0] / temperature for head in self.ens]
        s = CF.stack(heads)
        mean = CF.mean(s, axis=0)
        bonus = CF.sqrt(CF.mean((s - CF.broadcast_to(mean, s.shape)) ** 2, axis=0))
        score = mean + beta * bonus + CF.sum(x, axis=2)
        if seen is not None:
            score = CF.where(seen, np.full(score.shape, -1e30, "f"), score)
        order = np.argsort(-score.array, axis=1)[:, :top_k]
        return Slate(score, np.take_along_axis(candidates, order, axis=1), heads, bonus)


def inputs():
    r = np.random.default_rng(0)
    seen = r.random((5, 9)) < 0.3
    cand = np.stack([r.permutation(ITEMS)[:9] for _ in range(5)])
    return dict(
        user=r.integers(0, USERS, 5),
        context=r.normal(size=(5, CTX)).astype("f"),
        candidates=cand,
        seen=seen,
        temperature=0.7,
    )


def keras_side():
    model = KerasSlate()
    model(**inputs())
    return drawn(model)


SIDES = {
    "keras": keras_side,
    "tensorflow": lambda: drawn(TFSlate()).rank,
    "chainer": lambda: drawn(ChainerSlate()).rank,
}
