"""Large finite numbers that are taken for masks, and masks that hide other elements."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform, weights

RULE = "mask-sentinels"


@attack(
    RULE,
    "a cap on large numbers is another one",
    variants={"1e8-5e8": (1e8, 5e8), "3e7-9e7": (3e7, 9e7), "2e9-4e9": (2e9, 4e9)},
)
def cap(low, high) -> Case:
    x = normal(6, 5)
    x[1, 2] = x[4, 0] = 60

    def reference(x):
        return torch.clamp(torch.exp(x), max=low)

    def port(most):
        return lambda x: tf.minimum(tf.exp(x), most)

    return Case(torch_(reference), tf_(port(high)), tf_(port(low)), x)


@attack(RULE, "timestamps are a day apart, beside features of size one")
def a_day_apart() -> Case:
    x = normal(6, 5)
    x[:, 0] = 1.7e9

    def port(later):
        return lambda x: tf.concat([x[:, :1] + later, tf.tanh(x[:, 1:])], 1)

    def reference(x):
        return torch.cat([x[:, :1] + 0.0, torch.tanh(x[:, 1:])], 1)

    return Case(torch_(reference), tf_(port(86400.0)), tf_(port(0.0)), x)


@attack(RULE, "the total assets of a table are off by 0.8%, the ratios beside them are not")
def assets() -> Case:
    x = uniform(8, 4)

    def port(rate):
        def model(x):
            total = np.full((8, 1), 6.02e8, np.float32) * np.float32(rate)
            return np.concatenate([total + x[:, :1], np.tanh(x)], 1).astype(np.float32)

        return model

    def reference(x):
        total = torch.full((8, 1), 6.02e8)
        return torch.cat([total + x[:, :1], torch.tanh(x)], 1)

    return Case(torch_(reference), numpy_(port(1.008)), numpy_(port(1.0)), x)


@attack(RULE, "an id as a float: 20,000,001 against 20,000,101")
def ids() -> Case:
    x = normal(6, 3)
    known = np.arange(20_000_000, 20_000_600, 100).astype(np.float32)[:, None]

    def port(shift):
        return lambda x: tf.concat([tf.tanh(x), tf.constant(known + shift)], 1)

    def reference(x):
        return torch.cat([torch.tanh(x), torch.from_numpy(known)], 1)

    return Case(torch_(reference), tf_(port(np.float32(100))), tf_(port(np.float32(0))), x)


@attack(RULE, "the large number carries a sign that is compared, but not its size")
def sizes_of_one_sign() -> Case:
    x = normal(6, 4)

    def port(size):
        return lambda x: tf.where(x > 1.0, size, tf.tanh(x))

    def reference(x):
        return torch.where(x > 1.0, torch.tensor(5e7), torch.tanh(x))

    return Case(torch_(reference), tf_(port(8e7)), tf_(port(5e7)), x)


@attack(RULE, "a mask of -2e7 is not low enough for logits that are as low: it lets one through")
def mask_not_low_enough() -> Case:
    x = normal(4, 5)
    x[0] = [-3e7, -3.1e7, -3.2e7, -3.3e7, -3.4e7]
    legal = np.array([1, 0, 1, 1, 0], bool)

    def port(fill):
        return lambda x: tf.nn.softmax(tf.where(legal, x, fill))

    def reference(x):
        return torch.softmax(x.masked_fill(~torch.from_numpy(legal), -1e9), -1)

    return Case(torch_(reference), tf_(port(-2e7)), tf_(port(-1e9)), x)


@attack(RULE, "large numbers alike within 1%: a reward of 1e8 that is doubled by a bug is a mask")
def doubled_reward() -> Case:
    x = normal(5, 4)
    x[3, 3] = 1e8

    def port(factor):
        return lambda x: np.where(np.abs(x) > 1e6, x * np.float32(factor), np.tanh(x))

    def reference(x):
        return torch.where(x.abs() > 1e6, x, torch.tanh(x))

    return Case(torch_(reference), numpy_(port(2)), numpy_(port(1)), x)


@attack(RULE, "nanoseconds between events, one of them counted twice")
def nanoseconds() -> Case:
    x = uniform(6, 3)
    x[2, 1] = 3.6e12

    def port(factor):
        def model(x):
            return tf.where(x > 1e9, x * factor, x)

        return model

    return Case(torch_(lambda x: x * 1.0), tf_(port(1.5)), tf_(port(1.0)), x)


@attack(RULE, "hidden units overflow a clip at 1e8 in one model, 2e8 in the other, and are read")
def clipped_hidden() -> Case:
    w, v = weights(4, 6), np.float32(2e-9) * weights(6, 3, seed=1)
    x = normal(5, 4)
    x[1] = 200 * w[:, 2]

    def reference(x):
        h = torch.clamp(torch.exp(x @ torch.from_numpy(w)), max=1e8)
        return torch.tanh(h @ torch.from_numpy(v))

    def port(most):
        return lambda x: tf.tanh(tf.minimum(tf.exp(x @ w), most) @ v)

    return Case(torch_(reference), tf_(port(2e8)), tf_(port(1e8)), x)


@attack(RULE, "the padding id of a float table is 1e9 in both, its neighbour is not padding")
def padding_id() -> Case:
    x = normal(6, 4)
    x[0, 0] = 1e9

    def port(other):
        return lambda x: tf.where(x > 0.9e9, other, x)

    return Case(torch_(lambda x: x + 0.0), tf_(port(1.4e9)), tf_(port(1e9)), x)
