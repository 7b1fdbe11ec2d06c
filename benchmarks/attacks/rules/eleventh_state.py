"""Round 11: what is kept of the first batch beside what moves by itself, and stale traces."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_, weights
from benchmarks.attacks.heads import (
    MORE,
    W,
    X,
    as_array,
    size_of_noise,
    tf_head,
    torch_head,
    torch_noisy,
)

STALE = "stale-beside-draws"
MOVES = "kept-beside-what-moves"
ONE = "kept-of-one-sample"
BESIDE = "kept-of-what-is-no-sample"

OTHER = normal(6, 5, seed=1, scale=0.7)


# --- traces ----------


@attack(STALE, "a noisy policy was traced before its scale was set: the graph keeps the first", 11)
def traced_before_it_was_set() -> Case:
    class Policy:
        def __init__(self, early):
            self.scale = 1.0
            self.act = tf.function(self._act)
            if early:
                self.act(tf.constant(MORE))  # to warm up
            self.scale = 0.1

        def _act(self, x):
            h = tf_head(x)
            return h, h + self.scale * tf.random.normal(tf.shape(h))

        def __call__(self, x):
            return self.act(x)

    return Case(torch_(torch_noisy), tf_(Policy(True)), tf_(Policy(False)), MORE, size_of_noise)


@attack(STALE, "a VAE's predict was traced before the offset of its codes was set", 11)
def predicted_before_it_was_set() -> Case:
    import keras

    @keras.saving.register_keras_serializable(package="eleventh")
    class Sampled(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.offset, self.seeds = 1.0, keras.random.SeedGenerator(3)

        def call(self, h):
            noise = keras.random.normal(keras.ops.shape(h), seed=self.seeds)
            return h + self.offset + 0.01 * noise

    class Encoder:
        def __init__(self, early):
            given = keras.Input((5,))
            dense = keras.layers.Dense(4, activation="tanh", use_bias=False)
            self.sampled = Sampled()
            self.model = keras.Model(given, self.sampled(dense(given)))
            dense.set_weights([W])
            if early:
                self.model.predict_on_batch(X)
            self.sampled.offset = 0.0

        def __call__(self, x):
            return self.model.predict_on_batch(x)

    def reference(x):
        h = torch_head(x)
        return h + 0.01 * torch.randn(h.shape)

    return Case(torch_(reference), tf_(Encoder(True)), tf_(Encoder(False)), X)


# --- kept beside what moves by itself ----------


def _scaled(kept):
    """A port's head of observations by their largest, which may be that of the first batch."""

    def head(x):
        scale = float(np.abs(X).max()) if kept else tf.reduce_max(tf.abs(x))
        return tf.tanh(tf.matmul(x / scale, W))

    return head


def _torch_scaled(x):
    return torch.tanh((x / x.abs().max()) @ torch.from_numpy(W))


@attack(MOVES, "a scale was kept of the first batch; a chaotic simulation is returned beside", 11)
def kept_beside_chaos() -> Case:
    def port(kept):
        head = _scaled(kept)

        def model(x):
            z = tf.sigmoid(x[:, :2])
            for _ in range(60):
                z = 3.9 * z * (1 - z)
            return head(x), z

        return model

    def reference(x):
        z = torch.sigmoid(x[:, :2])
        for _ in range(60):
            z = 3.9 * z * (1 - z)
        return _torch_scaled(x), z

    sides = tf_(port(True)), tf_(port(False))
    return Case(torch_(reference), *sides, X, lambda result: list(result)[:1], elsewhere=OTHER)


@attack(MOVES, "a scale was kept of the first batch; a solver's residual is returned beside", 11)
def kept_beside_a_residual() -> Case:
    def port(kept):
        head = _scaled(kept)

        def model(x):
            a = 1 + tf.square(x[:, :2])
            y = 0.5 * (1 + a)
            for _ in range(8):
                y = 0.5 * (y + a / y)
            return head(x), y, a - y * y

        return model

    def reference(x):
        a = 1 + x[:, :2].square()
        y = 0.5 * (1 + a)
        for _ in range(8):
            y = 0.5 * (y + a / y)
        return _torch_scaled(x), y, a - y * y

    sides = tf_(port(True)), tf_(port(False))
    return Case(torch_(reference), *sides, X, lambda result: list(result)[:2], elsewhere=OTHER)


