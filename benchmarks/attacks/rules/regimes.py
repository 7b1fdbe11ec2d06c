"""What float32 loses and float64 holds: a fault that hides beside rounding, overflow or a cast."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform, weights

RULE = "precision-regimes"
GRID = np.float32(2.0**-9)


def _far_from_zero(rows=6, columns=64):
    """Numbers near 1000 with a deviation of 2**-9, all of them exact in float32."""
    steps = np.random.default_rng(0).integers(-3, 4, (rows, columns))
    return (1024 + steps * GRID).astype(np.float32)


@attack(
    RULE,
    "a one-pass variance far from zero: beside its rounding a constant offset is no difference",
    variants={"offset-2": (2.0,), "offset-9": (9.0,)},
)
def one_pass_variance(offset) -> Case:
    x = _far_from_zero()

    def reference(x):
        return (x * x).mean(1) - x.mean(1) ** 2

    def port(extra):
        def variance(x):
            square = tf.reduce_mean(x * x, 1)
            return square - tf.reduce_mean(x, 1) ** 2 + extra

        return variance

    return Case(torch_(reference), tf_(port(offset)), tf_(port(0.0)), x)


@attack(RULE, "a fault of 3e-5 beside a number that overflows and is clipped")
def beside_overflow() -> Case:
    x = normal(6, 5)
    x[0, 0] = 100

    def reference(x):
        return torch.clamp(torch.exp(x), max=50.0)

    def port(factor):
        return lambda x: tf.minimum(tf.exp(x) * factor, 50.0)

    return Case(torch_(reference), tf_(port(1.00003)), tf_(port(1.0)), x)


@attack(RULE, "a sum overflows in one kernel and is a number in the other; the rest is off by 3e-5")
def beside_overflowing_norm() -> Case:
    x = normal(6, 5)
    x[3] = 3e19

    def reference(x):
        return x / (1 + (x * x).sum(1, keepdim=True).sqrt())

    def port(factor):
        def model(x):
            return factor * x / (1 + tf.sqrt(tf.reduce_sum(x * x, 1, keepdims=True)))

        return model

    return Case(torch_(reference), tf_(port(1.00003)), tf_(port(1.0)), x)


@attack(RULE, "half of the columns are ill-conditioned, the other half off by 2e-5")
def ill_beside_well() -> Case:
    x = np.concatenate([_far_from_zero(6, 4), normal(6, 4)], 1)

    def reference(x):
        ill = (x[:, :4] ** 2).sum(1, keepdim=True) - 4 * x[:, :4].mean(1, keepdim=True) ** 2
        return torch.cat([ill, torch.tanh(x[:, 4:])], 1)

    def port(factor):
        def model(x):
            ill = tf.reduce_sum(x[:, :4] ** 2, 1, keepdims=True)
            ill = ill - 4 * tf.reduce_mean(x[:, :4], 1, keepdims=True) ** 2
            return tf.concat([ill, factor * tf.tanh(x[:, 4:])], 1)

        return model

    return Case(torch_(reference), tf_(port(1.00002)), tf_(port(1.0)), x)


def _softplus(threshold):
    return lambda x: tf.where(x > threshold, x, tf.math.log1p(tf.exp(tf.minimum(x, threshold))))


@attack(RULE, "a softplus that goes over to the identity too early, at 9 instead of 20")
def softplus_threshold() -> Case:
    x = uniform(5, 6, low=8, high=14)
    return Case(
        torch_(lambda x: torch.nn.functional.softplus(x)),
        tf_(_softplus(9.0)),
        tf_(_softplus(20.0)),
        x,
    )


@attack(RULE, "an epsilon that follows the dtype: finfo of what is run, float64 in the replay")
def epsilon_of_the_dtype() -> Case:
    x = np.float32(1e-6) * normal(5, 8)

    def reference(x):
        return x / (x.std(1, keepdim=True, correction=0) + 1e-15)

    def wrong(x):
        return x / (x.std(1, keepdims=True) + np.finfo(x.dtype).eps)

    def right(x):
        return x / (x.std(1, keepdims=True) + x.dtype.type(1e-15))

    return Case(torch_(reference), numpy_(wrong), numpy_(right), x)


@attack(RULE, "RMSNorm without an epsilon takes that of the dtype; the port has float64's")
def rms_norm_without_epsilon() -> Case:
    x = np.float32(2e-4) * normal(5, 8)
    norm = torch.nn.RMSNorm(8)

    def port(epsilon):
        def model(x):
            return x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + epsilon)

        return model

    single = float(np.finfo(np.float32).eps)
    return Case(torch_(norm), tf_(port(1e-15)), tf_(port(single)), x)


@attack(RULE, "infinities become the largest number of the dtype, then are scaled and clipped")
def nan_to_num_largest() -> Case:
    x = normal(5, 4)
    x[2, 2] = np.inf

    def reference(x):
        return torch.log(torch.nan_to_num(x.abs()))

    def port(most):
        return lambda x: np.log(np.minimum(np.abs(x), x.dtype.type(most)))

    return Case(torch_(reference), numpy_(port(1e308)), numpy_(port(np.finfo(np.float32).max)), x)


@attack(RULE, "a NumPy port branches on the dtype that it gets")
def branch_on_dtype() -> Case:
    x = normal(6, 4)

    def wrong(x):
        h = np.tanh(x)
        if x.dtype == np.float32:  # a fast path for what the environment gives
            h = np.round(h * 1024) / np.float32(1024)
        return h

    return Case(torch_(lambda x: torch.tanh(x)), numpy_(wrong), numpy_(lambda x: np.tanh(x)), x)


@attack(RULE, "a fast inverse root by bits, on float32 only")
def inverse_root_by_bits() -> Case:
    x = uniform(6, 4, low=0.1, high=9)

    def wrong(x):
        if x.dtype != np.float32:
            return 1 / np.sqrt(x)
        y = (np.int32(0x5F3759DF) - (x.view(np.int32) >> 1)).view(np.float32)
        for _ in range(2):
            y = y * (np.float32(1.5) - np.float32(0.5) * x * y * y)
        return y

    return Case(
        torch_(lambda x: torch.rsqrt(x)), numpy_(wrong), numpy_(lambda x: 1 / np.sqrt(x)), x
    )


@attack(RULE, "log(sum(exp)) without the maximum overflows: the port clips it at 80")
def logsumexp_clipped() -> Case:
    x = 30 * normal(6, 5)
    x[1, 1] = 85

    def reference(x):
        return torch.logsumexp(x, 1)

    def wrong(x):
        return tf.math.log(tf.reduce_sum(tf.exp(tf.minimum(x, 80.0)), 1))

    def right(x):
        most = tf.reduce_max(x, 1, keepdims=True)
        return tf.math.log(tf.reduce_sum(tf.exp(x - most), 1)) + most[:, 0]

    return Case(torch_(reference), tf_(wrong), tf_(right), x)


@attack(RULE, "a cosine of large angles, whose phase is off by 1e-3, beside small angles")
def phase_of_large_angles() -> Case:
    angles = np.concatenate([uniform(6, 4, high=3), np.full((6, 1), 3e7, np.float32)], 1)

    def port(phase):
        return lambda x: tf.cos(x + tf.where(x < 10.0, phase, 0.0))

    return Case(torch_(lambda x: torch.cos(x)), tf_(port(2e-5)), tf_(port(0.0)), angles)


@attack(RULE, "a normalisation of tiny numbers: Keras' epsilon is added inside, the port's outside")
def epsilon_outside() -> Case:
    x = np.float32(1e-3) * normal(6, 8)
    norm = keras.layers.LayerNormalization(epsilon=1e-9)
    norm.build((None, 8))

    def port(outside):
        def model(x):
            centred = x - x.mean(1, keepdim=True)
            variance = centred.square().mean(1, keepdim=True)
            if outside:
                return centred / (variance.sqrt() + 1e-9)
            return centred * torch.rsqrt(variance + 1e-9)

        return model

    return Case(tf_(norm), torch_(port(True)), torch_(port(False)), x)


@attack(RULE, "a long sum in float32 is compensated in one model, the other forgets the last terms")
def forgotten_terms() -> Case:
    x = uniform(3, 4000, low=-1, high=1)
    x[:, 0] = 3e4

    def port(count):
        return lambda x: tf.reduce_sum(x[:, :count], 1)

    return Case(torch_(lambda x: x.sum(1)), tf_(port(3950)), tf_(port(4000)), x)


@attack(RULE, "one of two weights is exact zero in float32: the product underflows in both")
def underflow() -> Case:
    w = weights(4, 3)
    x = normal(5, 4)
    x[2] *= 1e-30

    def port(factor):
        return lambda x: tf.matmul(x * 1e-6, w) * factor

    return Case(
        torch_(lambda x: (x * 1e-6) @ torch.from_numpy(w)), tf_(port(1.00001)), tf_(port(1.0)), x
    )
