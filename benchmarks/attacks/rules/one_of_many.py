"""One element, sample, step or pixel of very many that is off."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform, weights

RULE = "one-of-many"


@attack(
    RULE,
    "one output of very many is off",
    variants={
        "million-2e-4": (1000, 1000, 2e-4),
        "million-2e-5": (1000, 1000, 2e-5),
        "ten-thousand-1e-5": (100, 100, 1e-5),
    },
)
def one_output(rows, columns, off) -> Case:
    x = uniform(rows, columns, low=0.5, high=1.5)
    factor = np.ones((rows, columns), np.float32)
    factor[rows // 3, columns // 7] += np.float32(off)

    return Case(
        torch_(lambda x: torch.sqrt(x)),
        tf_(lambda x: tf.sqrt(x) * factor),
        tf_(lambda x: tf.sqrt(x)),
        x,
    )


@attack(
    RULE,
    "one sample of very many is off",
    variants={"thousand-5e-6": (1000, 5e-6), "five-thousand-1e-4": (5000, 1e-4)},
)
def one_sample(count, off) -> Case:
    w = weights(6, 4)
    x = normal(count, 6)

    def port(off):
        def model(x):
            h = np.tanh(x @ w)
            h[count // 2] *= x.dtype.type(1 + off)
            return h

        return model

    def reference(x):
        return torch.tanh(x @ torch.from_numpy(w))

    return Case(torch_(reference), numpy_(port(off)), numpy_(port(0)), x)


@attack(RULE, "the last step of a long sequence")
def last_step() -> Case:
    x = normal(3, 2000, 2)

    def port(slope):
        def model(x):
            tail = tf.maximum(x[:, -1:], slope * x[:, -1:])
            return tf.concat([tf.maximum(x[:, :-1], 0.01 * x[:, :-1]), tail], 1)

        return model

    def reference(x):
        return torch.nn.functional.leaky_relu(x, 0.01)

    return Case(torch_(reference), tf_(port(0.0101)), tf_(port(0.01)), x)


@attack(RULE, "one weight of a wide layer, one of whose outputs reads it")
def one_weight() -> Case:
    w = weights(64, 900)
    wrong = w.copy()
    wrong[3, 500] += np.float32(2e-5)
    layer = torch.nn.Linear(64, 900, bias=False)
    layer.weight.data = torch.from_numpy(w.T.copy())
    x = normal(4, 64)
    return Case(
        torch_(layer), tf_(lambda x: tf.matmul(x, wrong)), tf_(lambda x: tf.matmul(x, w)), x
    )


@attack(RULE, "one row of a large embedding, which one index reads")
def one_embedding_row() -> Case:
    table = normal(3000, 8)
    wrong = table.copy()
    wrong[1234] *= np.float32(1.00002)
    index = (np.arange(4000) * 7) % 3000

    return Case(
        torch_(lambda i: torch.from_numpy(table)[i]),
        tf_(lambda i: tf.gather(wrong, i)),
        tf_(lambda i: tf.gather(table, i)),
        index,
    )


@attack(RULE, "the corner pixel of a padded image")
def corner_pixel() -> Case:
    kernel = normal(3, 3, 1, 1, scale=0.3)
    x = uniform(2, 1, 60, 60, low=0.5)

    def reference(x):
        w = torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy())
        return torch.nn.functional.conv2d(x, w, padding=1)[:, 0]

    def port(off):
        corner = np.ones((60, 60), np.float32)
        corner[59, 59] += np.float32(off)

        def model(x):
            y = tf.nn.conv2d(tf.transpose(x, (0, 2, 3, 1)), kernel, 1, "SAME")[..., 0]
            return y * corner

        return model

    return Case(torch_(reference), tf_(port(3e-5)), tf_(port(0)), x)


@attack(RULE, "a bias that is missing in the one channel where it is small")
def one_small_bias() -> Case:
    w = weights(16, 512)
    bias = normal(512, seed=3)
    bias[77] = 2e-5
    wrong = bias.copy()
    wrong[77] = 0
    x = normal(8, 16)

    def reference(x):
        return x @ torch.from_numpy(w) + torch.from_numpy(bias)

    def port(bias):
        return lambda x: tf.matmul(x, w) + bias

    return Case(torch_(reference), tf_(port(wrong)), tf_(port(bias)), x)


@attack(RULE, "one of many heads has another temperature, by 2e-5")
def one_head() -> Case:
    x = normal(2, 64, 8, 8)

    def port(off):
        scale = np.ones((64, 1, 1), np.float32)
        scale[40] += np.float32(off)
        return lambda x: tf.nn.softmax(x * scale)

    return Case(torch_(lambda x: torch.softmax(x, -1)), tf_(port(4e-5)), tf_(port(0)), x)


@attack(RULE, "two neighbours of a long vector exchanged that are nearly equal")
def exchanged_neighbours() -> Case:
    x = uniform(1, 30000, low=0.5, high=1.5)
    x[0, 101] = x[0, 100] * np.float32(1.0001)
    order = np.arange(30000)
    order[[100, 101]] = order[[101, 100]]
    return Case(
        torch_(lambda x: torch.log(x)),
        tf_(lambda x: tf.gather(tf.math.log(x), order, axis=1)),
        tf_(lambda x: tf.math.log(x)),
        x,
    )


@attack(RULE, "a mask hides 1,000 tokens; it forgets one, whose weight is 1e-5")
def forgotten_token() -> Case:
    x = normal(2, 1200)
    x[:, 650] = -6
    hidden = np.zeros(1200, bool)
    hidden[600:] = True
    wrong = hidden.copy()
    wrong[650] = False

    def reference(x):
        return torch.softmax(x.masked_fill(torch.from_numpy(hidden), float("-inf")), 1)

    def port(hidden):
        return lambda x: tf.nn.softmax(tf.where(hidden, -np.inf, x))

    return Case(torch_(reference), tf_(port(wrong)), tf_(port(hidden)), x)
