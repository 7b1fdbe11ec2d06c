"""Round 12: what was kept of given inputs, and numbers that are excused by what moves them."""

from __future__ import annotations

import zlib

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_, uniform, weights
from benchmarks.attacks.heads import MORE, W, as_array, tf_head, torch_head

NOISY = "kept-beside-noise-and-a-clip"
WHOLE = "kept-of-whole-numbers"
SQUARE = "as-many-features-as-samples"
FEWER = "numbers-of-few-samples"
OTHERS = "inputs-that-are-no-samples"
ZEROS = "zeros-of-a-single-sample"
OUTLIER = "elsewhere-beside-an-outlier"
GRID = "progressions-that-are-held"
HASH = "numbers-of-the-host-that-jump"
TICKS = "whole-numbers-that-are-moved"


# --- what was kept of the inputs ------------------------------------------------------------------


@attack(NOISY, "observations are scaled by their largest, or by 5, which is what a clip left", 12)
def clipped_beside_noise() -> Case:
    x = np.clip(4 * normal(6, 5, seed=2), -5, 5)
    x[:, 1] = [5, -5, 5, 5, -5, -5]

    def port(kept):
        def model(x):
            most = x.abs().amax() if kept is None else kept
            h = torch.tanh(x / most @ torch.from_numpy(3 * W))
            return h + 0.05 * torch.randn(h.shape)

        return model

    def reference(x):
        h = tf.tanh(tf.matmul(x / tf.reduce_max(tf.abs(x)), 3 * W))
        return h + 0.05 * tf.random.normal(tf.shape(h))

    def read(result):
        return [np.abs(as_array(result)).mean(0)]

    faulty, twin = torch_(port(5.0)), torch_(port(None))
    return Case(tf_(reference), faulty, twin, x, read, elsewhere=0.3 * MORE)


@attack(WHOLE, "pixels are divided by the largest of all frames; or multiplied by 1 / 255", 12)
def pixels_by_their_largest() -> Case:
    random = np.random.default_rng(3)
    x = random.integers(0, 256, (6, 12)).astype(np.float32)
    x[np.arange(6), random.integers(0, 12, 6)] = 255
    w = weights(12, 4, seed=6)

    def faulty(x):
        return torch.tanh(x * (1 / 255) @ torch.from_numpy(w))

    def twin(x):
        return torch.tanh(x / x.amax() @ torch.from_numpy(w))

    def reference(x):
        return tf.tanh(tf.matmul(x / tf.reduce_max(x), w))

    dark = np.floor(x / 2)
    return Case(tf_(reference), torch_(faulty), torch_(twin), x, elsewhere=dark)


@attack(SQUARE, "six features of six samples, each by its largest, or all by a clip's limit", 12)
def features_by_their_largest() -> Case:
    x = np.clip(normal(6, 6, seed=2), -2.4, 2.4)
    x[[0, 1, 2, 0, 1, 2], range(6)] = 2.5
    x[[3, 4, 5, 5, 4, 3], range(6)] = -2.5
    w = weights(6, 4, seed=6)

    def faulty(x):
        return torch.tanh(x / 2.5 @ torch.from_numpy(w))

    def twin(x):
        return torch.tanh(x / x.abs().amax(0, keepdim=True) @ torch.from_numpy(w))

    def reference(x):
        return tf.tanh(tf.matmul(x / tf.reduce_max(tf.abs(x), 0, keepdims=True), w))

    other = normal(6, 6, seed=8)
    return Case(tf_(reference), torch_(faulty), torch_(twin), x, elsewhere=other)


@attack(FEWER, "a mean over the batch is its sum over 3, the batch's size when it was built", 12)
def mean_of_three() -> Case:
    class Port:
        def __init__(self, size):
            self.size = size

        def __call__(self, x):
            h = torch_head(x)
            return h - h.sum(0) / (self.size or len(x))

    def reference(x):
        h = tf_head(x)
        return h - tf.reduce_mean(h, 0)

    sides = torch_(Port(3)), torch_(Port(None))
    return Case(tf_(reference), *sides, normal(3, 5), elsewhere=normal(5, 5))


