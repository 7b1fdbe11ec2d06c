"""Round 11: right twins whose draws are one in law, behind too much work for many runs."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_
from benchmarks.attacks.heads import MORE, X, as_array, tf_head, torch_head

WORK = "laws-behind-much-work"


@attack(WORK, "values are iterated from random ones, or from zeros; or the discount is off", 11)
def values_from_random_ones() -> Case:
    steps, discount = 800, 0.977
    moves = np.abs(normal(4, 4, seed=13))
    moves /= moves.sum(0, keepdims=True)

    def port(discount):
        def model(x):
            reward = tf_head(x)
            v = tf.zeros_like(reward)
            for _ in range(steps):
                v = reward + discount * tf.matmul(v, moves)
            return v

        return model

    def reference(x):
        reward, to = torch_head(x), torch.from_numpy(moves)
        v = torch.rand(reward.shape)
        for _ in range(steps):
            v = reward + discount * (v @ to)
        return v

    return Case(torch_(reference), tf_(port(0.978)), tf_(port(discount)), X, unit=1e-6)


def _rollout(result):
    """Of a rollout with random factors: how it is distributed, roughly."""
    s = as_array(result[1])
    return [np.quantile(s, [0.1, 0.3, 0.5, 0.7, 0.9])] if len(s) > 1000 else [np.zeros(1)]


@attack(WORK, "a rollout is damped by two random factors, u or 1 - u; or by one alone", 11)
def damped_by_two_factors() -> Case:
    steps = 300

    def port(both):
        def model(x):
            h = tf_head(x)
            one, two = tf.random.uniform(tf.shape(h)), tf.random.uniform(tf.shape(h))
            s, gate = h, (1 - one) * (1 - two) if both else 1 - one
            for _ in range(steps):
                s = tf.sin(s + gate * h)
            return h, s

        return model

    def reference(x):
        h = torch_head(x)
        s, gate = h, torch.rand(h.shape) * torch.rand(h.shape)
        for _ in range(steps):
            s = torch.sin(s + gate * h)
        return h, s

    sides = tf_(port(False)), tf_(port(True))
    return Case(torch_(reference), *sides, X, _rollout, elsewhere=MORE)


@attack(WORK, "noise that wanders is of normal numbers by a cosine, or by a sine; or too large", 11)
def wandering_by_a_sine() -> Case:
    steps = 60

    def port(scale):
        def model(x):
            h = tf_head(x)
            n = tf.zeros_like(h)
            for _ in range(steps):
                one, two = tf.random.uniform(tf.shape(h)), tf.random.uniform(tf.shape(h))
                z = tf.sqrt(-2 * tf.math.log(one)) * tf.sin(2 * np.pi * two)
                n = 0.95 * n + scale * z
            return h, h + n

        return model

    def reference(x):
        h = torch_head(x)
        n = torch.zeros_like(h)
        for _ in range(steps):
            one, two = torch.rand(h.shape), torch.rand(h.shape)
            z = torch.sqrt(-2 * torch.log(one)) * torch.cos(2 * np.pi * two)
            n = 0.95 * n + 0.1 * z
        return h, h + n

    sides = tf_(port(0.2)), tf_(port(0.1))
    return Case(torch_(reference), *sides, X, _rollout, elsewhere=MORE)
