"""Round 12: what is kept of inputs that no other sample shows, and state that nobody puts back."""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_, weights
from benchmarks.attacks.heads import W, X, tf_head, torch_head

BESIDE = "inputs-that-are-no-samples"
ALWAYS = "what-all-samples-have"
WHOLE = "whole-numbers-of-one-sample"
NEUTRAL = "inputs-that-change-nothing"
TRIAL = "calls-before-the-first"
LONG = "state-in-long-containers"
BRANCH = "branches-of-a-trace"

EDGES = np.array([[0, 1, 2, 3, 4, 5, 0, 3], [1, 2, 3, 4, 5, 0, 3, 0]])
OTHER_EDGES = np.array([[0, 1, 2, 3, 4, 5, 1, 4], [2, 4, 0, 5, 1, 3, 5, 2]])


# --- inputs beside the samples ----------


@attack(
    BESIDE, "a graph's normalised adjacency was cached of the first graph, as a dense matrix", 12
)
def cached_adjacency() -> Case:
    def adjacency(edges):
        n = len(X)
        ones = tf.ones(tf.shape(edges)[1])
        places = tf.stack([edges[1], edges[0]], 1)
        dense = tf.scatter_nd(places, ones, (n, n)) + tf.eye(n)
        root = tf.math.rsqrt(tf.reduce_sum(dense, 1))
        return root[:, None] * dense * root[None]

    class Convolution:
        def __init__(self, cached):
            self.kept = adjacency(tf.constant(EDGES)).numpy() if cached else None

        def __call__(self, nodes, edges):
            mixed = adjacency(edges) if self.kept is None else self.kept
            return tf.tanh(tf.matmul(mixed, tf.matmul(nodes, W)))

    def reference(nodes, edges):
        h = nodes @ torch.from_numpy(W)
        source, target = edges
        degree = torch.ones(len(h)).index_add(0, target, torch.ones(len(target)))
        root = degree.rsqrt()
        sent = h[source] * (root[source] * root[target])[:, None]
        return torch.tanh((h * (root * root)[:, None]).index_add(0, target, sent))

    faulty, twin = tf_(Convolution(True)), tf_(Convolution(False))
    return Case(torch_(reference), faulty, twin, (X, EDGES), elsewhere=(X, OTHER_EDGES))


@attack(BESIDE, "a temperature is an argument; the port has the usual one in its weights", 12)
def argument_in_the_weights() -> Case:
    def folded(x, temperature):
        return tf.nn.softmax(tf.matmul(x, W / np.float32(0.7)))

    def port(x, temperature):
        return tf.nn.softmax(tf.matmul(x, W) / temperature)

    def reference(x, temperature):
        return torch.softmax(x @ torch.from_numpy(W) / temperature, 1)

    def given(temperature):
        return {"x": X, "temperature": np.array(temperature, np.float32)}

    faulty, twin = tf_(folded), tf_(port)
    return Case(torch_(reference), faulty, twin, given(0.7), elsewhere=given(0.3))


# --- what all samples of a batch have ----------

SENSORS = normal(6, 80, seed=3)
SENSORS[:, [5, 17, 40]] = 0
WEIGHTS = weights(80, 4, seed=4)


@attack(
    ALWAYS, "readings of sensors that work are centred; which of them do was kept, as indices", 12
)
def kept_sensors() -> Case:
    working = np.flatnonzero((SENSORS != 0).any(0))

    def faulty(x):
        some = tf.gather(x, working, axis=1)
        some -= tf.reduce_mean(some, 1, keepdims=True)
        return tf.tanh(tf.matmul(some, WEIGHTS[working]))

    def twin(x):
        found = tf.where(tf.reduce_any(x != 0, 0))[:, 0]
        some = tf.gather(x, found, axis=1)
        some -= tf.reduce_mean(some, 1, keepdims=True)
        return tf.tanh(tf.matmul(some, tf.gather(WEIGHTS, found)))

    def reference(x):
        live = (x != 0).any(0).float()
        mean = x.sum(1, keepdim=True) / live.sum()
        return torch.tanh(((x - mean) * live) @ torch.from_numpy(WEIGHTS))

    elsewhere = SENSORS.copy()
    elsewhere[:, [30, 31, 61]] = 0
    return Case(torch_(reference), tf_(faulty), tf_(twin), SENSORS, elsewhere=elsewhere)


@attack(ALWAYS, "observations are clipped at 1, and scaled by their largest, which was kept: 1", 12)
def kept_largest_of_one() -> Case:
    kept = float(np.abs(np.clip(X, -1, 1)).max())

    def port(kept):
        def model(x):
            z = tf.clip_by_value(x, -1.0, 1.0)
            scale = kept or tf.reduce_max(tf.abs(z))
            return tf.tanh(tf.matmul(z / scale, W))

        return model

    def reference(x):
        z = x.clamp(-1, 1)
        return torch.tanh((z / z.abs().max()) @ torch.from_numpy(W))

    elsewhere = np.float32(0.3) * X
    return Case(torch_(reference), tf_(port(kept)), tf_(port(None)), X, elsewhere=elsewhere)


