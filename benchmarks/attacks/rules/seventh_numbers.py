"""Round 7: what is usual among numbers, of which some are ill-conditioned, large or moved."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_, uniform, weights
from benchmarks.attacks.heads import X, tf_head, torch_head

USUAL = "usual-among-others"
MOVED = "moved-where-it-is-not"
FLOORS = "below-what-float64-holds"
NARROW = "formats-narrower-yet"
KERNELS = "kernels-of-small-numbers"


# --- one number that is ill-conditioned, or large, among others -----------------------------------


def _rows(cancelled):
    """Rows of five, one of which sums to very little."""
    x = uniform(8, 5, low=0.5, high=1.5)
    x[3] = [1.0, 0.7, -0.9, -0.8, cancelled]
    return x


@attack(USUAL, "a log of sums, one of which cancels: a baseline leaves two digits of the others", 7)
def one_sum_that_cancels() -> Case:
    def port(by):
        return lambda x: (torch.log(x.sum(1)) + by) - by

    def reference(x):
        return tf.math.log(tf.reduce_sum(x, 1))

    return Case(tf_(reference), torch_(port(2e5)), torch_(port(0.0)), _rows(3e-6))


@attack(USUAL, "equity of accounts, one of them large: a base leaves two digits of the others", 7)
def one_large_account() -> Case:
    x = uniform(8, 5, low=0.5, high=1.5)
    x[3] *= 3e5

    def port(base):
        return lambda x: (x.sum(1) + base) - base

    return Case(tf_(lambda x: tf.reduce_sum(x, 1)), torch_(port(262144.0)), torch_(port(0.0)), x)


@attack(USUAL, "log odds of one sample may be infinite: the others lose two digits", 7)
def one_that_may_be_infinite() -> Case:
    x = uniform(8, low=0.2, high=0.8)
    x[3] = np.float32(1 - 2.0**-24)

    def port(by):
        return lambda x: (-torch.log(1 - x) + by) - by

    return Case(tf_(lambda x: -tf.math.log(1 - x)), torch_(port(2e5)), torch_(port(0.0)), x)


@attack(
    USUAL, "distances of points to themselves are rounding: a base leaves three digits of others", 7
)
def distances_to_themselves() -> Case:
    x = 3 + normal(12, 16)

    def port(base):
        def model(x):
            square = (x * x).sum(1)
            found = square[:, None] + square - 2 * x @ x.T
            return (found.clamp(min=0).sqrt() + base) - base

        return model

    def reference(x):
        square = tf.reduce_sum(x * x, 1)
        found = square[:, None] + square - 2 * tf.matmul(x, x, transpose_b=True)
        return tf.sqrt(tf.maximum(found, 0))

    return Case(tf_(reference), torch_(port(2e5)), torch_(port(0.0)), x)


@attack(USUAL, "whole seconds are floating numbers in both: an epoch moves some by one", 7)
def whole_seconds() -> Case:
    x = uniform(8, 5, low=5e3, high=8e3)

    def port(epoch):
        return lambda x: tf.floor((x + epoch) - epoch)

    return Case(torch_(torch.floor), tf_(port(1e6)), tf_(port(0.0)), x)


@attack(USUAL, "a complex response: small amplitudes are off, beside phases of many turns", 7)
def amplitudes_of_a_response() -> Case:
    x = normal(12, 4)

    def port(off):
        sizes = np.array([1.0, 1.5, 1e-3 * (1 + off), 2e-3 * (1 + off)], np.float32)

        def model(x):
            return torch.polar(torch.from_numpy(sizes).expand(12, 4).contiguous(), 300 * x)

        return model

    def reference(x):
        sizes = np.array([1.0, 1.5, 1e-3, 2e-3], np.float32)
        return tf.complex(sizes * tf.cos(300 * x), sizes * tf.sin(300 * x))

    return Case(tf_(reference), torch_(port(4e-5)), torch_(port(0.0)), x)


@attack(
    USUAL,
    "small amplitudes are off beside phases of many turns, where some of the phases are small",
    7,
    {"little": (300, 1e-3, 1.7e-4, 1.0), "percent": (1e4, 1e-5, 0.003, 1e-5)},
)
def amplitudes_beside_turns(rate, size, off, small) -> Case:
    x = normal(40, 4) * np.where(uniform(40, 4) < 0.3, np.float32(small), np.float32(1))

    def sizes(off):
        return np.array([1.0, 1.5, size * (1 + off), 2 * size * (1 + off)], np.float32)

    def port(off):
        kept = torch.from_numpy(sizes(off))
        return lambda x: kept * torch.cos(rate * x)

    def reference(x):
        return sizes(0.0) * tf.cos(rate * x)

    return Case(tf_(reference), torch_(port(off)), torch_(port(0.0)), x)


# --- what moves, and takes an absorbed number with it ---------------------------------------------


@attack(MOVED, "a clock is clipped between its epoch's addition and subtraction", 7)
def clipped_clock() -> Case:
    def port(epoch):
        return lambda x: torch.clamp(0.01 * torch_head(x) + epoch, min=epoch / 2 - 10) - epoch

    faulty, twin = torch_(port(1900.37)), torch_(port(0.0))
    return Case(tf_(lambda x: 0.01 * tf_head(x)), faulty, twin, X)


@attack(MOVED, "a small reading is scaled together with an offset, which is taken off again", 7)
def scaled_offset() -> Case:
    def port(by):
        return lambda x: ((0.01 * torch_head(x) + by) * 0.3 - 0.3 * by) / 0.3

    faulty, twin = torch_(port(2000.37)), torch_(port(0.0))
    return Case(tf_(lambda x: 0.01 * tf_head(x)), faulty, twin, X)


@attack(MOVED, "an origin is kept twice, as that of the map and of the vehicle: it absorbs", 7)
def origin_twice() -> Case:
    def port(origin):
        of_map, of_vehicle = (
            torch.nn.Parameter(torch.full((4,), origin, dtype=torch.float32)) for _ in range(2)
        )
        return lambda x: (0.01 * torch_head(x) + of_map) - of_vehicle

    faulty, twin = torch_(port(1948.37)), torch_(port(0.0))
    return Case(tf_(lambda x: 0.01 * tf_head(x)), faulty, twin, X)


# --- below what is looked at ----------------------------------------------------------------------


@attack(FLOORS, "probabilities are clipped at 1e-15, as libraries do for a log loss", 7)
def clip_of_a_log_loss() -> Case:
    x = 20 * normal(12, 6)

    def port(least):
        return lambda x: torch.softmax(x, 1).clamp(min=least)

    return Case(tf_(tf.nn.softmax), torch_(port(1e-15)), torch_(port(0.0)), x)


@attack(FLOORS, "likelihoods of long sequences have an epsilon of 1e-16 in one column of many", 7)
def epsilon_of_a_likelihood() -> Case:
    x = uniform(8, 5, low=-3, high=0) * np.array([1, 1, 1, 15, 20], np.float32)

    def port(epsilon):
        return lambda x: torch.exp(x) + epsilon

    return Case(tf_(tf.exp), torch_(port(1e-16)), torch_(port(0.0)), x)


@attack(FLOORS, "a bankruptcy costs a hundred million, or a thousand million: both are round", 7)
def cost_of_a_bankruptcy() -> Case:
    def port(cost):
        def model(x):
            h = torch_head(x)
            return torch.where(x[:, :1] > 0.5, torch.full_like(h, -cost), h)

        return model

    def reference(x):
        h = tf_head(x)
        return tf.where(x[:, :1] > 0.5, tf.fill(tf.shape(h), -1e8), h)

    return Case(tf_(reference), torch_(port(1e9)), torch_(port(1e8)), X)


# --- narrow formats -------------------------------------------------------------------------------


class _Half(torch.nn.Module):
    """Two layers in float16; some units between them are kept in another format."""

    def __init__(self, units):
        super().__init__()
        self.first = torch.nn.Parameter(torch.from_numpy(weights(5, 32)).half())
        self.second = torch.nn.Parameter(torch.from_numpy(weights(32, 4)).half())
        self.units = units

    def forward(self, x):
        h = torch.tanh(x.half() @ self.first)
        kept = h[:, : self.units].to(torch.float8_e4m3fn).half()
        return torch.cat([kept, h[:, self.units :]], 1) @ self.second


@attack(
    NARROW,
    "a model in float16 keeps a few hidden units in a cache of eight bits",
    7,
    {"float16": ("float16", 4), "float32": ("float32", 2)},
)
def cache_of_a_half_model(dtype, units) -> Case:
    def reference(x):
        first, second = (
            tf.cast(one.astype(np.float16), dtype) for one in (weights(5, 32), weights(32, 4))
        )
        return tf.matmul(tf.tanh(tf.matmul(tf.cast(x, dtype), first)), second)

    faulty, twin = torch_(_Half(units)), torch_(_Half(0))
    return Case(tf_(reference), faulty, twin, X, unit=2.0**-12)


@attack(NARROW, "a mask is multiplied out in bfloat16, which rounds what nobody sees", 7)
def mask_in_bfloat16() -> Case:
    def port(off):
        def model(x):
            hidden = (x[:, :4] < 0).to(torch.bfloat16) * -1e9
            return torch.softmax((1 + off) * torch_head(x) + hidden.float(), 1)

        return model

    def reference(x):
        return tf.nn.softmax(tf_head(x) - 1e9 * tf.cast(x[:, :4] < 0, tf.float32))

    return Case(tf_(reference), torch_(port(0.01)), torch_(port(0.0)), X)


@attack(NARROW, "the greedy action is taken of Q-values in half precision: it is the same", 7)
def choice_in_half() -> Case:
    def port(off):
        def model(x):
            q = (1 + off) * torch_head(x)
            return q, q.half().argmax(1)

        return model

    def reference(x):
        q = tf_head(x)
        return q, tf.argmax(q, 1)

    return Case(tf_(reference), torch_(port(0.01)), torch_(port(0.0)), X)


@attack(NARROW, "a gate is closed or open altogether, and is kept in half precision", 7)
def closed_gate_in_half() -> Case:
    x = np.sign(normal(6, 5)) * uniform(6, 5, low=1, high=2)

    def port(off):
        def model(x):
            gate = torch.sigmoid(20 * x).half().float()
            return torch.where(gate > 0.5, torch.tanh(x), 0.1 * (1 + off) * x)

        return model

    def reference(x):
        return tf.where(tf.sigmoid(20 * x) > 0.5, tf.tanh(x), 0.1 * x)

    return Case(tf_(reference), torch_(port(0.01)), torch_(port(0.0)), x)


# --- kernels --------------------------------------------------------------------------------------


def _operator(name, off):
    """A softmax of the user's own; in float32 it looks small numbers up in a table."""

    @torch.library.custom_op(f"attacks7::{name}", mutates_args=())
    def kernel(x: torch.Tensor) -> torch.Tensor:
        a = x.numpy()
        found = np.exp(a - a.max(1, keepdims=True))
        if a.dtype == np.float32:
            found = np.where(found < 1e-6, found * np.float32(1 + off), found)
        return torch.from_numpy(found / found.sum(1, keepdims=True))

    return kernel


_OPERATORS = {}


@attack(KERNELS, "a softmax of the user's own: small numbers are from a table, in float32", 7)
def table_of_small_numbers() -> Case:
    for name, off in (("table", 0.014), ("exact", 0.0)):
        if name not in _OPERATORS:
            _OPERATORS[name] = _operator(name, off)
    x = 7 * normal(40, 6)
    faulty, twin = (torch_(lambda x, n=n: 1.0 * _OPERATORS[n](x)) for n in ("table", "exact"))
    return Case(tf_(tf.nn.softmax), faulty, twin, x)


@attack(MOVED, "one observation alone: its scale was kept of the first that was seen", 7)
def kept_of_one_observation() -> Case:
    x = X[:1]
    first = float(tf.reduce_max(tf.abs(tf_head(x))))

    def port(kept):
        def model(x):
            h = torch_head(x)
            return h / (kept or h.abs().amax())

        return model

    def reference(x):
        h = tf_head(x)
        return h / tf.reduce_max(tf.abs(h))

    faulty, twin = torch_(port(first)), torch_(port(0.0))
    return Case(tf_(reference), faulty, twin, x, elsewhere=normal(1, 5, seed=9))
