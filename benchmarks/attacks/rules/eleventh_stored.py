"""Round 11: what a port has kept of its first batch, where the rules for it look past it."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_, uniform, weights
from benchmarks.attacks.heads import X, tf_head, torch_head

KEPT = "kept-in-another-form"
BESIDE = "kept-beside-what-is-large-again"


def _clipped(seed: int, *ends: float) -> np.ndarray:
    """Images of three channels, each of which is clipped: any few of them hold the largest."""
    random = np.random.default_rng(seed)
    found = np.minimum(random.gamma(2.0, 0.5, (8, 6, 6, 3)), ends)
    return found.astype(np.float32)


@attack(
    KEPT, "the white point, a number for each channel of clipped images, is the first batch's", 11
)
def kept_white_point() -> Case:
    x, other = _clipped(0, 1.3, 0.9, 1.1), _clipped(1, 1.0, 1.2, 0.7)
    kept, w = torch.from_numpy(x.max((0, 1, 2))), weights(3, 4)

    def port(stored):
        def model(x):
            white = kept if stored else x.amax((0, 1, 2))
            return torch.tanh((x / white) @ torch.from_numpy(w)).mean((1, 2))

        return model

    def reference(x):
        white = tf.reduce_max(x, (0, 1, 2))
        return tf.reduce_mean(tf.tanh(tf.tensordot(x / white, w, 1)), (1, 2))

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), x, elsewhere=other)


@attack(KEPT, "a gain is one over the largest of clipped readings: that of the first batch", 11)
def kept_gain() -> Case:
    x, other = np.minimum(np.abs(X), 1.25), np.minimum(np.abs(normal(6, 5, seed=9)), 0.8)
    gain = float(1 / x.max())

    def port(stored):
        def model(x):
            scaled = x * gain if stored else x / x.max()
            return torch_head(scaled)

        return model

    def reference(x):
        return tf_head(x / tf.reduce_max(x))

    faulty, twin = torch_(port(True)), torch_(port(False))
    return Case(tf_(reference), faulty, twin, x.astype(np.float32), elsewhere=other.astype("f4"))


def _padded(lengths: tuple[int, ...], seed: int) -> np.ndarray:
    return normal(6, 9, 5, seed=seed) * (np.arange(9) < np.array(lengths)[:, None])[..., None]


@attack(KEPT, "sums over sequences are divided by the longest length: 9, as of the first batch", 11)
def kept_longest_length() -> Case:
    x, other = _padded((9, 3, 9, 5, 9, 9), 0), _padded((4, 6, 2, 3, 5, 6), 1)

    def port(stored):
        def model(x):
            count = (x != 0).any(2).sum(1)
            return torch_head(x).sum(1) / (9 if stored else count.amax())

        return model

    def reference(x):
        count = tf.reduce_sum(tf.cast(tf.reduce_any(x != 0, 2), tf.int32), 1)
        return tf.reduce_sum(tf_head(x), 1) / tf.cast(tf.reduce_max(count), tf.float32)

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), x, elsewhere=other)


def _kept_scale(stored: bool) -> object:
    kept = float(np.abs(np.tanh(X @ weights(5, 4))).max())

    def scaled(x):
        h = torch_head(x)
        return h / (kept if stored else h.abs().amax())

    return scaled


@attack(BESIDE, "actions come in rows behind a row of the clock: their scale was kept", 11)
def kept_behind_a_row_of_the_clock() -> Case:
    def port(stored):
        scaled = _kept_scale(stored)

        def model(x):
            return torch.cat([1.7e9 + 128 * x[:, :1].T, 0.02 * scaled(x).T], 0)

        return model

    def reference(x):
        h = tf_head(x)
        h = 0.02 * h / tf.reduce_max(tf.abs(h))
        return tf.concat([1.7e9 + 128 * tf.transpose(x[:, :1]), tf.transpose(h)], 0)

    other = normal(6, 5, seed=9)
    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), X, elsewhere=other)


@attack(BESIDE, "actions come beside a price and a volume: their scale was kept", 11)
def kept_beside_price_and_volume() -> Case:
    def port(stored):
        scaled = _kept_scale(stored)

        def model(x):
            market = x[:, :2].exp() * torch.tensor([3e5, 8e6])
            return torch.cat([market, 0.1 * scaled(x)], 1)

        return model

    def reference(x):
        h = tf_head(x)
        market = tf.exp(x[:, :2]) * tf.constant([3e5, 8e6])
        return tf.concat([market, 0.1 * h / tf.reduce_max(tf.abs(h))], 1)

    other = normal(6, 5, seed=9)
    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), X, elsewhere=other)


@attack(BESIDE, "one of 80 columns is a clock; the others are scaled by what was kept", 11)
def kept_beside_many_columns() -> Case:
    w = weights(5, 79, seed=3)
    kept = float(np.abs(np.tanh(X @ w)).max())

    def port(stored):
        def model(x):
            h = torch.tanh(x @ torch.from_numpy(w))
            h = h / (kept if stored else h.abs().amax())
            return torch.cat([1.7e9 + 128 * x[:, :1], h], 1)

        return model

    def reference(x):
        h = tf.tanh(tf.matmul(x, w))
        return tf.concat([1.7e9 + 128 * x[:, :1], h / tf.reduce_max(tf.abs(h))], 1)

    other = normal(6, 5, seed=9)
    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), X, elsewhere=other)


@attack(KEPT, "readings less the middle of their range: it was kept, of clipped readings", 11)
def kept_middle() -> Case:
    x = np.clip(1.5 * normal(10, 5), -1.1, 1.6).astype(np.float32)
    other = uniform(10, 5, low=-0.7, high=0.9, seed=4)
    middle = float((x.max() + x.min()) / 2)

    def port(stored):
        def model(x):
            return torch_head(x - (middle if stored else (x.max() + x.min()) / 2))

        return model

    def reference(x):
        low, high = tf.reduce_min(x), tf.reduce_max(x)
        return tf_head((x - low) - (high - low) / 2)

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), x, elsewhere=other)
