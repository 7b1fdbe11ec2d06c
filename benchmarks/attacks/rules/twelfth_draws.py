"""Round 12: what fresh samples do not reach, and draws that are taken for independent."""

from __future__ import annotations

import time

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_, weights
from benchmarks.attacks.heads import MORE, X, as_array, size_of_noise, tf_head, tf_noisy, torch_head

ROWS = "fresh-samples-by-columns-alone"
LARGE = "two-turns-of-a-large-model"
LOOSE = "fresh-samples-held-to-constants"
KERNELS = "kernels-whose-parameters-are-drawn"
DECIDED = "decisions-that-are-real-numbers"
GRAPHS = "graphs-that-draw-few-numbers"
HOST = "whole-numbers-of-the-host"
STREAMS = "generators-of-one-seed"
CLOCK = "seeds-of-the-clock"
LAWS = "one-law-put-in-otherwise"


# --- fresh samples: how they are compared, and how many there are ---------------------------------


@attack(ROWS, "rows of frames played beside a row of noisy actions: noise is clipped, or not", 12)
def noise_beside_rows_of_frames() -> Case:
    def frames(count):
        begun = 12_000_000 + 64 * np.arange(count) % 65_536
        return np.stack([begun, begun + 4_000_000], 1).astype(np.float32)

    def port(limit):
        def model(x):
            h = torch_head(x[:, :5])[:, 0]
            a = h + 0.1 * torch.randn(h.shape).clamp(-limit, limit)
            return h, torch.stack([x[:, 5], x[:, 6], a])

        return model

    def reference(x):
        h = tf_head(x[:, :5])[:, 0]
        a = h + 0.1 * tf.random.normal(tf.shape(h))
        return h, tf.stack([x[:, 5], x[:, 6], a])

    def read(result):
        h, rows = map(as_array, result)
        return [h, np.array([(np.abs(rows[2] - h) > 0.181).any()], np.float32)][: 1 + (len(h) > 99)]

    x, more = (np.concatenate([one, frames(len(one))], 1) for one in (X, MORE))
    faulty, twin = torch_(port(1.8)), torch_(port(100.0))
    return Case(tf_(reference), faulty, twin, x, read, elsewhere=more)


@attack(
    LARGE, "a noisy action asks 400,000 known ones which are near: noise is clipped, or not", 12
)
def near_a_noisy_action() -> Case:
    known = np.tanh(normal(400_000, 2, seed=7))
    value = normal(400_000, 2, seed=8)

    def port(limit):
        def model(x):
            h = tf_head(x)[:, :2]
            a = h + 0.2 * tf.clip_by_value(tf.random.normal(tf.shape(h)), -limit, limit)
            d = tf.reduce_sum(tf.square(a[:, None] - tf.constant(known)), 2)
            return h, a, tf.matmul(tf.nn.softmax(-20.0 * d, 1), value)

        return model

    def reference(x):
        h = torch_head(x)[:, :2]
        a = h + 0.2 * torch.randn(h.shape)
        d = (a[:, None] - torch.from_numpy(known)).square().sum(2)
        return h, a, torch.softmax(-20.0 * d, 1) @ torch.from_numpy(value)

    def read(result):
        h, a = map(as_array, result[:2])
        return [h, np.array([(np.abs(a - h) > 0.302).any()], np.float32)][: 1 + (len(h) > 9)]

    faulty, twin = tf_(port(1.5)), tf_(port(100.0))
    return Case(torch_(reference), faulty, twin, normal(1, 5, seed=4), read, elsewhere=MORE[:40])


@attack(LOOSE, "a motor's phase of many turns beside a noisy action: noise is clipped, or not", 12)
def noise_beside_a_phase() -> Case:
    turns = 17.3  # of the motor, for one of the joint

    def joint(count):
        return 900 + 90 * normal(count, 1, seed=5)

    def port(limit):
        def model(x):
            h = torch_head(x[:, :5])[:, :1]
            phase = torch.cos(turns * 2 * np.pi * x[:, 5:])
            a = h + 0.1 * torch.randn(h.shape).clamp(-limit, limit)
            return h, torch.cat([phase, a], 1)

        return model

    def reference(x):
        h = tf_head(x[:, :5])[:, :1]
        phase = tf.cos(turns * 2 * np.pi * x[:, 5:])
        a = h + 0.1 * tf.random.normal(tf.shape(h))
        return h, tf.concat([phase, a], 1)

    def read(result):
        h, a = as_array(result[0]), as_array(result[1])[:, 1:]
        return [h, np.array([(np.abs(a - h) > 0.151).any()], np.float32)][: 1 + (len(h) > 99)]

    x, more = (np.concatenate([one, joint(len(one))], 1) for one in (X[:4], MORE))
    faulty, twin = torch_(port(1.5)), torch_(port(100.0))
    return Case(tf_(reference), faulty, twin, x, read, elsewhere=more)