# --- one sample of whole numbers ----------

TABLE = normal(20, 5, seed=7)
WORDS = np.array([[4, 9, 2, 17, 11, 3, 8, 0, 0, 0, 0, 0]])
MORE_WORDS = np.array([[4, 9, 2, 17, 11, 3, 8, 15, 6, 12, 0, 0]])
OUT = weights(5, 16, seed=8)


@attack(
    WHOLE, "a sentence, padded with zeros: the port was exported with the first one's length", 12
)
def exported_with_a_length() -> Case:
    length = int((WORDS != 0).sum())

    def faulty(ids):
        return tf.tanh(tf.matmul(tf.reduce_mean(tf.gather(TABLE, ids[:, :length]), 1), OUT))

    def twin(ids):
        count = tf.reduce_sum(tf.cast(ids != 0, tf.int32))
        return tf.tanh(tf.matmul(tf.reduce_mean(tf.gather(TABLE, ids[:, :count]), 1), OUT))

    def reference(ids):
        words = torch.from_numpy(TABLE)[ids]
        mask = (ids != 0).float()[..., None]
        mean = (words * mask).sum(1) / mask.sum(1)
        return torch.tanh(mean @ torch.from_numpy(OUT))

    return Case(torch_(reference), tf_(faulty), tf_(twin), WORDS, elsewhere=MORE_WORDS)


# --- an input that is neutral ----------

STEPS = normal(6, 7, 5, seed=5)


@attack(NEUTRAL, "sequences and their mask, which is all ones here: the port never reads it", 12)
def mask_of_ones() -> Case:
    def faulty(x, mask):
        return tf.tanh(tf.matmul(tf.reduce_mean(x, 1), W))

    def twin(x, mask):
        kept = mask[..., None]
        return tf.tanh(tf.matmul(tf.reduce_sum(x * kept, 1) / tf.reduce_sum(kept, 1), W))

    def reference(x, mask):
        kept = mask[..., None]
        return torch.tanh(((x * kept).sum(1) / kept.sum(1)) @ torch.from_numpy(W))

    mask = np.ones((6, 7), np.float32)
    shorter = mask * (np.arange(7) < np.array([7, 3, 5, 2, 6, 4])[:, None])
    given = {"x": STEPS, "mask": mask}
    other = {"x": STEPS, "mask": shorter.astype(np.float32)}
    return Case(torch_(reference), tf_(faulty), tf_(twin), given, elsewhere=other)


# --- state that is not put back ----------


@attack(
    TRIAL, "a model in float64 counts its steps in its arguments: the first is not squashed", 12
)
def step_in_the_arguments() -> Case:
    class Net(torch.nn.Module):
        def __init__(self, step):
            super().__init__()
            self.args = argparse.Namespace(step=step, warmup=1)
            self.w = torch.nn.Parameter(torch.from_numpy(W).double())

        def forward(self, x):
            self.args.step += 1
            y = x @ self.w
            return torch.tanh(y) if self.args.step > self.args.warmup else y

    class Reference(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.from_numpy(W).double())

        def forward(self, x):
            return torch.tanh(x @ self.w)

    sides = (torch_(one, "float64") for one in (Reference(), Net(0), Net(10)))
    return Case(*sides, X)


@attack(LONG, "steps of 12,000 environments are counted, each in an array; or begin at 1", 12)
def counters_of_many() -> Case:
    class Counted:
        def __init__(self, first):
            self.steps = [np.full(1, first, np.float32) for _ in range(12_000)]

        def discount(self, count):
            for one in self.steps[:count]:
                one += 1
            return 0.5 ** np.stack(self.steps[:count])

    class Port(tf.Module):
        def __init__(self, first):
            import keras

            super().__init__()
            self.counted = Counted(first)
            self.dense = keras.layers.Dense(
                4, use_bias=False, kernel_initializer=lambda *_, **__: W
            )

        def __call__(self, x):
            return tf.tanh(self.dense(x)) * self.counted.discount(len(x))

    class Reference:
        def __init__(self):
            self.counted = Counted(0)

        def __call__(self, x):
            return torch_head(x) * torch.from_numpy(self.counted.discount(len(x)))

    return Case(torch_(Reference()), tf_(Port(1)), tf_(Port(0)), X)


# --- a branch that a trace kept ----------


@attack(
    BRANCH, "outliers are clipped if there are any: torch.jit.trace kept that there were none", 12
)
def branch_of_a_trace() -> Case:
    def script(x):
        if x.abs().max() > 4:
            x = x.clamp(-2, 2)
        return torch.tanh(x @ torch.from_numpy(W))

    def reference(x):
        if tf.reduce_max(tf.abs(x)) > 4:
            x = tf.clip_by_value(x, -2.0, 2.0)
        return tf_head(x)

    class Traced:
        def __init__(self):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.trace = torch.jit.trace(script, torch.from_numpy(X))

        def __call__(self, x):
            return self.trace(x)

    elsewhere = np.float32(3) * X
    return Case(tf_(reference), torch_(Traced()), torch_(script), X, elsewhere=elsewhere)
