"""Round 9: numbers: what a narrow format, a NumPy reference, a note or a mask excuses."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform, weights
from benchmarks.attacks.heads import X, tf_head, torch_head

WIDE = "beside-a-numpy-reference"
NARROW = "narrow-in-both"
SAYS = "half-precision-that-is-declared"
SMALL = "small-among-large"
NOTED = "noted-and-magnified"
MASK = "constants-like-masks-again"
STATIC = "static-outputs-again"
HOST = "usual-on-the-host"
TIES = "ties-in-float64-alone"
HUGE = "beyond-squares"
NEARLY = "right-to-float32-again"


# --- a reference in NumPy, which computes in float64 ----------------------------------------------


@attack(WIDE, "map coordinates go to float32 before the origin is taken off, not afterwards", 9)
def map_coordinates() -> Case:
    origin = np.array([44_212_000, 458_387_000])  # in centimetres
    x = origin + np.round(uniform(12, 2, low=-6000, high=6000)).astype(np.int64)
    matrix = weights(2, 4).astype(np.float64)

    def reference(x):
        return np.tanh(((x - origin) / 5000.0) @ matrix)

    def faulty(x):
        local = x.float() - torch.from_numpy(origin).float()
        return torch.tanh((local / 5000) @ torch.from_numpy(matrix).float())

    def twin(x):
        local = (x - torch.from_numpy(origin)).float()
        return torch.tanh((local / 5000) @ torch.from_numpy(matrix).float())

    return Case(numpy_(reference), torch_(faulty), torch_(twin), x)


@attack(WIDE, "a script in float64 is the reference; the port adds an epoch and takes it off", 9)
def epoch_beside_a_script() -> Case:
    matrix = weights(5, 4).astype(np.float64)

    def port(epoch):
        return lambda x: (torch_head(x) + epoch) - epoch

    def reference(x):
        return np.tanh(x.astype(np.float64) @ matrix)

    return Case(numpy_(reference), torch_(port(1e5)), torch_(port(0.0)), X)


@attack(WIDE, "a variance far from zero: two passes in the NumPy reference, one in the port", 9)
def variance_beside_a_script() -> Case:
    x = 300 + normal(10, 16)

    def reference(x):
        return np.var(x.astype(np.float64), axis=1)

    def faulty(x):
        return tf.reduce_mean(x * x, 1) - tf.reduce_mean(x, 1) ** 2

    def twin(x):
        return tf.math.reduce_variance(x, 1)

    return Case(numpy_(reference), tf_(faulty), tf_(twin), x)


# --- a narrow format that both models have somewhere ----------------------------------------------


@attack(NARROW, "both return an embedding in float16; the port's value absorbs it in an offset", 9)
def value_beside_an_embedding() -> Case:
    def port(offset):
        def model(x):
            h = torch_head(x)
            return {"embedding": h.half(), "value": (h.sum(1) + offset) - offset}

        return model

    def reference(x):
        h = tf_head(x)
        return {"embedding": tf.cast(h, tf.float16), "value": tf.reduce_sum(h, 1)}

    faulty, twin = torch_(port(5e4)), torch_(port(0.0))
    return Case(tf_(reference), faulty, twin, X)


@attack(NARROW, "both cast their first layer to bfloat16; the port its policy's head as well", 9)
def head_in_bfloat16_too() -> Case:
    first, second = weights(5, 16), weights(16, 4, seed=1)

    def port(wide):
        def model(x):
            h = torch.tanh(x.bfloat16() @ torch.from_numpy(first).bfloat16()).float()
            if not wide:
                return (h.bfloat16() @ torch.from_numpy(second).bfloat16()).float(), h
            return h @ torch.from_numpy(second), h

        return model

    def reference(x):
        h = tf.tanh(tf.matmul(tf.cast(x, tf.bfloat16), tf.cast(first, tf.bfloat16)))
        h = tf.cast(h, tf.float32)
        return tf.matmul(h, second), h

    x = np.round(X * 16) / 16  # exact in bfloat16
    return Case(tf_(reference), torch_(port(False)), torch_(port(True)), x, exact=True)


@attack(NARROW, "a float16 table is read by both; the port's softmax is in float16, too", 9)
def softmax_in_half_beside_a_table() -> Case:
    table = normal(20, 5).astype(np.float16)
    ids = np.arange(12).reshape(6, 2).astype(np.int64)

    def port(half):
        def model(ids):
            h = torch.from_numpy(table)[ids].float().sum(1)
            z = h @ torch.from_numpy(weights(5, 6))
            return torch.softmax(z.half() if half else z, 1).float()

        return model

    def reference(ids):
        h = tf.reduce_sum(tf.cast(tf.gather(tf.constant(table), ids), tf.float32), 1)
        return tf.nn.softmax(tf.matmul(h, weights(5, 6)))

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), ids)


# --- a model that says of itself that it is in half precision -------------------------------------


class _Adapted(torch.nn.Module):
    """A frozen layer in float32, as a buffer; only the adapter's parameters are in bfloat16."""

    def __init__(self, half):
        super().__init__()
        self.half = half
        self.register_buffer("frozen", torch.from_numpy(weights(5, 16)))
        self.register_buffer("head", torch.from_numpy(weights(16, 4, seed=1)))
        adapter = torch.from_numpy(0.1 * weights(16, 16, seed=2))
        self.adapter = torch.nn.Parameter(adapter.bfloat16())

    def forward(self, x):
        h = torch.tanh(x.to(self.frozen.dtype) @ self.frozen)
        if self.half == "all":
            h = h.bfloat16()
            return (h + h @ self.adapter).float() @ self.head
        return (h + h @ self.adapter.float()) @ self.head


