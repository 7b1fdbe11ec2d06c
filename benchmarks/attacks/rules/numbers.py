"""Integers, booleans, NaN, infinities and ties; constants and epsilons."""

from __future__ import annotations

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
    uniform,
)
from benchmarks.attacks.heads import F, W, X

WHOLE = "integers"
NAN = "nan-and-infinity"
EPSILON = "constants"


@attack(WHOLE, "an index over 2**31 wraps in int32")
def wraps_in_int32() -> Case:
    x = np.array([[2**31 + 5, 7], [3, 2**33]], np.int64)

    def wrong(x):
        return tf.cast(tf.cast(x, tf.int32), tf.int64) + 1

    return Case(torch_(lambda x: x + 1), tf_(wrong), tf_(lambda x: x + 1), x)


@attack(WHOLE, "pixels are added in uint8 and wrap")
def wraps_in_uint8() -> Case:
    x = np.random.default_rng(0).integers(0, 256, (4, 6)).astype(np.uint8)

    def wrong(x):
        return tf.cast(x + tf.constant(100, tf.uint8), tf.float32) / 255

    def right(x):
        return (tf.cast(x, tf.float32) + 100) / 255

    return Case(torch_(lambda x: (x.float() + 100) / 255), tf_(wrong), tf_(right), x)


