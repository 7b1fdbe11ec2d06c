"""Round 5: what the checks on precision, on kernels and on masks' constants do not look at."""

from __future__ import annotations

import itertools

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
    weights,
)
from benchmarks.attacks.heads import X, chainer, tf_head, torch_head

WHOLE = "whole-numbers-in-regimes"
SMALL = "regimes-of-little"
KERNEL = "kernels-and-their-buffers"
MASK = "constants-like-masks"
WIDE = "float64-that-is-none"


# --- whole numbers --------------------------------------------------------------------------------


@attack(WHOLE, "bins of a map are floats in one model; the other absorbs them in a far origin", 5)
def bins_as_floats() -> Case:
    def port(origin):
        def model(x):
            return tf.cast(tf.floor((x + origin) * 100), tf.int64) - int(100 * origin)

        return model

    def reference(x):
        return torch.floor(x * 100)

    return Case(torch_(reference), tf_(port(65536.0)), tf_(port(0.0)), X)


@attack(
    WHOLE, "bins of 0.1 s on a clock of hours: rounding moves some by one, the port by several", 5
)
def bins_of_large_numbers() -> Case:
    x = uniform(8, 5, low=2e4, high=9e4)

    def port(epoch):
        def model(x):
            return tf.cast(tf.floor((x + epoch) * 10), tf.int64) - int(10 * epoch)

        return model

    def reference(x):
        return torch.floor(x * 10).to(torch.int64)

    return Case(torch_(reference), tf_(port(2.0**24)), tf_(port(0.0)), x)


@attack(WHOLE, "a flag is a boolean in one model and 0 or 1 in the other, of what was absorbed", 5)
def flag_as_number() -> Case:
    x = np.random.default_rng(0).uniform(0, 120, (6, 5)).astype(np.float32)

    def port(start):
        def model(x):
            return {"q": tf_head(x / 60), "done": tf.cast((x + start) - start > 100, tf.float32)}

        return model

    def reference(x):
        return {"q": torch_head(x / 60), "done": x > 100}

    return Case(torch_(reference), tf_(port(1.7e9)), tf_(port(0.0)), x)


# --- less than the check looks at -----------------------------------------------------------------


@attack(SMALL, "an offset leaves two digits of each number, which is within 1% of what is usual", 5)
def absorbed_to_a_percent() -> Case:
    def port(by):
        return lambda x: (torch_head(x) + by) - by

    return Case(tf_(tf_head), torch_(port(1e5)), torch_(port(0.0)), X)


@attack(SMALL, "an epsilon of the dtype takes 1% off what is small beside other columns", 5)
def epsilon_beside_others() -> Case:
    x = uniform(6, 5, low=0.5, high=2.0)
    x[:, 1] = 1e-5

    def port(times):
        def model(x):
            return x / (x.sum(1, keepdims=True) + times * np.finfo(x.dtype).eps)

        return model

    def reference(x):
        return x / x.sum(1, keepdim=True)

    return Case(torch_(reference), numpy_(port(4e5)), numpy_(port(0)), x)


@attack(SMALL, "the small probabilities of a row are lost where 1 absorbs them", 5)
def absorbed_tail() -> Case:
    x = 6 * normal(6, 8)

    def port(by):
        return lambda x: (torch.softmax(x, 1) + by) - by

    return Case(tf_(tf.nn.softmax), torch_(port(256.0)), torch_(port(0.0)), x)


# --- kernels --------------------------------------------------------------------------------------


def _gelu(x, fast):
    """A GELU, in float32 by its approximation with tanh if it is a fast one."""
    wide = x.astype(np.float64)
    if fast and x.dtype == np.float32:
        inner = np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3))
    else:
        inner = torch.erf(torch.from_numpy(wide / np.sqrt(2))).numpy()
    return (0.5 * wide * (1 + inner)).astype(x.dtype)


