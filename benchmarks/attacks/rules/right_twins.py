"""Round 4: ports that are right, where a rule may take what they do for a fault."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform
from benchmarks.attacks.heads import W, X, tf_head, torch_head

RULE = "right-all-the-same"


@attack(RULE, "a clip by the norm is a branch in Python in one model, a minimum in the other", 4)
def clip_by_branch() -> Case:
    def reference(x):
        norm = x.square().sum().sqrt()
        if norm > 20:
            x = x * (20 / norm)
        return torch.tanh(x * 0.1) + 0.3

    def port(factor):
        def model(x):
            norm = tf.sqrt(tf.reduce_sum(tf.square(x)))
            return tf.tanh(x * (factor * tf.minimum(1.0, 20 / norm))) + 0.3

        return model

    return Case(torch_(reference), tf_(port(0.1001)), tf_(port(0.1)), X)


@attack(RULE, "a while loop in Python halves what is too large; nothing is, here", 4)
def halved_while_large() -> Case:
    def reference(x):
        while bool(x.abs().amax() > 8):
            x = x * 0.5
        return torch.tanh(x * 0.7) * 0.3

    def port(factor):
        def model(x):
            most = tf.reduce_max(tf.abs(x))
            times = tf.maximum(tf.math.ceil(tf.math.log(most / 8) / np.log(2.0)), 0.0)
            return tf.tanh(x * (0.7 * 0.5**times)) * factor

        return model

    return Case(torch_(reference), tf_(port(0.3003)), tf_(port(0.3)), X)


@attack(
    RULE,
    "a mask of 0 and 1 is kept in half precision, which is exact",
    4,
    {"float16": (torch.float16,), "bfloat16": (torch.bfloat16,)},
)
def mask_in_half(kind) -> Case:
    def port(factor):
        def model(x):
            mask = (x > 0).to(kind)
            return factor * torch_head(x * mask)

        return model

    def reference(x):
        return tf_head(tf.where(x > 0, x, tf.zeros_like(x)))

    return Case(tf_(reference), torch_(port(1.001)), torch_(port(1.0)), X)


@attack(RULE, "one-hot vectors are made in float16 and cast before the product", 4)
def one_hot_in_half() -> Case:
    index = np.array([3, 0, 4, 1, 2, 3])
    table = normal(5, 4)

    def port(factor):
        def model(index):
            chosen = tf.one_hot(index, 5, dtype=tf.float16)
            return factor * tf.matmul(tf.cast(chosen, tf.float32), table)

        return model

    def reference(index):
        return torch.nn.functional.embedding(index, torch.from_numpy(table))

    return Case(torch_(reference), tf_(port(1.001)), tf_(port(1.0)), index)


@attack(RULE, "whole numbers below 2,048 travel in float16", 4)
def counts_in_half() -> Case:
    counts = np.random.default_rng(0).integers(0, 2000, (6, 5))

    def port(factor):
        return lambda n: factor * torch_head(n.to(torch.float16).float() / 1000)

    def reference(n):
        return tf_head(tf.cast(n, tf.float32) / 1000)

    return Case(tf_(reference), torch_(port(1.001)), torch_(port(1.0)), counts)


@attack(RULE, "a NumPy port takes one of its columns through float32", 4)
def one_column_narrow() -> Case:
    def port(factor):
        def model(x):
            narrow = x.astype(np.float32)
            spread = (narrow * narrow).mean(1) - narrow.mean(1) ** 2
            h = np.tanh((x - 300) @ W)
            return np.concatenate([h, factor * spread[:, None]], 1).astype(x.dtype)

        return model

    def reference(x):
        return torch.cat([torch_head(x - 300), x.var(1, correction=0, keepdim=True)], 1)

    faulty, twin = numpy_(port(np.float32(1.5))), numpy_(port(np.float32(1)))
    return Case(torch_(reference), faulty, twin, X + 300)


@attack(RULE, "a NumPy port computes a spectrum in complex64, whatever it gets", 4)
def spectrum_in_complex64() -> Case:
    def port(factor):
        def model(x):
            z = np.fft.fft(x.astype(np.float32), axis=1)
            return (factor * z[:, 1:]).astype(np.complex64)

        return model

    def reference(x):
        return torch.fft.fft(x, dim=1)[:, 1:]

    faulty, twin = numpy_(port(np.float32(1.01))), numpy_(port(np.float32(1)))
    return Case(torch_(reference), faulty, twin, X + 300)


@attack(RULE, "probabilities that sum to 1 in float32 are normalised again", 4)
def normalised_again() -> Case:
    p = uniform(6, 5, low=0.1)
    p = p / p.sum(1, keepdims=True)

    def port(factor):
        def model(p):
            p = p / tf.reduce_sum(p, 1, keepdims=True)
            return tf.matmul(factor * p, W)

        return model

    def reference(p):
        return p @ torch.from_numpy(W)

    return Case(torch_(reference), tf_(port(1.0001)), tf_(port(1.0)), p)


@attack(RULE, "unit quaternions are brought to length 1 before a vector is turned", 4)
def unit_quaternions() -> Case:
    q = normal(6, 4)
    given = {"q": q / np.linalg.norm(q, axis=1, keepdims=True), "v": normal(6, 3, seed=1)}

    def reference(q, v):
        axis, w = q[:, :3], q[:, 3:]
        twice = 2 * torch.linalg.cross(axis, v)
        return v + w * twice + torch.linalg.cross(axis, twice)

    def port(factor):
        def model(q, v):
            q = q / tf.norm(q, axis=1, keepdims=True)
            axis, w = q[:, :3], q[:, 3:]
            twice = factor * tf.linalg.cross(axis, v)
            return v + w * twice + tf.linalg.cross(axis, twice)

        return model

    return Case(torch_(reference), tf_(port(2.001)), tf_(port(2.0)), given)


@attack(RULE, "a smooth step of numbers in [0, 1]: one model clips them first", 4)
def smooth_step() -> Case:
    x = uniform(6, 5, low=0.05, high=0.95)

    def reference(x):
        return 0.1 + 0.7 * x * x * (3 - 2 * x)

    def port(factor):
        def model(x):
            x = tf.clip_by_value(x, 0.0, 1.0)
            return 0.1 + factor * x * x * (3 - 2 * x)

        return model

    return Case(torch_(reference), tf_(port(0.7007)), tf_(port(0.7)), x)


@attack(RULE, "an angle in [0, 2 pi) is brought there once more", 4)
def wrapped_angle() -> Case:
    x = uniform(6, 5, low=0.1, high=6.2)

    def reference(x):
        return x * 0.3 + 0.1

    def port(factor):
        return lambda x: tf.math.floormod(x, 2 * np.pi) * factor + 0.1

    return Case(torch_(reference), tf_(port(0.3003)), tf_(port(0.3)), x)


@attack(RULE, "a table is looked up between its knots, or is the line that its knots lie on", 4)
def table_of_a_line() -> Case:
    x = uniform(6, 5, low=-2, high=2)
    knots = np.linspace(-3, 3, 13)

    def port(factor):
        return lambda x: np.interp(x, knots, 0.3 * factor * knots + 0.1)

    return Case(torch_(lambda x: 0.3 * x + 0.1), numpy_(port(1.001)), numpy_(port(1.0)), x)