@attack(WHOLE, "a negative index is divided towards zero instead of down")
def floor_division() -> Case:
    x = np.arange(-6, 6).reshape(3, 4)
    return Case(
        torch_(lambda x: torch.div(x, 4, rounding_mode="floor")),
        tf_(lambda x: tf.truncatediv(x, tf.constant(4, tf.int64))),
        tf_(lambda x: x // 4),
        x,
    )


@attack(WHOLE, "the sign of a remainder")
def remainder_sign() -> Case:
    x = normal(4, 6) * 5
    return Case(
        torch_(lambda x: torch.remainder(x, 2.0)),
        tf_(lambda x: tf.math.mod(tf.abs(x), 2.0) * tf.sign(x)),
        tf_(lambda x: tf.math.floormod(x, 2.0)),
        x,
    )


@attack(WHOLE, "an argmax over ties: the last instead of the first")
def argmax_ties() -> Case:
    x = np.round(X)
    x[2] = [1, 2, 2, 0, 2]

    def wrong(x):
        return 4 - tf.argmax(tf.reverse(x, [1]), 1)

    return Case(
        torch_(lambda x: torch.argmax(x, 1)),
        tf_(wrong),
        tf_(lambda x: tf.argmax(x, 1)),
        x,
        exact=True,
    )


@attack(WHOLE, "a decision at a boundary: greater against greater or equal")
def boundary() -> Case:
    x = np.round(X)
    return Case(
        torch_(lambda x: (x > 0).float() + torch.tanh(x)),
        tf_(lambda x: tf.cast(x >= 0, tf.float32) + tf.tanh(x)),
        tf_(lambda x: tf.cast(x > 0, tf.float32) + tf.tanh(x)),
        x,
        exact=True,
    )


@attack(WHOLE, "booleans alone come out, one of them turned")
def one_boolean() -> Case:
    x = normal(20, 5)

    def port(bound):
        return lambda x: tf.reduce_any(x > bound, 1)

    return Case(torch_(lambda x: (x > 1.5).any(1)), tf_(port(1.3)), tf_(port(1.5)), x, exact=True)


@attack(WHOLE, "an order of indices whose values are the same multiset")
def order_of_indices() -> Case:
    x = normal(5, 7)

    def right(x):
        return tf.argsort(x, 1)

    def wrong(x):
        return tf.argsort(tf.argsort(x, 1), 1)

    return Case(torch_(lambda x: torch.argsort(x, 1)), tf_(wrong), tf_(right), x)


@attack(NAN, "a mean with NaN: one model leaves it out, the other replaces it by 0")
def nan_mean() -> Case:
    x = X.copy()
    x[2, 3] = np.nan

    def port(kind):
        def model(x):
            ok = ~tf.math.is_nan(x)
            total = tf.reduce_sum(tf.where(ok, x, 0.0), 1)
            count = tf.reduce_sum(tf.cast(ok, tf.float32), 1)
            return total / (count if kind else 5.0)

        return model

    return Case(torch_(lambda x: torch.nanmean(x, 1)), tf_(port(False)), tf_(port(True)), x)


@attack(NAN, "beside NaN in both, the values are off by 1e-3 in one row of a thousand")
def beside_nan() -> Case:
    x = normal(1000, 3)
    x[:500, 0] = np.nan
    factor = np.ones((1000, 1), np.float32)
    factor[700] += np.float32(1e-3)
    return Case(
        torch_(lambda x: torch.tanh(x)),
        tf_(lambda x: tf.tanh(x) * factor),
        tf_(lambda x: tf.tanh(x)),
        x,
    )


@attack(NAN, "minus infinity where the other has plus infinity, beside a finite row")
def sign_of_infinity() -> Case:
    x = X.copy()
    x[1, 1] = 0

    return Case(
        torch_(lambda x: 1 / torch.abs(x)),
        tf_(lambda x: tf.where(x == 0, -np.inf, 1 / tf.abs(x))),
        tf_(lambda x: 1 / tf.abs(x)),
        x,
    )


@attack(NAN, "a maximum that drops NaN where the other passes it on")
def maximum_of_nan() -> Case:
    x = X.copy()
    x[4, 0] = np.nan
    return Case(
        torch_(lambda x: torch.relu(x)),
        numpy_(lambda x: np.fmax(x, 0)),
        numpy_(lambda x: np.maximum(x, 0)),
        x,
    )


@attack(NAN, "infinite beside float32.max: the largest finite number is no infinity")
def largest_number() -> Case:
    x = X.copy()
    x[0, 0] = np.inf
    most = np.finfo(np.float32).max
    return Case(
        torch_(lambda x: torch.clamp(x, max=float(most))),
        tf_(lambda x: x * 1.0),
        tf_(lambda x: tf.minimum(x, most)),
        x,
    )


@attack(EPSILON, "the norm's epsilon in a row of zeros: 0/0 guarded by another number")
def zero_row() -> Case:
    x = X.copy()
    x[3] = np.float32(1e-9) * x[3]

    def port(epsilon):
        return lambda x: x / tf.maximum(tf.norm(x, axis=1, keepdims=True), epsilon)

    return Case(
        torch_(lambda x: torch.nn.functional.normalize(x, dim=1, eps=1e-12)),
        tf_(port(1e-8)),
        tf_(port(1e-12)),
        x,
    )


@attack(
    EPSILON,
    "a constant is off by more than a rounding",
    variants={"1e-6": (1e-6,), "4e-6": (4e-6,)},
)
def slope(off) -> Case:
    x = -uniform(6, 5, low=0.5, high=3)

    def port(alpha):
        return lambda x: tf.maximum(x, np.float32(alpha) * x)

    return Case(
        torch_(lambda x: torch.nn.functional.leaky_relu(x, 0.1)),
        tf_(port(0.1 * (1 + 8 * off))),
        tf_(port(0.1)),
        x,
    )


@attack(EPSILON, "the frequency of a position's sine, off by 1e-6, at positions up to 5,000")
def frequencies() -> Case:
    positions = np.arange(0, 5000, 500).astype(np.float32)[:, None]
    rates = (1e4 ** (-np.arange(6) / 6)).astype(np.float32)

    def port(rates):
        return lambda p: tf.concat([tf.sin(p * rates), tf.cos(p * rates)], 1)

    def reference(p):
        angles = p * torch.from_numpy(rates)
        return torch.cat([torch.sin(angles), torch.cos(angles)], 1)

    wrong = rates.copy()
    wrong[4] *= np.float32(1.00002)
    return Case(torch_(reference), tf_(port(wrong)), tf_(port(rates)), positions)


@attack(EPSILON, "a folded batch norm: the gain was folded with another epsilon, and rounded")
def folded_norm() -> Case:
    mean, variance = normal(4, seed=5), uniform(4, low=0.01, high=1, seed=6)
    gain, bias = normal(4, seed=7), normal(4, seed=8)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.norm = torch.nn.Linear(5, 4, bias=False), torch.nn.BatchNorm1d(4)
            self.layer.weight.data = torch.from_numpy(W.T.copy())
            held = (self.norm.weight, self.norm.bias, self.norm.running_mean, self.norm.running_var)
            for tensor, array in zip(held, (gain, bias, mean, variance), strict=True):
                tensor.data = torch.from_numpy(array.copy())

        def forward(self, x):
            return self.norm(self.layer(x))

    def port(epsilon):
        factor = (gain / np.sqrt(variance.astype(np.float64) + epsilon)).astype(np.float32)
        w, b = W * factor, bias - mean * factor
        return lambda x: tf.matmul(x, w) + b

    return Case(torch_(Net()), tf_(port(1.2e-5)), tf_(port(1e-5)), X)


@attack(EPSILON, "a temperature of 1e-5 behind a division that saturates all but one row")
def saturated_rows() -> Case:
    x = 40 * X
    x[0] = [0.01, 0.02, 0.03, 0.02, 0.01]

    def port(temperature):
        return lambda x: F.softmax(x * np.float32(1 / temperature))

    return Case(
        torch_(lambda x: torch.softmax(x / 0.02, 1)),
        chainer_(port(0.02001)),
        chainer_(port(0.02)),
        x,
    )


@attack(EPSILON, "pi with five digits, times a large count")
def pi() -> Case:
    x = np.arange(1, 31).reshape(6, 5).astype(np.float32)

    def port(pi):
        return lambda x: x * np.float32(pi)

    return Case(torch_(lambda x: x * torch.pi), numpy_(port(3.1415)), numpy_(port(np.pi)), x)


@attack(EPSILON, "degrees to radians with 57.3")
def degrees() -> Case:
    x = 90 * X
    return Case(
        torch_(lambda x: torch.sin(torch.deg2rad(x))),
        tf_(lambda x: tf.sin(x / 57.3)),
        tf_(lambda x: tf.sin(x * np.float32(np.pi / 180))),
        x,
    )