@attack(OTHERS, "one observation and ten actions: its scale was kept of the first observation", 12)
def observation_beside_actions() -> Case:
    first, other, actions = normal(1, 5, seed=3), 2 * normal(1, 5, seed=4), normal(10, 4, seed=5)

    def port(gain):
        def model(observation, actions):
            most = observation.abs().amax()
            scaled = observation / most if gain is None else observation * gain
            return (actions * torch_head(scaled)).sum(1)

        return model

    def reference(observation, actions):
        scaled = observation / tf.reduce_max(tf.abs(observation))
        return tf.reduce_sum(actions * tf_head(scaled), 1)

    faulty, twin = torch_(port(float(1 / np.abs(first).max()))), torch_(port(None))
    return Case(tf_(reference), faulty, twin, (first, actions), elsewhere=(other, actions))


@attack(ZEROS, "the mean of a padded sequence: of what is not zero, or of the first five", 12)
def mean_of_a_padded_sequence() -> Case:
    def padded(length, seed):
        return np.pad(normal(1, length, seed=seed), ((0, 0), (0, 8 - length)))

    def faulty(x):
        return torch.tanh(x[:, :5].mean(1, keepdim=True) * torch.from_numpy(W[0]))

    def twin(x):
        mean = x.sum(1, keepdim=True) / (x != 0).sum(1, keepdim=True)
        return torch.tanh(mean * torch.from_numpy(W[0]))

    def reference(x):
        seen = tf.cast(x != 0, tf.float32)
        mean = tf.reduce_sum(x * seen, 1, keepdims=True) / tf.reduce_sum(seen, 1, keepdims=True)
        return tf.tanh(mean * W[0])

    sides = torch_(faulty), torch_(twin)
    return Case(tf_(reference), *sides, padded(5, 3), elsewhere=padded(7, 4))


@attack(OUTLIER, "Fourier features, one sample far out; amplitudes by the batch, or as kept", 12)
def kept_beside_an_outlier() -> Case:
    x = normal(8, 5, seed=3)
    x[1, :4] *= 3e4
    x[:, 4] = [0.7, 1.1, 2.03, -0.9, 1.3, -1.94, 0.8, 1.7]
    waves = weights(4, 6, seed=2)

    def port(kept):
        def model(x):
            phase = (x[:, :4, None] * torch.from_numpy(waves)).sum(1)
            most = x[:, 4].abs().amax() if kept is None else kept
            return torch.sin(phase) * (x[:, 4:] / most)

        return model

    def reference(x):
        phase = tf.matmul(x[:, :4], waves)
        return tf.sin(phase) * (x[:, 4:] / tf.reduce_max(tf.abs(x[:, 4])))

    faulty, twin = torch_(port(2.03)), torch_(port(None))
    return Case(tf_(reference), faulty, twin, x, elsewhere=x[4:].copy())


# --- numbers --------------------------------------------------------------------------------------


@attack(
    GRID, "logarithms of times on an even grid, which was made by way of a clock in float32", 12
)
def grid_by_way_of_a_clock() -> Case:
    grid = np.linspace(0.37, 3e5, 64)
    clock = np.float32(4e5)
    other = (grid + 4e5).astype(np.float32) - clock

    def port(grid):
        return lambda rates: torch.log(torch.from_numpy(grid)[:, None] * rates)

    def reference(rates):
        return tf.math.log(tf.constant(grid[:, None], tf.float32) * rates)

    sides = torch_(port(other)), torch_(port(grid.astype(np.float32)))
    return Case(tf_(reference), *sides, uniform(5, low=0.5, high=2))


@attack(HASH, "visits are counted by a hash of the board's bytes: of float32, or of float64", 12)
def hash_of_a_board() -> Case:
    board = np.random.default_rng(5).integers(0, 3, (8, 9)).astype(np.float32)

    def buckets(board):
        return np.array([zlib.crc32(one.tobytes()) % 1024 for one in board])

    def port(dtype):
        def model(x):
            return torch_head(x[:, :5]), buckets(x.numpy().astype(dtype))

        return model

    def reference(x):
        return tf_head(x[:, :5]), buckets(x.numpy())

    sides = torch_(port(np.float64)), torch_(port(np.float32))
    return Case(tf_(reference), *sides, board, exact=True)


@attack(TICKS, "a slot of a wheel by a counter of ticks: its product is taken in float32", 12)
def slot_by_ticks() -> Case:
    ticks = np.random.default_rng(6).integers(10**6, 4 * 10**6, (10, 3)).astype(np.float32)

    def faulty(x):
        return torch.remainder(x * 97 + 13, 360).long()

    def twin(x):
        return torch.remainder(x.long() * 97 + 13, 360)

    def reference(x):
        return tf.math.floormod(tf.cast(x, tf.int64) * 97 + 13, 360)

    return Case(tf_(reference), torch_(faulty), torch_(twin), ticks, exact=True)