@attack(SAYS, "an adapter is kept in bfloat16: the port rounds the frozen layer's units to it", 9)
def adapter_in_bfloat16() -> Case:
    def reference(x):
        h = tf.tanh(tf.matmul(x, weights(5, 16)))
        adapter = tf.cast(tf.cast(0.1 * weights(16, 16, seed=2), tf.bfloat16), tf.float32)
        return tf.matmul(h + tf.matmul(h, adapter), weights(16, 4, seed=1))

    return Case(tf_(reference), torch_(_Adapted("all")), torch_(_Adapted("none")), X)


# --- small numbers where they lie -----------------------------------------------------------------


@attack(SMALL, "a chance of an arrival, 1 - exp(-rate): small rates lie among large ones", 9)
def chance_of_an_arrival() -> Case:
    rare = uniform(40, 6, seed=1) < 0.12
    x = np.where(rare, 3e-7 * uniform(40, 6, low=0.3, seed=2), uniform(40, 6, low=1, high=6))

    def faulty(x):
        return 1 - torch.exp(-x)

    def twin(x):
        return -torch.expm1(-x)

    return Case(tf_(lambda x: -tf.math.expm1(-x)), torch_(faulty), torch_(twin), x)


@attack(SMALL, "the complement of a sigmoid is 1 less it: rare events lie among usual ones", 9)
def complement_of_a_sigmoid() -> Case:
    rare = uniform(30, 8, seed=1) < 0.1
    x = np.where(rare, uniform(30, 8, low=12, high=18), uniform(30, 8, low=-6, high=0, seed=2))

    def faulty(x):
        return 1 - tf.sigmoid(x)

    def twin(x):
        return tf.sigmoid(-x)

    return Case(torch_(lambda x: torch.sigmoid(-x)), tf_(faulty), tf_(twin), x)


# --- notes, and what comes of what is noted -------------------------------------------------------


class _Prices(torch.nn.Module):
    """The change of prices between two days, in basis points."""

    def __init__(self, before, now, first):
        super().__init__()
        self.before = torch.nn.Parameter(torch.from_numpy(before))
        self.now = torch.nn.Parameter(torch.from_numpy(now))
        self.first = first

    def forward(self, ids):
        before = self.before[ids]
        if self.first == "divided":
            return (self.now[ids] - before) / before * 1e4
        return 1e4 * (self.now[ids] - before) / before


@attack(NOTED, "prices of two days went through a text of seven digits: the change is off by 1%", 9)
def change_of_prices() -> Case:
    before = uniform(24, 5, low=150, high=900)
    now = (before * (1 + 2e-5 * normal(24, 5))).astype(np.float32)
    ids = np.arange(24)[::2].astype(np.int64)

    def by_text(table):
        return np.array([[float(f"{one:.6e}") for one in row] for row in table], np.float32)

    def reference(ids):
        a, b = tf.gather(tf.constant(before), ids), tf.gather(tf.constant(now), ids)
        return 1e4 * (b - a) / a

    faulty = torch_(_Prices(by_text(before), by_text(now), ""))
    return Case(tf_(reference), faulty, torch_(_Prices(before, now, "divided")), ids)


class _Failure(torch.nn.Module):
    """The chance that a part fails within some hours."""

    def __init__(self, rates):
        super().__init__()
        self.rates = torch.nn.Parameter(torch.from_numpy(rates))

    def forward(self, hours):
        return 1 - torch.exp(-hours * self.rates)


