"""What random mutations found, as small models: mostly correct pairs that were alarms."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as functional

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, numpy_, tf_, torch_, weights
from benchmarks.attacks.heads import F, W, X

RULE = "found-by-mutations"


@attack(RULE, "the larger of x and leaky(x): the product with the slope is taken for leaky(x)", 2)
def maximum_of_leaky() -> Case:
    def reference(x):
        h = tf.where(x > 0, x, x * 0.117)
        m = tf.maximum(x, h)
        return {"m": m, "y": tf.matmul(tf.where(m > 0.161, m, m * 0.536) * m, W)}

    def port(slope):
        def model(x):
            m = torch.maximum(x, functional.leaky_relu(x, slope))
            y = torch.where(m > 0.161, m, m * 0.536) * m
            return {"m": m, "y": y @ torch.from_numpy(W)}

        return model

    return Case(tf_(reference), torch_(port(0.118)), torch_(port(0.117)), X)


@attack(RULE, "a norm of what is normalised already: its variance is nearly one", 2)
def normalised_twice() -> Case:
    gain, bias = normal(5, seed=1), normal(5, seed=2)

    def reference(x):
        c = x - tf.reduce_mean(x, 1, keepdims=True)
        z = c / (tf.sqrt(tf.reduce_mean(c * c, 1, keepdims=True)) + 2.35e-8)
        d = z - tf.reduce_mean(z, 1, keepdims=True)
        spread = tf.sqrt(tf.reduce_mean(d * d, 1, keepdims=True) + 4.77e-6)
        return tf.nn.silu(d / spread * gain + bias + 1.69)

    def port(epsilon):
        def model(x):
            c = x - x.mean(1, keepdim=True)
            z = c / ((c * c).mean(1, keepdim=True).sqrt() + 2.35e-8)
            g, b = torch.from_numpy(gain), torch.from_numpy(bias)
            return functional.silu(functional.layer_norm(z, (5,), g, b, epsilon) + 1.69)

        return model

    return Case(tf_(reference), torch_(port(1e-5)), torch_(port(4.77e-6)), X)


@attack(RULE, "one probability of many is off by 4e-5", 2)
def one_probability() -> Case:
    x = normal(6, 3, 4)

    def port(off):
        factor = np.ones((6, 3, 4), np.float32)
        factor[5, 1, 3] += np.float32(off)

        def model(x):
            return 0.204 * tf.nn.softmax(x, 1) * factor + 0.796 * x

        return model

    def reference(x):
        return 0.204 * torch.softmax(x, 1) + 0.796 * x

    return Case(torch_(reference), tf_(port(4e-5)), tf_(port(0)), x)


def _clips(low, high):
    """A clip between two layers, written in four ways."""
    v = weights(4, 3, seed=1)
    return {
        "torch": torch_(
            lambda x: torch.clamp(x @ torch.from_numpy(W), low, high) @ torch.from_numpy(v)
        ),
        "tf-clip": tf_(lambda x: tf.matmul(tf.clip_by_value(tf.matmul(x, W), low, high), v)),
        "tf-two": tf_(lambda x: tf.matmul(tf.minimum(tf.maximum(tf.matmul(x, W), low), high), v)),
        "chainer": chainer_(lambda x: F.matmul(F.clip(F.matmul(x, W), low, high), v)),
        "numpy": numpy_(lambda x: np.clip(x @ W, low, high) @ v),
    }


@attack(
    RULE,
    "a clip whose upper bound cuts nothing off, and whose lower one is float64 in one model alone",
    2,
    {
        f"{reference}-{candidate}": (reference, candidate)
        for reference, candidate in (
            *(("torch", "tf-clip"), ("torch", "tf-two"), ("numpy", "tf-clip")),
            *(("chainer", "tf-two"), ("torch", "chainer")),
        )
    },
)
def bounds(reference, candidate) -> Case:
    right, wrong = _clips(-0.764, 9.8563), _clips(-0.7641, 9.8563)
    return Case(right[reference], wrong[candidate], right[candidate], 2 * X)


@attack(
    RULE,
    "an ELU written as exp - 1 of what is clipped at zero, of negative numbers",
    2,
    {"0.367": (0.367,), "0.52": (0.52,), "1.7": (1.7,)},
)
def written_elu(alpha) -> Case:
    def port(alpha):
        def model(x):
            h = -torch.nn.functional.silu(x @ torch.from_numpy(W)).abs()
            low = alpha * (torch.exp(torch.clamp(h, max=0.0)) - 1)
            return torch.where(h > 0, h, low).sum(1)

        return model

    def reference(x):
        h = -tf.abs(tf.nn.silu(tf.matmul(x, W)))
        return tf.reduce_sum(tf.where(h > 0, h, alpha * tf.math.expm1(h)), 1)

    return Case(tf_(reference), torch_(port(alpha + 1e-3)), torch_(port(alpha)), X)