@attack(KERNELS, "demand by Poisson's law, of a log-normal rate: the rate is capped, or is not", 12)
def capped_rate_of_a_demand() -> Case:
    def port(most):
        def model(x):
            h = torch_head(x)[:, 0]
            rate = torch.exp(1 + h + 2 * torch.randn(h.shape).clamp(max=most))
            return h, torch.poisson(rate)

        return model

    def reference(x):
        h = tf_head(x)[:, 0]
        rate = tf.exp(1 + h + 2 * tf.random.normal(tf.shape(h)))
        return h, tf.random.poisson((), rate)

    def read(result):
        h, count = map(as_array, result)
        return [h, np.array([(count > 400).any()], np.float32)][: 1 + (len(h) > 99)]

    faulty, twin = torch_(port(1.2)), torch_(port(100.0))
    return Case(tf_(reference), faulty, twin, X[:4], read, elsewhere=MORE)


@attack(DECIDED, "an actuator fails in 1% of long rollouts, or in 6%: the coin is a floor", 12)
def failing_actuator() -> Case:
    steps = 500

    def port(chance):
        def model(x):
            h = torch_head(x)[:, :2]
            works = 1 - 2 * torch.floor(torch.rand(len(x), 1) + chance)
            s = torch.zeros_like(h)
            for _ in range(steps):
                s = torch.tanh(0.9 * s + works * h)
            return h, s

        return model

    def reference(x):
        h = tf_head(x)[:, :2]
        fails = tf.cast(tf.random.uniform((len(x), 1)) < 0.01, tf.float32)
        works, s = 1 - 2 * fails, tf.zeros_like(h)
        for _ in range(steps):
            s = tf.tanh(0.9 * s + works * h)
        return h, s

    def read(result):
        h, s = map(as_array, result)
        if len(h) < 99:
            return [h]
        return [h, np.mean(s[:, :1] * h[:, :1] < 0, keepdims=True)]

    faulty, twin = torch_(port(0.06)), torch_(port(0.01))
    more = normal(60_000, 5, seed=9)
    return Case(tf_(reference), faulty, twin, X[:1], read, elsewhere=more)


@attack(GRAPHS, "an agent's graph was traced before its exploration was lowered by 40%", 12)
def exploration_as_it_was_traced() -> Case:
    class Agent(tf.Module):
        def __init__(self):
            super().__init__()
            self.scale = 0.17

        @tf.function(input_signature=[tf.TensorSpec([None, 5], tf.float32)])
        def act(self, x):
            h = tf_head(x)[:, :2]
            return h, h + self.scale * tf.random.normal(tf.shape(h))

    def port(warm):
        agent = Agent()
        if warm:
            agent.act(tf.zeros((1, 5)))
        agent.scale = 0.1
        return tf_(lambda x: agent.act(x))

    def reference(x):
        h = torch_head(x)[:, :2]
        return h, h + 0.1 * torch.randn(h.shape)

    def read(result):
        return size_of_noise(result) if len(result[0]) > 99 else [as_array(result[0])]

    sides = port(True), port(False)
    return Case(torch_(reference), *sides, normal(1, 5, seed=4), read, elsewhere=MORE)


# --- numbers of the host --------------------------------------------------------------------------


@attack(HOST, "places in a replay buffer, drawn by NumPy: the last 8% of them are cut off", 12)
def last_places_cut_off() -> Case:
    kept = normal(50, 4, seed=8)

    class Port:
        def __init__(self, margin):
            self.rng, self.margin = np.random.default_rng(0), margin

        def __call__(self, x):
            h = torch_head(x)
            at = np.minimum(self.rng.integers(0, 50, len(x)), 49 - self.margin)
            return h, torch.from_numpy(kept)[torch.from_numpy(at)]

    def reference(x):
        at = tf.random.uniform((len(x),), 0, 50, tf.int32)
        return tf_head(x), tf.gather(kept, at)

    def read(result):
        h, rows = map(as_array, result)
        return [np.unique(rows, axis=0)] if len(h) > 99 else [h]

    faulty, twin = torch_(Port(4)), torch_(Port(0))
    return Case(tf_(reference), faulty, twin, X[:4], read, elsewhere=MORE)


# --- generators that are of one seed --------------------------------------------------------------


@attack(STREAMS, "two agents' coins are of two generators of TensorFlow's, made of one seed", 12)
def coins_of_one_seed() -> Case:
    class Port:
        def __init__(self, seed):
            self.one = tf.random.Generator.from_seed(1)
            self.two = tf.random.Generator.from_seed(seed)

        def __call__(self, x):
            h = tf_head(x)
            a, b = (
                tf.cast(rng.uniform((len(x), 1), 0, 2, tf.int32), tf.float32)
                for rng in (self.one, self.two)
            )
            return h, a * h, b * h

    def reference(x):
        h = torch_head(x)
        a, b = (torch.randint(0, 2, (len(x), 1)).float() for _ in range(2))
        return h, a * h, b * h

    def read(result):
        h, a, b = map(as_array, result)
        return [np.array([np.array_equal(a, b)], np.float32)] if len(h) > 99 else [h]

    faulty, twin = tf_(Port(1)), tf_(Port(2))
    return Case(torch_(reference), faulty, twin, X[:4], read, elsewhere=MORE)


