"""Round 2: faults that a large constant, a threshold or an absorbed number excuses."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform, weights
from benchmarks.attacks.heads import W, X

EXCUSED = "excused-by-constants"
EDGE = "edges-in-float32"
SLOW = "slow-changes"


@attack(
    EXCUSED,
    "observations are normalised and clipped: a large mean's rounding excuses a wrong deviation",
    2,
    {"numpy-1e-3": (numpy_, 1e-3), "tf-1e-3": (tf_, 1e-3), "tf-1e-4": (tf_, 1e-4)},
)
def normalised_observations(side, off) -> Case:
    mean = np.array([101325.37, 293.15, 1013.2, 54321.7], np.float32)
    std = np.array([12.5, 3.7, 1.1, 7.3], np.float32)
    x = (mean + std * np.round(32 * normal(7, 4)) / 32).astype(np.float32)

    def reference(x):
        return torch.clamp((x - torch.from_numpy(mean)) / torch.from_numpy(std), -10, 10)

    def port(off):
        spread = (std * (1 + off)).astype(np.float32)
        if side is numpy_:
            return numpy_(lambda x: np.clip((x - mean) / spread, -10, 10))
        return tf_(lambda x: tf.clip_by_value((x - mean) / spread, -10.0, 10.0))

    return Case(torch_(reference), port(off), port(0), x, exact=True)


@attack(EXCUSED, "a phase of 1,000 turns: its rounding excuses an amplitude that is off by 1e-4", 2)
def amplitude_behind_phase() -> Case:
    steps = np.arange(0, 64, dtype=np.float32)[:, None]

    def port(amplitude):
        def model(t):
            return np.float32(amplitude) * np.sin(t * np.float32(0.1) + np.float32(6283.1855))

        return model

    def reference(t):
        return torch.sin(t * np.float32(0.1) + 6283.1855)

    return Case(torch_(reference), numpy_(port(1.0005)), numpy_(port(1)), steps)


@attack(EXCUSED, "a gain of 4,000 before a sigmoid: what is not saturated is off by 2e-4", 2)
def steep_sigmoid() -> Case:
    x = np.where(normal(6, 5) > 0, 0.3, -0.3).astype(np.float32)
    x[2, 2], x[4, 1] = 0.0001, -0.0002

    def port(shift):
        return lambda x: tf.sigmoid(4123.457 * x + shift)

    return Case(
        torch_(lambda x: torch.sigmoid(4123.457 * x + 0.0)), tf_(port(2e-4)), tf_(port(0.0)), x
    )


@attack(EXCUSED, "a constant offset is added and taken off in one model alone, beside a fault", 2)
def offset_and_back() -> Case:
    def port(factor):
        def model(x):
            h = tf.tanh(tf.matmul(x, W))
            return tf.minimum(factor * h, 0.5) + (777.77 - 777.77)

        return model

    def reference(x):
        h = torch.tanh(x @ torch.from_numpy(W))
        return torch.clamp(h, max=0.5)

    return Case(torch_(reference), tf_(port(1.00001)), tf_(port(1.0)), X)


@attack(EXCUSED, "a bfloat16 table that one unit reads excuses what all others compute", 2)
def bfloat16_table() -> Case:
    table = torch.from_numpy(normal(5, seed=3)).bfloat16()

    def reference(x):
        return torch.sin(x) * 1.7 + table.float()

    held = table.float().numpy()

    def port(factor):
        kept = tf.cast(held, tf.bfloat16)
        return lambda x: tf.sin(x) * factor + tf.cast(kept, tf.float32)

    return Case(torch_(reference), tf_(port(1.7008)), tf_(port(1.7)), X)


@attack(EXCUSED, "a static output: one of the learned deviations is off", 2)
def static_output() -> Case:
    log_std = normal(4000, seed=5)
    wrong = log_std.copy()
    wrong[1234] += np.float32(1e-5)

    def reference(x):
        return {"mean": x @ torch.from_numpy(W), "std": torch.exp(torch.from_numpy(log_std))}

    def port(kept):
        return lambda x: {"mean": tf.matmul(x, W), "std": tf.exp(tf.constant(kept))}

    return Case(torch_(reference), tf_(port(wrong)), tf_(port(log_std)), X)


@attack(EXCUSED, "a static output of few distinct numbers: a mask of legal actions is another", 2)
def static_mask() -> Case:
    mask = np.array([1, 0, 1, 1], np.float32)

    def reference(x):
        return {"logits": x @ torch.from_numpy(W), "mask": torch.from_numpy(mask).clone()}

    def port(kept):
        return lambda x: {"logits": tf.matmul(x, W), "mask": tf.constant(kept)}

    return Case(torch_(reference), tf_(port(mask[::-1].copy())), tf_(port(mask)), X)


@attack(EDGE, "x > 0.1 against x >= 0.1 on steps of 0.1: 0.1 is another number in float64", 2)
def decimal_threshold() -> Case:
    x = (np.arange(12, dtype=np.float32) / np.float32(10)).reshape(3, 4)
    tenth = np.float32(0.1)

    return Case(
        torch_(lambda x: torch.where(x > 0.1, torch.tanh(x), -x)),
        tf_(lambda x: tf.where(x >= tenth, tf.tanh(x), -x)),
        tf_(lambda x: tf.where(x > tenth, tf.tanh(x), -x)),
        x,
        exact=True,
    )


@attack(EDGE, "a fully masked row: -1e9 absorbs the scores in float32, and not in float64", 2)
def absorbed_scores() -> Case:
    scores = np.round(8 * normal(4, 5)) / 8
    hidden = np.zeros((4, 5), bool)
    hidden[:, 3] = True
    hidden[2] = True
    bias = np.where(hidden, -1e9, 0).astype(np.float32)

    def reference(x):
        return torch.softmax(x + torch.from_numpy(bias), -1)

    def wrong(x):
        some = hidden & ~hidden.all(1, keepdims=True)
        return tf.nn.softmax(tf.where(some, -1e9, x))

    def right(x):
        return tf.nn.softmax(tf.where(hidden, -1e9, x))

    return Case(torch_(reference), tf_(wrong), tf_(right), scores.astype(np.float32), exact=True)


@attack(EDGE, "bins of a tenth: floor(10 * x) against floor(x / 0.1)", 2)
def bins() -> Case:
    x = (np.arange(20, dtype=np.float32) / np.float32(10)).reshape(4, 5)

    return Case(
        torch_(lambda x: torch.floor(x * 10)),
        numpy_(lambda x: np.floor(x / x.dtype.type(0.1) - x.dtype.type(1e-3))),
        tf_(lambda x: tf.floor(x * 10)),
        x,
        exact=True,
    )


@attack(EDGE, "the sign of zero: a mirrored action at 0 is 1 in one model, 0 in the other", 2)
def sign_of_zero() -> Case:
    x = np.round(X)
    return Case(
        torch_(lambda x: torch.sign(x) + torch.tanh(x)),
        numpy_(lambda x: np.where(x >= 0, 1, -1).astype(x.dtype) + np.tanh(x)),
        numpy_(lambda x: np.sign(x) + np.tanh(x)),
        x,
        exact=True,
    )


@attack(EDGE, "hysteresis: a value on the edge stays with its neighbour's side", 2)
def quantised_edge() -> Case:
    x = (np.arange(-8, 8) / 4).astype(np.float32).reshape(4, 4)
    return Case(
        torch_(lambda x: torch.round(x * 2) / 2),
        tf_(lambda x: tf.floor(x * 2 + 0.5) / 2),
        tf_(lambda x: tf.round(x * 2) / 2),
        x,
        exact=True,
    )


@attack(EDGE, "integers beyond 2**24 as floats: the last digit is a flag", 2)
def flag_in_the_last_digit() -> Case:
    x = (2**24 + np.arange(12).reshape(3, 4)).astype(np.int64)

    def port(shift):
        def model(n):
            return tf.cast((n + shift) % 2, tf.float32) * 2 + tf.cast(n % 7, tf.float32)

        return model

    def reference(n):
        return (n % 2).float() * 2 + (n % 7).float()

    return Case(torch_(reference), tf_(port(1)), tf_(port(0)), x)


@attack(SLOW, "one step later in a signal that changes slowly", 2, {"a": (2e-5,), "b": (4e-6,)})
def one_step_later(rate) -> Case:
    t = np.arange(40, dtype=np.float64)
    x = (1 + rate * t + 0 * normal(3, 1)).astype(np.float32) * uniform(3, 1, low=0.5, high=1.5)

    def port(shift):
        return lambda x: tf.tanh(x[:, 5 + shift : 35 + shift])

    return Case(torch_(lambda x: torch.tanh(x[:, 5:35])), tf_(port(1)), tf_(port(0)), x, exact=True)


@attack(SLOW, "an iteration that has nearly converged makes one step less", 2)
def one_iteration_less() -> Case:
    a = np.float32(0.25) * weights(5, 5, seed=7)

    def iterate(tanh, matmul, steps):
        def model(x):
            h = x
            for _ in range(steps):
                h = tanh(matmul(h, a) + x)
            return h

        return model

    def torch_matmul(h, a):
        return h @ torch.from_numpy(a)

    return Case(
        torch_(iterate(torch.tanh, torch_matmul, 9)),
        tf_(iterate(tf.tanh, tf.matmul, 8)),
        tf_(iterate(tf.tanh, tf.matmul, 9)),
        X,
    )


@attack(SLOW, "Sinkhorn's normalisation: 12 rounds instead of 13", 2)
def sinkhorn() -> Case:
    x = normal(2, 5, 5)

    def reference(x):
        p = torch.exp(x)
        for _ in range(13):
            p = p / p.sum(2, keepdim=True)
            p = p / p.sum(1, keepdim=True)
        return p

    def port(rounds):
        def model(x):
            p = tf.exp(x)
            for _ in range(rounds):
                p = p / tf.reduce_sum(p, 2, keepdims=True)
                p = p / tf.reduce_sum(p, 1, keepdims=True)
            return p

        return model

    return Case(torch_(reference), tf_(port(6)), tf_(port(13)), x)


@attack(SLOW, "twin critics that are nearly one: the first is returned twice", 2)
def twin_critics() -> Case:
    other = (W + np.float32(2e-5) * normal(5, 4, seed=8)).astype(np.float32)

    def reference(x):
        a, b = x @ torch.from_numpy(W), x @ torch.from_numpy(other)
        return {"q1": torch.tanh(a), "q2": torch.tanh(b)}

    def port(w):
        return lambda x: {"q1": tf.tanh(tf.matmul(x, W)), "q2": tf.tanh(tf.matmul(x, w))}

    return Case(torch_(reference), tf_(port(W)), tf_(port(other)), X)


@attack(SLOW, "the smaller of two critics: the larger, where both are nearly one", 2)
def smaller_critic() -> Case:
    other = (W + np.float32(3e-5) * normal(5, 4, seed=8)).astype(np.float32)

    def reference(x):
        return torch.minimum(x @ torch.from_numpy(W), x @ torch.from_numpy(other))

    def port(pick):
        return lambda x: pick(tf.matmul(x, W), tf.matmul(x, other))

    return Case(torch_(reference), tf_(port(tf.maximum)), tf_(port(tf.minimum)), X)


@attack(SLOW, "an exponential average with 0.99999 leaves out the newest sample", 2)
def slow_average() -> Case:
    x = normal(5, 30, 3)

    def reference(x):
        h = x[:, 0]
        for t in range(1, 30):
            h = 0.9999 * h + 0.0001 * x[:, t]
        return h

    def port(last):
        def model(x):
            h = x[:, 0]
            for t in range(1, last):
                h = 0.9999 * h + 0.0001 * x[:, t]
            return h

        return model

    return Case(torch_(reference), tf_(port(29)), tf_(port(30)), x)
