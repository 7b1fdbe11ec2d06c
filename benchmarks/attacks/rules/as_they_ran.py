"""Round 4: models that are one in float64 and two as they run, where no check looks at that."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, numpy_, tf_, torch_, weights
from benchmarks.attacks.heads import X, chainer, tf_head, torch_head

WHOLE = "whole-numbers-as-they-ran"
COMPLEX = "complex-as-it-ran"
BESIDE = "regimes-beside-others"
HALF = "half-precision-regimes"
KERNEL = "kernels-by-dtype"


# --- integers and booleans ------------------------------------------------------------------------


@attack(WHOLE, "bins of a map whose origin is far away: float32 has no hundredths there", 4)
def bins_far_away() -> Case:
    def port(origin):
        def model(x):
            return tf.cast(tf.floor((x + origin) * 100), tf.int64) - int(100 * origin)

        return model

    def reference(x):
        return torch.floor(x * 100).to(torch.int64)

    return Case(torch_(reference), tf_(port(65536.0)), tf_(port(0.0)), X)


@attack(
    WHOLE, "the greedy action of value plus advantage, where the value absorbs the advantage", 4
)
def greedy_behind_value() -> Case:
    x, v = normal(40, 5), weights(5, 6, seed=2)

    def port(value):
        def model(x):
            advantage = x @ torch.from_numpy(v)
            return (value + advantage).argmax(1)

        return model

    def reference(x):
        return tf.argmax(tf.matmul(x, v), 1)

    return Case(tf_(reference), torch_(port(4e6)), torch_(port(1.0)), x)


@attack(WHOLE, "an episode is done after 100 s: a clock in float32 goes in steps of 128 s", 4)
def done_by_the_clock() -> Case:
    x = np.random.default_rng(0).uniform(0, 120, (6, 5)).astype(np.float32)

    def port(start):
        def model(x):
            return {"q": tf_head(x / 60), "done": (x + start) - start > 100}

        return model

    def reference(x):
        return {"q": torch_head(x / 60), "done": x > 100}

    return Case(torch_(reference), tf_(port(1.7e9)), tf_(port(0.0)), x)


@attack(WHOLE, "the bucket of an id is its remainder, which is taken in float32", 4)
def bucket_by_float() -> Case:
    ids = np.random.default_rng(0).integers(1e8, 1e9, (6, 5))

    def port(kind):
        return lambda ids: tf.cast(tf.math.floormod(tf.cast(ids, kind), 97), tf.int64)

    return Case(torch_(lambda ids: ids % 97), tf_(port(tf.float32)), tf_(port(tf.int64)), ids)


# --- complex numbers ------------------------------------------------------------------------------


@attack(COMPLEX, "the real part of a response is what a large offset has left of it", 4)
def offset_of_a_response() -> Case:
    def port(offset):
        def model(x):
            h = torch_head(x)
            return torch.complex((h + offset) - offset, h * h)

        return model

    def reference(x):
        h = tf_head(x)
        return tf.complex(h, h * h)

    return Case(tf_(reference), torch_(port(3e6)), torch_(port(0.0)), X)


@attack(COMPLEX, "a NumPy port whitens a spectrum with an epsilon of the dtype", 4)
def whitened_spectrum() -> Case:
    def port(times):
        def model(x):
            z = np.fft.fft(x, axis=1)
            return z / (np.abs(z) + times * np.finfo(x.dtype).eps)

        return model

    def reference(x):
        z = torch.fft.fft(x, dim=1)
        return z / z.abs()

    return Case(torch_(reference), numpy_(port(1e3)), numpy_(port(0)), X)


# --- a regime beside something else ---------------------------------------------------------------


def _absorbed(h, by):
    return (h + by) - by


@attack(BESIDE, "an offset absorbs half of the digits beside columns that are ill-conditioned", 4)
def absorbed_beside_noisy() -> Case:
    def port(by):
        def model(x):
            return torch.cat([torch.cos(3e5 * x[:, :3]), _absorbed(torch_head(x), by)], 1)

        return model

    def reference(x):
        return tf.concat([tf.cos(3e5 * x[:, :3]), tf_head(x)], 1)

    return Case(tf_(reference), torch_(port(2e6)), torch_(port(0.0)), X)


@attack(BESIDE, "an offset absorbs all digits of shares beside a column of money", 4)
def absorbed_beside_large() -> Case:
    def port(by):
        def model(x):
            h = torch_head(x)
            return torch.cat([3000 * h[:, :1], _absorbed(h[:, 1:], by)], 1)

        return model

    def reference(x):
        h = tf_head(x)
        return tf.concat([3000 * h[:, :1], h[:, 1:]], 1)

    return Case(tf_(reference), torch_(port(8e6)), torch_(port(0.0)), X)


@attack(BESIDE, "an offset absorbs the Q-values of a model that also returns a noisy action", 4)
def absorbed_beside_draws() -> Case:
    def port(by):
        def model(x):
            h = torch_head(x)
            noise = torch.randn((6, 4), generator=torch.Generator().manual_seed(3))
            return {"q": _absorbed(h, by), "explore": h + 0.1 * noise}

        return model

    return Case(torch_(port(0.0)), torch_(port(3e6)), torch_(port(0.0)), X)


# --- half precision -------------------------------------------------------------------------------


class _RootMeanSquare(torch.nn.Module):
    """A norm in half precision, whose squares may be taken in float32."""

    def __init__(self, wide):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(5, dtype=torch.float16))
        self.wide = wide

    def forward(self, x):
        h = x.float() if self.wide else x
        return (h * torch.rsqrt((h * h).mean(1, keepdim=True) + 1e-5)).to(x.dtype) * self.gain


@attack(
    HALF, "an RMSNorm in float16: squares of what is beyond 256 are infinite, the row is zero", 4
)
def half_squares() -> Case:
    x = X * np.array([1, 1, 500, 1, 900, 1], np.float32)[:, None]

    def reference(x):
        return x * tf.math.rsqrt(tf.reduce_mean(x * x, 1, keepdims=True) + 1e-5)

    sides = (torch_(_RootMeanSquare(wide), "float16") for wide in (False, True))
    return Case(tf_(reference), *sides, x, unit=2.0**-9)


class _Rotary(torch.nn.Module):
    """Positions as angles, which may be made in float32."""

    def __init__(self, kind):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(1, dtype=torch.bfloat16))
        self.kind = kind

    def forward(self, x):
        at = torch.arange(x.shape[1], dtype=self.kind)[:, None]
        angle = at * torch.tensor([1.0, 0.25, 0.0625], dtype=self.kind)
        return x * torch.cos(angle).to(x.dtype) * self.gain


@attack(HALF, "positions in bfloat16: beyond 256 neighbours are one", 4)
def bfloat16_positions() -> Case:
    x = normal(2, 400, 3)

    def reference(x):
        angle = tf.range(400, dtype=tf.float32)[:, None] * tf.constant([1.0, 0.25, 0.0625])
        return x * tf.cos(angle)

    sides = (torch_(_Rotary(kind), "bfloat16") for kind in (torch.bfloat16, torch.float32))
    return Case(tf_(reference), *sides, x, unit=2.0**-7)


class _Counting(torch.nn.Module):
    """A count of positive rewards that is kept in `kind`, step by step."""

    def __init__(self, kind):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(1, dtype=torch.bfloat16))
        self.kind = kind

    def forward(self, x):
        count = torch.zeros(len(x), dtype=self.kind)
        for step in (x > -1).to(self.kind).unbind(1):
            count = count + step
        return (count / x.shape[1]).to(x.dtype) * self.gain


@attack(HALF, "a count that is kept in bfloat16 stops at 256", 4)
def bfloat16_count() -> Case:
    x = normal(5, 400) + normal(5, 1)

    def reference(x):
        return tf.reduce_sum(tf.cast(x > -1, tf.float32), 1) / 400

    sides = (torch_(_Counting(kind), "bfloat16") for kind in (torch.bfloat16, torch.float32))
    return Case(tf_(reference), *sides, x, unit=2.0**-8)


# --- kernels that are another function in another dtype -------------------------------------------


def _gelu(x, fast):
    """A GELU, in float32 by its approximation with tanh if it is a fast one."""
    wide = x.astype(np.float64)
    if fast and x.dtype == np.float32:
        inner = np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3))
    else:
        inner = torch.erf(torch.from_numpy(wide / np.sqrt(2))).numpy()
    return (0.5 * wide * (1 + inner)).astype(x.dtype)


def _operator(name, fast):
    @torch.library.custom_op(f"attacks::{name}", mutates_args=())
    def kernel(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(_gelu(x.numpy(), fast))

    return kernel


_OPERATORS = {}


@attack(
    KERNEL,
    "an operator of the user's own: its float32 kernel approximates, its float64 does not",
    4,
)
def operator_by_dtype() -> Case:
    for fast in (True, False):
        if fast not in _OPERATORS:
            _OPERATORS[fast] = _operator(f"gelu_{'fast' if fast else 'exact'}", fast)

    def reference(x):
        return tf.nn.gelu(x, approximate=False)

    sides = (torch_(lambda x, fast=fast: _OPERATORS[fast](x) * 1.0) for fast in (True, False))
    return Case(tf_(reference), *sides, X)


class _Gelu(chainer.FunctionNode):
    """A Chainer function of the user's own that goes by the dtype of what it gets."""

    def __init__(self, fast):
        self.fast = fast

    def forward(self, inputs):
        return (_gelu(inputs[0], self.fast),)


@attack(KERNEL, "a Chainer function of the user's own that approximates in float32 alone", 4)
def chainer_by_dtype() -> Case:
    def port(fast):
        return lambda x: _Gelu(fast).apply((x,))[0] * 1.0

    def reference(x):
        return torch.nn.functional.gelu(x)

    # 1 + erf cancels below zero, in one kernel and not in the other
    faulty, twin = chainer_(port(True)), chainer_(port(False))
    return Case(torch_(reference), faulty, twin, X, unit=2.0**-23)