@attack(NOTED, "in float64: survival is nearly one, and a rate's error there noted; not failure", 9)
def chance_of_failure() -> Case:
    rates = 1e-8 * uniform(6, low=0.5, high=2).astype(np.float64)
    hours = uniform(8, 6, low=0.5, high=2).astype(np.float64)
    other = rates * np.array([1, 1, 1.6, 1, 1, 1])

    class Reference(tf.Module):
        def __init__(self):
            super().__init__()
            self.rates = tf.Variable(rates)

        def __call__(self, hours):
            return 1 - tf.exp(-hours * self.rates)

    faulty, twin = (torch_(_Failure(one), "float64") for one in (other, rates))
    return Case(tf_(Reference(), "float64"), faulty, twin, hours)


# --- masks and static outputs ---------------------------------------------------------------------


@attack(MASK, "a crash costs 1e8 in one model, 1e9 in the other, in the step where it happens", 9)
def crash_in_a_step() -> Case:
    def port(cost):
        def model(x):
            rewards = torch_head(x)
            return torch.where(rewards < -0.9, torch.full_like(rewards, -cost), rewards)

        return model

    def reference(x):
        rewards = tf_head(x)
        return tf.where(rewards < -0.9, tf.fill(tf.shape(rewards), -1e8), rewards)

    return Case(tf_(reference), torch_(port(1e9)), torch_(port(1e8)), X)


@attack(STATIC, "rates of events are a table of eight decimals: the rare ones lose their digits", 9)
def rates_of_eight_decimals() -> Case:
    rates = 10.0 ** -(np.arange(16) / 2.1)

    def port(table):
        kept = torch.from_numpy(table).float()
        return lambda x: (torch_head(x), 1.0 * kept)

    def reference(x):
        return tf_head(x), 1.0 * tf.constant(rates, tf.float32)

    return Case(tf_(reference), torch_(port(np.round(rates, 8))), torch_(port(rates)), X)


# --- what is usual among numbers of the host ------------------------------------------------------


@attack(HOST, "distances by NumPy: those to themselves are noise, and excuse a stale deviation", 9)
def distances_by_the_host() -> Case:
    x = 3 + normal(12, 16)

    def by_products(scales):
        def model(x):
            a = x.numpy() * scales
            square = (a * a).sum(1)
            found = square[:, None] + square - 2 * a @ a.T
            return {"q": torch.tanh(x[:, :4]), "far": np.sqrt(np.maximum(found, 0)).tolist()}

        return model

    def reference(x):
        a = x.numpy()
        square = (a * a).sum(1)
        found = square[:, None] - 2 * a @ a.T + square
        return {"q": tf.tanh(x[:, :4]), "far": np.sqrt(np.maximum(found, 0)).tolist()}

    ones = np.ones(16, np.float32)
    stale = np.where(np.arange(16) == 7, np.float32(1.001), ones)
    return Case(tf_(reference), torch_(by_products(stale)), torch_(by_products(ones)), x)


# --- ties that are none in the other precision ----------------------------------------------------


class _Quantised(torch.nn.Module):
    def __init__(self, least):
        super().__init__()
        self.register_buffer("inverse", torch.full((24,), 10.0))
        self.least = least

    def forward(self, x):
        return torch.round(x * self.inverse).clamp(self.least, 127) / self.inverse


@attack(TIES, "quarters are quantised in steps of a tenth: by the scale, or by its inverse", 9)
def quarters_in_tenths() -> Case:
    x = np.round(normal(200, 24), 2) + np.float32(0.013)
    x[7, 3], x[60, 11], x[3, 3] = 0.75, 1.75, -10.35
    scale = np.full(24, 0.1, np.float32)

    def reference(x):
        return tf.clip_by_value(tf.round(x / scale), -127, 127) * scale

    faulty, twin = torch_(_Quantised(-100)), torch_(_Quantised(-127))
    return Case(tf_(reference), faulty, twin, x, exact=True)


# --- numbers whose squares are beyond float64 -----------------------------------------------------


class _Partition(torch.nn.Module):
    def __init__(self, bias, first, shifted):
        super().__init__()
        self.bias, self.first, self.shifted = torch.nn.Parameter(bias), first, shifted

    def forward(self, x):
        energies = (x + self.bias)[:, self.first :]
        if self.shifted:
            return torch.exp(torch.logsumexp(energies, 1))
        return torch.exp(energies).sum(1)


@attack(HUGE, "a partition function in float64 is 1e250: its square is none", 9)
def partition_function() -> Case:
    x = uniform(8, 12, low=500, high=580).astype(np.float64)
    bias = uniform(12).astype(np.float64)

    class Reference(tf.Module):
        def __init__(self):
            super().__init__()
            self.bias = tf.Variable(bias)

        def __call__(self, x):
            return tf.reduce_sum(tf.exp(x + self.bias), 1)

    def port(*how):
        return torch_(_Partition(torch.from_numpy(bias), *how), "float64")

    return Case(tf_(Reference(), "float64"), port(1, False), port(0, True), x)
