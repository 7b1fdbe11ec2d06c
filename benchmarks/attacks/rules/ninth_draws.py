"""Round 9: draws that are not independent, and kernels whose parameters are compared by halves.

Two runs of these models give other values: what is read of them are means over many samples, and
how far these move from run to run counts as their rounding.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, weights
from benchmarks.attacks.heads import MORE, W, as_array, tf_head, torch_head

ONE_STREAM = "draws-of-one-stream"
KERNELS = "parameters-of-a-kernel"

MANY = normal(2000, 5, seed=9)
W2 = weights(5, 4, seed=2)


def _go_together(result):
    """Of two heads with noise: how far they are from their mean, and from each other."""
    h, a, b = map(as_array, result)
    return [np.std(a - h, keepdims=True), np.std(a - b, keepdims=True)]


def _dropped_together(result):
    """Of two heads with dropout: how many are dropped in one, and in both."""
    a, b = map(as_array, result)
    return [np.mean(a == 0, keepdims=True), np.mean((a == 0) & (b == 0), keepdims=True)]


def _torch_pair(x):
    h = torch_head(x)
    return h, h + 0.1 * torch.randn(h.shape), h + 0.1 * torch.randn(h.shape)


def _tf_pair(x):
    h = tf_head(x)
    return h, h + 0.1 * tf.random.normal(tf.shape(h)), h + 0.1 * tf.random.normal(tf.shape(h))


# --- draws of one stream --------------------------------------------------------------------------


@attack(ONE_STREAM, "two seeds of stateless noise are drawn for two heads, and one used twice", 9)
def seed_used_twice() -> Case:
    def port(second):
        def model(x):
            h = tf_head(x)
            seeds = tf.random.uniform((2, 2), 0, 2**31 - 1, tf.int32)
            a, b = (tf.random.stateless_normal(tf.shape(h), seeds[at]) for at in (0, second))
            return h, h + 0.1 * a, h + 0.1 * b

        return model

    return Case(torch_(_torch_pair), tf_(port(0)), tf_(port(1)), MANY, _go_together)


@attack(ONE_STREAM, "a rollout's key is not folded with the step: each step has the same noise", 9)
def key_not_folded_in() -> Case:
    def port(folded):
        def model(x):
            s = 0.0 * tf_head(x)
            key = tf.random.uniform((2,), 0, 2**31 - 1, tf.int32)
            for step in range(4):
                of_step = key + [0, step if folded else 0]
                s = s + 0.1 * tf.random.stateless_normal(tf.shape(s), of_step)
            return s

        return model

    def reference(x):
        s = 0.0 * torch_head(x)
        for _ in range(4):
            s = s + 0.1 * torch.randn(s.shape)
        return s

    def read(result):
        return [np.std(as_array(result), keepdims=True)]

    return Case(torch_(reference), tf_(port(False)), tf_(port(True)), MANY, read)


@attack(ONE_STREAM, "a key of stateless noise is split for two heads, and the first used twice", 9)
def key_used_twice() -> Case:
    def port(second):
        def model(x):
            h = tf_head(x)
            key = tf.random.uniform((2,), 0, 2**31 - 1, tf.int32)
            keys = tf.random.experimental.stateless_split(key, 2)
            a, b = (tf.random.stateless_normal(tf.shape(h), keys[at]) for at in (0, second))
            return h, h + 0.1 * a, h + 0.1 * b

        return model

    return Case(torch_(_torch_pair), tf_(port(0)), tf_(port(1)), MANY, _go_together)


@attack(ONE_STREAM, "two dropout layers of Keras were given one seed: their masks are the same", 9)
def layers_of_one_seed() -> Case:
    def port(seed):
        inputs = keras.Input((4,))
        a, b = keras.layers.Dropout(0.5, seed=7), keras.layers.Dropout(0.5, seed=seed)
        return keras.Model(inputs, [a(inputs), b(inputs + 1.0)])

    class Heads(torch.nn.Module):
        def forward(self, x):
            drop = torch.nn.functional.dropout
            return drop(x, 0.5, self.training), drop(x + 1.0, 0.5, self.training)

    faulty, twin = (tf_(port(seed), mode="train") for seed in (7, 8))
    reference = torch_(Heads(), mode="train")
    return Case(reference, faulty, twin, 2 + np.tanh(MORE @ W), _dropped_together)


@attack(ONE_STREAM, "a noisy online network is run in fork_rng: the target gets its noise again", 9)
def forked_and_put_back() -> Case:
    def port(forked):
        def model(x):
            h = torch_head(x)
            with torch.random.fork_rng(enabled=forked):
                online = h + 0.1 * torch.randn(h.shape)
            return h, online, h + 0.1 * torch.randn(h.shape)

        return model

    return Case(tf_(_tf_pair), torch_(port(True)), torch_(port(False)), MORE, _go_together)


@attack(ONE_STREAM, "two agents have generators of their own, both made of the run's seed", 9)
def agents_of_one_seed() -> Case:
    class Agents:
        def __init__(self, distance):
            self.first, self.second = np.random.default_rng(3), np.random.default_rng(3 + distance)

        def __call__(self, x):
            h = np.tanh(x @ W)
            a = h + 0.1 * self.first.standard_normal(h.shape)
            return h, a, h + 0.1 * self.second.standard_normal(h.shape)

    return Case(torch_(_torch_pair), numpy_(Agents(0)), numpy_(Agents(1)), MORE, _go_together)


@attack(ONE_STREAM, "two dropouts of a tf.function have one op seed, with which both draw alike", 9)
def operations_of_one_seed() -> Case:
    def port(second):
        @tf.function
        def model(x):
            return tf.nn.dropout(x, 0.5, seed=3), tf.nn.dropout(x + 1.0, 0.5, seed=second)

        return model

    def reference(x):
        drop = torch.nn.functional.dropout
        return drop(x, 0.5, True), drop(x + 1.0, 0.5, True)

    x = 2 + np.tanh(MORE @ W)
    return Case(torch_(reference), tf_(port(3)), tf_(port(4)), x, _dropped_together)


@attack(ONE_STREAM, "noise of two heads: that of the second is drawn first, or is but a half", 9)
def second_head_first() -> Case:
    def port(k):
        def model(x):
            h = torch_head(x)
            b = h + 0.1 * k * torch.randn(h.shape)
            return h, h + 0.1 * torch.randn(h.shape), b

        return model

    def read(result):
        h, a, b = map(as_array, result)
        return [np.std(a - h, keepdims=True), np.std(b - h, keepdims=True)]

    return Case(tf_(_tf_pair), torch_(port(0.5)), torch_(port(1.0)), MORE, read)


# --- kernels that draw in a way of their own ------------------------------------------------------

STATIONS = normal(2000, 4, 5, seed=1) + 0.7 * np.arange(4, dtype=np.float32)[:, None]


@attack(KERNELS, "trips between stations by Poisson's law: rates are from there to here", 9)
def rates_transposed() -> Case:
    def port(turned):
        def model(x):
            rates = 0.5 * torch.exp(0.3 * (x @ torch.from_numpy(W2)).tanh())
            rates = rates * torch.tensor([0.5, 1.0, 2.0, 4.0])[:, None]
            return torch.poisson(rates.mT if turned else rates)

        return model

    def reference(x):
        rates = 0.5 * tf.exp(0.3 * tf.tanh(tf.matmul(x, W2)))
        rates = rates * tf.constant([0.5, 1.0, 2.0, 4.0])[:, None]
        return tf.random.poisson((), rates)

    def read(result):
        return [as_array(result).mean(0)]

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), STATIONS, read)


@attack(KERNELS, "concentrations of pairs of tokens are transposed where gamma noise is drawn", 9)
def concentrations_transposed() -> Case:
    def port(turned):
        def model(x):
            alpha = torch.tensor([0.5, 1.0, 2.0, 4.0])[:, None] + torch.sigmoid(
                x @ torch.from_numpy(W2)
            )
            return torch._standard_gamma(alpha.mT if turned else alpha)

        return model

    def read(result):
        return [as_array(result).mean(0)]

    reference, faulty, twin = (torch_(port(turned)) for turned in (False, True, False))
    return Case(reference, faulty, twin, STATIONS, read)


@attack(KERNELS, "gamma noise of a fixed concentration: 2 in one model, 3 in the other", 9)
def fixed_concentration() -> Case:
    def port(alpha):
        def model(x):
            h = tf_head(x)
            return h, h + 0.1 * tf.random.gamma(tf.shape(h), alpha)

        return model

    def reference(x):
        h = torch_head(x)
        return h, h + 0.1 * torch._standard_gamma(torch.full(h.shape, 2.0))

    def read(result):
        return [np.mean(as_array(result[1]) - as_array(result[0]), keepdims=True)]

    return Case(torch_(reference), tf_(port(3.0)), tf_(port(2.0)), MORE, read)


@attack(KERNELS, "how many of 20 arrive, or 20 less how many do not: each is binomial", 9)
def those_that_do_not() -> Case:
    def port(k):
        def model(x):
            p = torch.sigmoid(x @ torch.from_numpy(W))
            return 20 - torch.binomial(torch.full(p.shape, 20.0), k * (1 - p))

        return model

    def reference(x):
        p = torch.sigmoid(x @ torch.from_numpy(W))
        return torch.binomial(torch.full(p.shape, 20.0), p)

    def read(result):
        return [as_array(result).mean(0)]

    return Case(torch_(reference), torch_(port(0.9)), torch_(port(1.0)), MORE, read)


@attack(KERNELS, "a Beta policy, or 1 less that of the exchanged parameters, or not exchanged", 9)
def beta_exchanged() -> Case:
    def parameters(x):
        h = 1 + torch.nn.functional.softplus(x @ torch.from_numpy(W))
        return h, 2 + 0.5 * h

    def port(exchanged):
        def model(x):
            a, b = parameters(x)
            law = torch.distributions.Beta(b, a) if exchanged else torch.distributions.Beta(a, b)
            return 1 - law.sample()

        return model

    def reference(x):
        return torch.distributions.Beta(*parameters(x)).sample()

    def read(result):
        return [as_array(result).mean(0)]

    return Case(torch_(reference), torch_(port(False)), torch_(port(True)), MORE, read)