class _Buffered:
    """A NumPy port that writes into an array of its own, and returns that."""

    def __init__(self, fast):
        self.fast, self.out = fast, np.empty((6, 5))

    def __call__(self, x):
        self.out[...] = _gelu(x, self.fast)
        return self.out


@attack(KERNEL, "a NumPy port returns the array that it reuses, and approximates in float32", 5)
def reused_array() -> Case:
    def reference(x):
        return torch.nn.functional.gelu(x)

    # 1 + erf cancels below zero, in one kernel and not in the other
    faulty, twin = numpy_(_Buffered(True)), numpy_(_Buffered(False))
    return Case(torch_(reference), faulty, twin, X, unit=2.0**-23)


class _BufferedGelu(chainer.FunctionNode):
    """A Chainer function that writes into arrays which it keeps for the next call."""

    buffers: dict = {}

    def __init__(self, fast):
        self.fast = fast

    def forward(self, inputs):
        (x,) = inputs
        out = self.buffers.setdefault((x.dtype, self.fast), np.empty_like(x))
        out[...] = _gelu(x, self.fast)
        return (out,)


@attack(KERNEL, "a Chainer function returns an array that it reuses, and approximates", 5)
def reused_by_a_function() -> Case:
    def port(fast):
        return lambda x: _BufferedGelu(fast).apply((x,))[0] * 1.0

    def reference(x):
        return torch.nn.functional.gelu(x)

    # 1 + erf cancels below zero, in one kernel and not in the other
    faulty, twin = chainer_(port(True)), chainer_(port(False))
    return Case(torch_(reference), faulty, twin, X, unit=2.0**-23)


class _Softmax(chainer.FunctionNode):
    """A softmax that drops in float32 what is below a bound."""

    def __init__(self, bound):
        self.bound = bound

    def forward(self, inputs):
        (x,) = inputs
        e = np.exp(x - x.max(1, keepdims=True))
        p = e / e.sum(1, keepdims=True)
        return (np.where(p < self.bound, 0, p).astype(x.dtype) if x.dtype == np.float32 else p,)


@attack(KERNEL, "a softmax of the user's own drops small probabilities, in float32 alone", 5)
def dropped_tail() -> Case:
    x = 6 * normal(6, 8)

    def port(bound):
        return lambda x: _Softmax(bound).apply((x,))[0] * 1.0

    faulty, twin = chainer_(port(1e-7)), chainer_(port(0.0))
    return Case(torch_(lambda x: torch.softmax(x, 1)), faulty, twin, x)


class _ByItsInput(chainer.FunctionNode):
    """A table of embeddings that is looked up in half precision."""

    def __init__(self, table):
        self.table = table

    def forward(self, inputs):
        return (self.table[inputs[0]].astype(np.float32),)


@attack(KERNEL, "a function of the user's own takes integers, and holds a table in float16", 5)
def table_of_a_function() -> Case:
    table, rows = normal(9, 4), np.random.default_rng(0).integers(0, 9, (6, 5))

    def port(kind):
        return lambda rows: _ByItsInput(table.astype(kind)).apply((rows,))[0] * 1.0

    def reference(rows):
        return torch.nn.functional.embedding(rows, torch.from_numpy(table))

    sides = (chainer_(port(kind)) for kind in (np.float16, np.float32))
    return Case(torch_(reference), *sides, rows)


# --- constants that look like masks' --------------------------------------------------------------


@attack(MASK, "a loss of 25 million of whole shares at whole prices is 31 million in the port", 5)
def whole_shares() -> Case:
    shares = np.random.default_rng(0).integers(1, 40, (6, 5)).astype(np.float32)
    shares[2, 3] = -25000

    def port(price):
        return lambda shares: shares * np.array([1, 3, 2, price, 7], np.float32)

    def reference(shares):
        return shares * torch.tensor([1.0, 3.0, 2.0, 1000.0, 7.0])

    def both(call, where):
        def model(shares):
            value = call(shares)
            return where(value < -1e6, value, shares / 7)

        return model

    sides = (tf_(both(port(price), tf.where)) for price in (1240.0, 1000.0))
    return Case(torch_(both(reference, torch.where)), *sides, shares, exact=True)


