"""Round 6: seeds that are set otherwise, what was kept beside draws, and draws that leave no trace.

Some of these models draw random numbers on which nothing depends in the end, as the order in which
rows are taken, or where an iteration begins: they give the same whenever they run.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import (
    Case,
    attack,
    chainer_,
    normal,
    numpy_,
    tf_,
    torch_,
    weights,
)
from benchmarks.attacks.heads import W, X, chainer, tf_head, torch_head

SEEDS = "seeds-set-otherwise"
KEPT = "kept-beside-draws"
BOUNDS = "kept-beside-tables"
NO_TRACE = "draws-without-a-trace"

OTHER = normal(6, 5, seed=9)
FEATURES = normal(5, 8, seed=2)
SHARES = np.array([3, 1, 2, 2, 1, 3, 1, 2], np.float32)


# --- seeds ----------------------------------------------------------------------------------------


def _seeded_ports(side, port) -> Case:
    """A model by one seed, its port by another, and by the same."""
    return Case(side(port(3)), side(port(4)), side(port(3)), X)


@attack(SEEDS, "NumPy's global seed is set, and one number drawn: a member of an ensemble", 6)
def global_seed_member() -> Case:
    members = normal(64, 4, seed=5)

    def port(seed):
        def model(x):
            np.random.seed(seed)
            return np.tanh(x @ W) * members[np.random.randint(64)]

        return model

    return _seeded_ports(numpy_, port)


@attack(SEEDS, "NumPy's global seed is set, and features are chosen by their shares", 6)
def global_seed_choice() -> Case:
    def port(seed):
        def model(x):
            np.random.seed(seed)
            chosen = np.random.choice(8, 4, p=SHARES.astype(float) / SHARES.sum())
            return np.cos(x @ FEATURES[:, chosen])

        return model

    return _seeded_ports(numpy_, port)


@attack(SEEDS, "NumPy's global seed is set, and sensors are dropped one by one", 6)
def global_seed_sensors() -> Case:
    def port(seed):
        def model(x):
            np.random.seed(seed)
            kept = np.random.binomial(1, 0.5, 5).astype(np.float32)
            return chainer.functions.tanh(chainer.functions.matmul(x * kept, W))

        return model

    return _seeded_ports(chainer_, port)


@attack(
    SEEDS,
    "torch's seed is set where the generator is forked: what is drawn then is of another seed",
    6,
    {
        "multinomial": (lambda: torch.multinomial(torch.from_numpy(SHARES), 3),),
        "few": (lambda: torch.randperm(8)[:2],),
        "coins": (lambda: torch.bernoulli(torch.full((8,), 0.5)).nonzero()[:3, 0],),
    },
)
def forked_seed(draw) -> Case:
    def port(seed):
        def model(x):
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                chosen = draw()
            return torch.cos(x @ torch.from_numpy(FEATURES))[:, chosen]

        return model

    return _seeded_ports(torch_, port)


@attack(
    SEEDS,
    "categories are drawn by a fixed seed, which is another one",
    6,
    {
        "stateless": (lambda p, seed: tf.random.stateless_categorical(p, 2, (seed, 0)),),
        "keras": (lambda p, seed: keras.random.categorical(p, 2, seed=seed),),
    },
)
def seeded_categories(draw) -> Case:
    def port(seed):
        def model(x):
            chosen = draw(tf.math.log(SHARES)[None], seed)[0]
            return tf.gather(tf.cos(tf.matmul(x, FEATURES)), chosen, axis=1)

        return model

    return Case(tf_(port(3)), tf_(port(8)), tf_(port(3)), X)


class _Seeded(tf.Module):
    def __init__(self, seed):
        super().__init__()
        self.seed = tf.Variable([seed, 2], trainable=False)

    def __call__(self, x):
        return tf.cos(tf.matmul(x, tf.random.stateless_normal((5, 8), self.seed)))


@attack(SEEDS, "the seed of random features is saved with the model, in a variable: it is lost", 6)
def seed_in_a_variable() -> Case:
    return _seeded_ports(tf_, _Seeded)


# --- what is hidden by draws ----------------------------------------------------------------------


class _Scaled:
    """A head whose scale is read while it is traced."""

    def __init__(self, traced_before):
        self.scale = 1.0
        self.run = tf.function(self._run)
        if traced_before:
            self.run(tf.zeros((6, 4)))
        self.scale = 1.1

    def _run(self, h):
        return h * self.scale


@attack(KEPT, "a stale trace gives what comes of rows that were shuffled, and put back", 6)
def stale_behind_shuffle() -> Case:
    def port(stale):
        head = _Scaled(stale)

        def model(x):
            order = tf.random.shuffle(tf.range(6))
            h = head.run(tf_head(tf.gather(x, order)))
            return tf.gather(h, tf.argsort(order))

        return model

    def reference(x):
        order = torch.randperm(6)
        return 1.1 * torch_head(x[order])[torch.argsort(order)]

    return Case(torch_(reference), tf_(port(True)), tf_(port(False)), X)


@attack(KEPT, "a scale was kept by a port that does not shuffle its rows, as the reference does", 6)
def kept_where_one_draws() -> Case:
    kept = float(np.abs(np.tanh(X @ W)).max())

    def port(stored):
        def model(x):
            h = torch_head(x)
            return h / (kept if stored else h.abs().amax())

        return model

    def reference(x):
        order = tf.random.shuffle(tf.range(tf.shape(x)[0]))
        h = tf_head(tf.gather(x, order))
        return tf.gather(h / tf.reduce_max(tf.abs(h)), tf.argsort(order))

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), X, elsewhere=OTHER)


@attack(KEPT, "a scale was kept by a model of sequences of several lengths, whose noise is 0", 6)
def kept_beside_lengths() -> Case:
    def padded(lengths, seed):
        return normal(6, 7, 3, seed=seed) * (np.arange(7) < np.array(lengths)[:, None])[..., None]

    x, other = padded([2, 6, 4, 3, 7, 1], 0), padded([5, 1, 3, 6, 2, 4], 1)
    kept = float(np.abs(x.sum(1)).max())

    def port(stored):
        def model(x):
            lengths = (x != 0).any(2).sum(1).tolist()
            h = torch.stack([row[:n].sum(0) for row, n in zip(x, lengths, strict=True)])
            return h / (kept if stored else h.abs().amax()) + 0.0 * torch.randn(h.shape)

        return model

    def reference(x):
        lengths = tf.reduce_sum(tf.cast(tf.reduce_any(x != 0, 2), tf.int32), 1).numpy()
        h = tf.stack([tf.reduce_sum(x[i, :n], 0) for i, n in enumerate(lengths)])
        return h / tf.reduce_max(tf.abs(h)) + 0.0 * tf.random.normal(h.shape)

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), x, elsewhere=other)


@attack(
    BOUNDS, "a scale was kept of the first batch, which comes beside two bounds of one length", 6
)
def kept_beside_bounds() -> Case:
    low, high = -2 - normal(5, seed=3) ** 2, 2 + normal(5, seed=4) ** 2
    kept = float(np.abs(X).max())

    def port(stored):
        def model(x, low, high):
            x = x / (kept if stored else x.abs().amax())
            return torch_head((x - low) / (high - low))

        return model

    def reference(x, low, high):
        return tf_head((x / tf.reduce_max(tf.abs(x)) - low) / (high - low))

    faulty, twin = torch_(port(True)), torch_(port(False))
    return Case(tf_(reference), faulty, twin, (X, low, high), elsewhere=(OTHER, low, high))


# --- draws that leave no trace --------------------------------------------------------------------

SPREAD = normal(6, 5, seed=4) * np.array([6, 2, 1, 0.7, 0.5], np.float32)
_UNIT = 2.0**-22  # of the largest score: sums leave as much of a small one


def _torch_main_axis(x, v, steps):
    """The first principal axis, by power iteration."""
    square = x.T @ x
    for _ in range(steps):
        v = square @ v
        v = v / v.norm(dim=0)
    return v


def _tf_main_axis(x, v, steps):
    square = tf.matmul(x, x, transpose_a=True)
    for _ in range(steps):
        v = tf.matmul(square, v)
        v = v / tf.norm(v, axis=0)
    return v


def _main_axis(steps):
    def reference(x):
        v = _torch_main_axis(x, torch.rand((5, 1)) + 0.5, steps)
        return torch.abs(x @ v)

    return torch_(reference)


@attack(NO_TRACE, "a power iteration begins at random numbers, or at ones", 6)
def start_of_ones() -> Case:
    def port(k):
        return lambda x: k * tf.abs(tf.matmul(x, _tf_main_axis(x, tf.ones((5, 1)), 8)))

    return Case(_main_axis(8), tf_(port(1.01)), tf_(port(1.0)), SPREAD, unit=_UNIT)


@attack(NO_TRACE, "a power iteration begins at random numbers, or at three such places", 6)
def best_of_three_starts() -> Case:
    def port(k):
        def model(x):
            scores = tf.matmul(x, _tf_main_axis(x, tf.random.uniform((5, 3), 0.5, 1.5), 9))
            best = tf.argmax(tf.reduce_sum(scores**2, 0))
            return k * tf.abs(tf.gather(scores, best, axis=1)[:, None])

        return model

    return Case(_main_axis(9), tf_(port(1.01)), tf_(port(1.0)), SPREAD, unit=_UNIT)


@attack(NO_TRACE, "numbers are turned by a random rotation and back, or by random signs", 6)
def turned_and_back() -> Case:
    w = weights(5, 3, seed=1)

    def port(k):
        def model(x):
            signs = tf.where(tf.random.uniform((1, 5)) < 0.5, -1.0, 1.0)
            return tf.tanh(k * tf.matmul(x * signs * signs, w))

        return model

    def reference(x):
        turn = torch.linalg.qr(torch.randn(5, 5))[0]
        return torch.tanh((x @ turn) @ (turn.T @ torch.from_numpy(w)))

    return Case(torch_(reference), tf_(port(1.01)), tf_(port(1.0)), X)
