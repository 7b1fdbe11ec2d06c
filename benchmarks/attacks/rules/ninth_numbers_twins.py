"""Round 9: numbers: ports that are right and compute otherwise, beside faults of the same place."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_, uniform, weights
from benchmarks.attacks.heads import X, into_one_turn, tf_head, torch_head

TIES = "ties-in-float64-alone"
NEARLY = "right-to-float32-again"
TABLES = "tables-born-in-float32"
INPUTS = "inputs-in-half"
MASK = "masks-of-other-sizes"
MOST = "usual-where-most-are-noisy"


@attack(TIES, "half cents are rounded to cents: a division, or a product with a hundred", 9)
def half_cents() -> Case:
    x = (0.005 * np.round(uniform(60, 6, low=100, high=4000))).astype(np.float32)

    def port(rounds):
        return lambda x: rounds(x * 100) / 100

    def reference(x):
        return tf.round(x / 0.01) * 0.01

    return Case(tf_(reference), torch_(port(torch.floor)), torch_(port(torch.round)), x)


@attack(TIES, "a mirrored state has two best actions: float64 breaks the tie the other way", 9)
def mirrored_state() -> Case:
    random = np.random.default_rng([79, 64])
    column = random.standard_normal(64).astype(np.float32)
    other = (0.1 * random.standard_normal(64)).astype(np.float32)
    matrix = np.stack([column, column[::-1], other], 1)
    x = random.standard_normal((24, 64)).astype(np.float32)
    x = ((x + x[:, ::-1]) / 2).astype(np.float32)

    def port(gain):
        def model(x):
            q = gain * (x @ torch.from_numpy(matrix))
            return q, q.argmax(1)

        return model

    def reference(x):
        q = tf.matmul(x, matrix)
        return q, tf.argmax(q, 1)

    return Case(tf_(reference), torch_(port(1.001)), torch_(port(1.0)), x)


@attack(TIES, "headings due west lie on the cut of an angle: a remainder, or an arctangent", 9)
def due_west() -> Case:
    x = uniform(20, 3, low=-3, high=3)
    x[3, 1], x[11, 0], x[17, 2] = -np.pi, np.pi, np.pi
    return into_one_turn(x)


@attack(TIES, "C51: a return that is an atom has the same floor and ceiling, and loses its mass", 9)
def mass_of_an_atom() -> Case:
    atoms = np.linspace(-10, 10, 51).astype(np.float32)
    rewards = np.round(uniform(12, 1, low=-9, high=9) * 2.5) / 2.5
    rewards[::3] += np.float32(0.137)
    shares = uniform(12, 51) ** 4
    shares /= shares.sum(1, keepdims=True)
    x = np.concatenate([rewards, shares], 1).astype(np.float32)
    discounts = np.where(np.arange(12) % 2, 0.0, 0.99).astype(np.float32)[:, None]

    def port(whole):
        def model(x):
            z = (x[:, :1] + torch.from_numpy(discounts * atoms)).clamp(-10, 10)
            b = (z + 10) / 0.4
            low, high = b.floor(), b.ceil()
            if whole:
                high = low + 1
            found = torch.zeros(12, 53)
            found = found.scatter_add(1, low.long().clamp(0, 52), x[:, 1:] * (high - b))
            return found.scatter_add(1, high.long().clamp(0, 52), x[:, 1:] * (b - low))[:, :51]

        return model

    def reference(x):
        z = tf.clip_by_value(x[:, :1] + discounts * atoms, -10.0, 10.0)
        near = 1 - tf.abs(z[:, None, :] - atoms[None, :, None]) / 0.4
        return tf.reduce_sum(tf.clip_by_value(near, 0.0, 1.0) * x[:, None, 1:], 2)

    faulty, twin = torch_(port(False)), torch_(port(True))
    return Case(tf_(reference), faulty, twin, x, unit=2.0**-20)


@attack(NEARLY, "values of a policy: a linear system, or sweeps until float32 changes little", 9)
def policy_by_sweeps() -> Case:
    p = uniform(12, 12) ** 3
    p = (p / p.sum(1, keepdims=True)).astype(np.float32)

    def port(sweeps):
        def model(r):
            v = torch.zeros_like(r)
            for _ in range(sweeps):
                v = r + 0.9 * v @ torch.from_numpy(p).T
            return v

        return model

    def reference(r):
        system = tf.eye(12) - 0.9 * tf.constant(p)
        return tf.transpose(tf.linalg.solve(system, tf.transpose(r)))

    r = uniform(8, 12)
    return Case(tf_(reference), torch_(port(70)), torch_(port(142)), r)


@attack(NEARLY, "knots to metres a second by 0.514444, or by 1852 / 3600; or by four digits", 9)
def knots() -> Case:
    x = uniform(10, 4, low=2, high=40)

    def port(factor):
        return lambda x: x * factor

    faulty, twin = torch_(port(0.5144)), torch_(port(0.514444))
    return Case(tf_(lambda x: x * (1852 / 3600)), faulty, twin, x)


@attack(NEARLY, "vectors of length one: a guard of 1e-8 is added, or is the least that is taken", 9)
def guarded_length() -> Case:
    def port(guard):
        return lambda x: x / (x.norm(dim=1, keepdim=True) + guard)

    def reference(x):
        return tf.math.l2_normalize(x, 1, epsilon=1e-16)

    return Case(tf_(reference), torch_(port(1e-3)), torch_(port(1e-8)), X)


@attack(NEARLY, "a pendulum's swing: a closed form, or Runge-Kutta's steps; Euler's are not it", 9)
def swing_by_steps() -> Case:
    def step(x, dt, way):
        def rate(s):
            return torch.stack([s[:, 1], -s[:, 0]], 1)

        if way == "euler":
            return x + dt * rate(x)
        a = rate(x)
        b = rate(x + dt / 2 * a)
        c = rate(x + dt / 2 * b)
        return x + dt / 6 * (a + 2 * b + 2 * c + rate(x + dt * c))

    def port(way):
        def model(x):
            for _ in range(12):
                x = step(x, 1 / 12, way)
            return x

        return model

    def reference(x):
        c, s = np.float32(np.cos(1.0)), np.float32(np.sin(1.0))
        return tf.stack([c * x[:, 0] + s * x[:, 1], c * x[:, 1] - s * x[:, 0]], 1)

    return Case(tf_(reference), torch_(port("euler")), torch_(port("kutta")), normal(8, 2))


class _Waves(torch.nn.Module):
    """Features of positions, in float64."""

    def __init__(self, frequencies):
        super().__init__()
        self.register_buffer("frequencies", torch.from_numpy(frequencies))

    def forward(self, x):
        phase = x[:, :, None] * self.frequencies
        return torch.cat([phase.sin(), phase.cos()], 2)


@attack(TABLES, "a model in float64 has a table that was made in float32, or in float16", 9)
def table_of_frequencies() -> Case:
    exact = 100.0 ** -(np.arange(8) / 8)
    x = uniform(6, 4, low=0.1, high=1).astype(np.float64)

    class Reference(tf.Module):
        def __init__(self):
            super().__init__()
            self.frequencies = tf.Variable(exact)

        def __call__(self, x):
            phase = x[:, :, None] * self.frequencies
            return tf.concat([tf.sin(phase), tf.cos(phase)], 2)

    def port(dtype):
        return torch_(_Waves(exact.astype(dtype).astype(np.float64)), "float64")

    return Case(tf_(Reference(), "float64"), port(np.float16), port(np.float32), x)


@attack(INPUTS, "a replay buffer keeps observations in float16: the port reads those", 9)
def replay_buffer_in_half() -> Case:
    x = (50 + 10 * normal(10, 5)).astype(np.float32)

    def model(x):
        return torch.tanh((x.float() - 50) / 10 @ torch.from_numpy(weights(5, 4)))

    def reference(x):
        return tf.tanh(tf.matmul((x - 50) / 10, weights(5, 4)))

    half = x.astype(np.float16)
    return Case(tf_(reference), torch_(model, inputs=half), torch_(model, inputs=x.copy()), x)


def _nearest(found):
    return [np.argmin(np.array(found), 1), 1 / (1 + np.minimum(np.array(found), 1e6))]


@attack(MASK, "distances of what is not there are infinite, or 1e9: the nearest is the same", 9)
def distances_of_nobody() -> Case:
    x = 1 + uniform(8, 6, 2)
    x[::3, 2] = 0

    def port(far):
        def model(x):
            return torch.where((x == 0).all(2), far, (x * x).sum(2).sqrt())

        return model

    def reference(x):
        found = tf.sqrt(tf.reduce_sum(x * x, 2))
        gone = tf.reduce_all(x == 0, 2)
        return tf.where(gone, tf.fill(tf.shape(found), np.float32(np.inf)), found)

    return Case(tf_(reference), torch_(port(0.0)), torch_(port(1e9)), x, read=_nearest)


def _softmax(found):
    z = np.array(found).astype(np.float64)
    shares = np.exp(z - z.max(1, keepdims=True))
    return [shares / shares.sum(1, keepdims=True)]


@attack(MASK, "masked logits: minus infinity, or -10000 as BERT has it; another one is hidden", 9)
def mask_of_ten_thousand() -> Case:
    def port(column):
        def model(x):
            hidden = (x[:, column] > 0.3)[:, None] & (torch.arange(4) == 1)
            return torch.where(hidden, -1e4, torch_head(x))

        return model

    def reference(x):
        hidden = (x[:, 2] > 0.3)[:, None] & (tf.range(4) == 1)
        return tf.where(hidden, tf.fill(tf.shape(hidden), np.float32(-np.inf)), tf_head(x))

    return Case(tf_(reference), torch_(port(3)), torch_(port(2)), X, read=_softmax)


@attack(MOST, "most phases are of many turns, wherever they lie; others get turns added", 9)
def turns_of_an_encoder() -> Case:
    many = uniform(24, 6, seed=1) < 0.62
    x = np.where(many, 3e4 * normal(24, 6), uniform(24, 6, low=0.2, high=1.4, seed=2))

    def port(turns):
        return lambda x: torch.cos(x + 2 * np.pi * turns)

    x = x.astype(np.float32)
    return Case(tf_(tf.cos), torch_(port(1000)), torch_(port(0)), x)