@attack(MASK, "a penalty of 20 million for each limit that is passed: one limit counts twice", 5)
def counted_penalties() -> Case:
    x = normal(6, 5)
    x[3] = [3.0, -1.5, 2.5, 0.2, 1.9]
    limits = np.array([1, 1, 1, 5, 1], np.float32)

    def port(counts):
        def model(x):
            passed = tf.reduce_sum(tf.cast(x > 3.5 - 2 * limits, tf.float32) * counts, 1)
            passed = tf.where(passed > 2.5, passed, 0.0)
            return tf.tanh(tf.reduce_sum(x, 1)) - 2e7 * passed

        return model

    def reference(x):
        passed = (x > 3.5 - 2 * torch.from_numpy(limits)).float()
        passed = (passed * torch.tensor([1.0, 1, 1, 0, 1])).sum(1)
        passed = torch.where(passed > 2.5, passed, 0.0)
        return torch.tanh(x.sum(1)) - 2e7 * passed

    faulty, twin = (tf_(port(np.array(one, np.float32))) for one in _COUNTS)
    return Case(torch_(reference), faulty, twin, x, exact=True)


_COUNTS = ([1, 1, 2, 0, 1], [1, 1, 1, 0, 1])


# --- no float64 where one is claimed --------------------------------------------------------------


def _layers():
    sizes = (48, *[32] * 7, 6)
    return [weights(a, b, seed=at) for at, (a, b) in enumerate(itertools.pairwise(sizes))]


@attack(WIDE, "a NumPy port takes pixels as integers, computes in float32, returns float64", 5)
def pixels_in_numpy() -> Case:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 48)).astype(np.uint8)

    def port(first):
        def model(pixels):
            h = pixels.astype(np.float32) / np.float32(255)
            for w in _layers():
                h = np.tanh(h @ w * np.float32(first))
            return h.astype(np.float64)

        return model

    def reference(pixels):
        h = pixels.float() / 255
        for w in _layers():
            h = torch.tanh(h @ torch.from_numpy(w) * 3)
        return h

    return Case(torch_(reference), numpy_(port(3.1)), numpy_(port(3)), pixels, unit=2.0**-15)


@attack(WIDE, "shares of whole counts less a third: torch divides integers in float32", 5)
def shares_of_counts() -> Case:
    counts = np.random.default_rng(0).integers(900, 1100, (6, 3))

    def port(third):
        def model(counts):
            return (counts / counts.sum(1, keepdims=True) - third).astype(np.float32)

        return model

    def reference(counts):
        return counts / counts.sum(1, keepdim=True) - 1 / 3

    return Case(torch_(reference), numpy_(port(0.333)), numpy_(port(1 / 3)), counts, unit=2.0**-18)


@attack(WIDE, "Python reads a count as an integer, and its reciprocal is a tensor in float32", 5)
def reciprocal_of_a_count() -> Case:
    def port(more):
        def model(x):
            count = int((x > 0).sum()) + more
            return torch_head(x) * torch.tensor(1.0 / count)

        return model

    def reference(x):
        return tf_head(x) / tf.reduce_sum(tf.cast(x > 0, tf.float32))

    return Case(tf_(reference), torch_(port(1)), torch_(port(0)), X)


@attack(WIDE, "a discount of float32 in a model in float64, to the power of a thousand steps", 5)
def discount_of_float32() -> Case:
    x = normal(6, 1000)

    class Discounted(torch.nn.Module):
        def __init__(self, discount):
            super().__init__()
            steps = torch.arange(1000, dtype=torch.float64)
            self.register_buffer("weights", float(discount) ** steps)

        def forward(self, x):
            return x * self.weights

    def reference(x):
        return x.astype(np.float64) * 0.999 ** np.arange(1000)

    sides = (torch_(Discounted(one), "float64") for one in (np.float32(0.999), 0.999))
    return Case(numpy_(reference), *sides, x)