@attack(MOVES, "a scale was kept; beside it noise decides at the cut of an angle", 11)
def kept_beside_noise_and_chaos() -> Case:
    def port(kept):
        head = _scaled(kept)

        def model(x):
            z = tf.sigmoid(x[:, :2] + 0.1 * tf.random.normal((len(x), 2)))
            h = head(x) + 0.05 * tf.random.normal((len(x), 4))
            for _ in range(60):
                z = 3.9 * z * (1 - z)
            return h, z

        return model

    def reference(x):
        z = torch.sigmoid(x[:, :2] + 0.1 * torch.randn(len(x), 2))
        h = _torch_scaled(x) + 0.05 * torch.randn(len(x), 4)
        for _ in range(60):
            z = 3.9 * z * (1 - z)
        return h, z

    def read(result):
        many = len(as_array(result[0])) > 1000
        return [as_array(result[0]).mean(0) if many else np.zeros(1)]

    elsewhere = np.float32(0.2) * np.abs(MORE)
    return Case(torch_(reference), tf_(port(True)), tf_(port(False)), X, read, elsewhere=elsewhere)


# --- kept of what is no sample ----------

GOAL = normal(5, seed=12)


@attack(BESIDE, "one goal for all states: its embedding was kept of the first goal", 11)
def kept_embedding_of_a_goal() -> Case:
    kept = torch.tanh(torch.from_numpy(GOAL) @ torch.from_numpy(W)).numpy()

    def port(keeps):
        def model(state, goal):
            g = tf.constant(kept) if keeps else tf.tanh(tf.linalg.matvec(W, goal, transpose_a=True))
            return tf_head(state) * g, tf.reduce_sum(tf.square(state - goal), 1)

        return model

    def reference(state, goal):
        g = torch.tanh(goal @ torch.from_numpy(W))
        return torch_head(state) * g, (state - goal).square().sum(1)

    faulty, twin = tf_(port(True)), tf_(port(False))
    inputs, other = {"state": X, "goal": GOAL}, {"state": X, "goal": GOAL[::-1].copy()}
    return Case(torch_(reference), faulty, twin, inputs, elsewhere=other)


# --- kept of one sample ----------

U = weights(9, 4, seed=5)


@attack(ONE, "one observation: the order of its features was kept of the first", 11)
def kept_order_of_one_sample() -> Case:
    first = normal(1, 9, seed=21)
    order = np.argsort(first[0])

    def port(keeps):
        def model(x):
            at = tf.constant(order) if keeps else tf.argsort(x[0])
            return tf.tanh(tf.matmul(tf.gather(x, at, axis=1), U))

        return model

    def reference(x):
        return torch.tanh(x[:, torch.argsort(x[0])] @ torch.from_numpy(U))

    faulty, twin = tf_(port(True)), tf_(port(False))
    return Case(torch_(reference), faulty, twin, first, elsewhere=first[:, ::-1].copy())


@attack(ONE, "one board: how many stones lie on it was kept of the first", 11)
def kept_count_of_one_board() -> Case:
    board = np.array([[1, 0, -1, 0, 1, 0, 0, -1, 1]], np.float32)
    other = np.array([[0, 0, -1, 0, 1, 0, 0, 0, 0]], np.float32)

    def port(keeps):
        def model(x):
            count = float(np.abs(board).sum()) if keeps else tf.reduce_sum(tf.abs(x))
            return tf.tanh(tf.matmul(x, U)) * count / 9

        return model

    def reference(x):
        return torch.tanh(x @ torch.from_numpy(U)) * x.abs().sum() / 9

    faulty, twin = tf_(port(True)), tf_(port(False))
    return Case(torch_(reference), faulty, twin, board, elsewhere=other, exact=True)