@attack(STREAMS, "who explores and by how much: two generators of one seed, rand and randn", 12)
def coin_and_noise_of_one_seed() -> Case:
    class Port:
        def __init__(self, seed):
            self.coins = torch.Generator().manual_seed(1)
            self.noise = torch.Generator().manual_seed(seed)

        def __call__(self, x):
            h = torch_head(x)[:, :1]
            explores = torch.rand(len(x), generator=self.coins) < 0.5
            e = torch.randn(h.shape, generator=self.noise)
            return h, torch.where(explores[:, None], h + 0.5 * e, h)

    def reference(x):
        h = tf_head(x)[:, :1]
        explores = tf.random.uniform((len(x),)) < 0.5
        e = tf.random.normal(tf.shape(h))
        return h, tf.where(explores[:, None], h + 0.5 * e, h)

    def read(result):
        """Whether any of those that share a number with their coin explores far."""
        h, a = map(as_array, result)
        if len(h) < 99:
            return [h]
        some = np.arange(len(h)) % 16 < 8
        return [h, np.array([(np.abs(a - h)[some] > 0.6).any()], np.float32)]

    faulty, twin = torch_(Port(1)), torch_(Port(2))
    return Case(tf_(reference), faulty, twin, normal(20, 5), read, elsewhere=MORE)


@attack(STREAMS, "two heads' generators are of one seed; one drew a table of 5,120 numbers", 12)
def behind_a_table_of_one_seed() -> Case:
    wide = weights(5, 128, seed=2)

    class Port:
        def __init__(self, seed):
            self.one = torch.Generator().manual_seed(1)
            self.two = torch.Generator().manual_seed(seed)
            self.table = torch.randn(80, 64, generator=self.two)

        def __call__(self, x):
            h = torch.tanh(x @ torch.from_numpy(wide))
            a, b = (torch.randn(h.shape, generator=rng) for rng in (self.one, self.two))
            return h, h + 0.1 * a, h + 0.1 * b

    def reference(x):
        h = tf.tanh(tf.matmul(x, wide))
        a, b = (tf.random.normal(tf.shape(h)) for _ in range(2))
        return h, h + 0.1 * a, h + 0.1 * b

    def read(result):
        h, a, b = map(as_array, result)
        first, second = (a - h).ravel(), (b - h).ravel()
        shared = np.allclose(first[5120:], second[:5120], 0, 1e-3)
        return [h, np.array([shared], np.float32)]

    faulty, twin = torch_(Port(1)), torch_(Port(2))
    return Case(tf_(reference), faulty, twin, normal(80, 5), read)


@attack(
    CLOCK, "each call seeds its noise by the second that it is; the noise is double, or not", 12
)
def seeded_by_the_second() -> Case:
    def port(scale):
        def model(x):
            h = torch_head(x)
            rng = torch.Generator().manual_seed(int(time.time()))
            return h, h + scale * torch.randn(h.shape, generator=rng)

        return model

    faulty, twin = torch_(port(0.2)), torch_(port(0.1))
    return Case(tf_(tf_noisy), faulty, twin, normal(2000, 5), size_of_noise)


# --- one law, in which noise is put in otherwise --------------------------------------------------


@attack(LAWS, "equal noise in all directions is drawn in other axes, and turned; one is triple", 12)
def noise_in_other_axes() -> Case:
    axes = np.linalg.qr(normal(4, 4, seed=5).astype(np.float64))[0].astype(np.float32)

    def port(last):
        def model(x):
            h = torch_head(x)
            e = torch.randn(h.shape) * torch.tensor([1.0, 1.0, 1.0, last])
            return h, h + 0.1 * (e @ torch.from_numpy(axes))

        return model

    faulty, twin = torch_(port(3.0)), torch_(port(1.0))
    return Case(tf_(tf_noisy), faulty, twin, normal(2000, 5), size_of_noise)


@attack(LAWS, "actions in order of their values, with noise put in before, or after; or double", 12)
def noise_before_the_order() -> Case:
    def port(scale):
        def model(x):
            h = torch_head(x)
            order = torch.argsort(h, 1)
            noisy = h + scale * torch.randn(h.shape)
            return torch.gather(h, 1, order), torch.gather(noisy, 1, order)

        return model

    def reference(x):
        h = tf.sort(tf_head(x), 1)
        return h, h + 0.1 * tf.random.normal(tf.shape(h))

    faulty, twin = torch_(port(0.2)), torch_(port(0.1))
    return Case(tf_(reference), faulty, twin, normal(2000, 5), size_of_noise)
