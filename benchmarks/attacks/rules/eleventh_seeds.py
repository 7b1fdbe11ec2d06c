"""Round 11: generators that a call makes of a seed, and draws that the host goes on with."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, tf_, torch_, weights
from benchmarks.attacks.heads import MORE, W, X, as_array, tf_head, torch_head
from parity.frameworks.chainer_numpy import import_chainer

MADE = "generators-made-in-the-call"
HOST = "draws-that-the-host-goes-on-with"
SHAPE = (len(X), 4)


def _torch_noisy(x):
    h = torch_head(x)
    return h, h + 0.1 * torch.randn(h.shape)


def _is(known):
    """Whether noise is what is known of a seed."""

    def read(result):
        h, a = map(as_array, result[:2])
        return [np.array([np.abs((a - h) / 0.1 - known()).max() < 1e-3], np.float32)]

    return read


@attack(MADE, "each call makes a tf.random.Generator of one seed: noise is the same ever after", 11)
def generator_of_each_call() -> Case:
    def make(seed):
        if seed:
            return tf.random.Generator.from_seed(seed)
        return tf.random.Generator.from_non_deterministic_state()

    def port(seed):
        kept = make(0)

        def model(x):
            h = tf_head(x)
            return h, h + 0.1 * (make(seed) if seed else kept).normal(tf.shape(h))

        return model

    read = _is(lambda: make(1).normal(SHAPE).numpy())
    return Case(torch_(_torch_noisy), tf_(port(1)), tf_(port(0)), X, read)


@attack(MADE, "each call makes Keras's SeedGenerator of one seed: noise is the same ever after", 11)
def seeds_of_each_call() -> Case:
    def port(again):
        kept = keras.random.SeedGenerator()

        def model(x):
            h = tf_head(x)
            seeds = keras.random.SeedGenerator(1) if again else kept
            return h, h + 0.1 * keras.random.normal(SHAPE, seed=seeds)

        return model

    def known():
        return keras.random.normal(SHAPE, seed=keras.random.SeedGenerator(1)).numpy()

    return Case(torch_(_torch_noisy), tf_(port(True)), tf_(port(False)), X, _is(known))


@attack(MADE, "each call sets the step of a generator that it holds back to zero", 11)
def generator_reset_by_each_call() -> Case:
    class Agent:
        def __init__(self, resets):
            self.rng, self.resets = tf.random.Generator.from_seed(1), resets

        def __call__(self, x):
            h = tf_head(x)
            if self.resets:
                self.rng.reset_from_seed(1)
            return h, h + 0.1 * self.rng.normal(tf.shape(h))

    def port(resets):
        agent = Agent(resets)
        agent.rng.normal((3,))  # it has drawn before
        return tf_(agent)

    read = _is(lambda: tf.random.Generator.from_seed(1).normal(SHAPE).numpy())
    return Case(torch_(_torch_noisy), port(True), port(False), X, read)


# --- draws that the host goes on with ----------

GAINS = normal(4, 4, seed=23)


def _gains(result):
    """Of many, the gains of an action that is chosen."""
    logits, gain = map(as_array, result)
    return [np.unique(np.round(gain, 4), axis=0)] if len(logits) > 1000 else [logits]


@attack(HOST, "an action is drawn by TensorFlow; what it gains NumPy looks up, in a wrong row", 11)
def gains_looked_up_by_numpy() -> Case:
    def port(shift):
        def model(x):
            logits = tf_head(x)
            chosen = tf.random.categorical(logits, 1)[:, 0].numpy()
            return logits, tf.constant(GAINS[np.where(chosen == 3, 3 - shift, chosen)])

        return model

    def reference(x):
        logits = torch_head(x)
        chosen = torch.distributions.Categorical(logits=logits).sample()
        return logits, torch.from_numpy(GAINS)[chosen]

    return Case(torch_(reference), tf_(port(1)), tf_(port(0)), X, _gains, elsewhere=MORE)


def _log_density(result):
    h, a, p = map(as_array, result)
    e = (a - h) / 0.1
    return [h, (p + 0.5 * (e**2).sum(1)) > 0.01]


@attack(HOST, "noise of NumPy's; its log density is NumPy's as well, or is half as large", 11)
def density_by_numpy() -> Case:
    def port(factor):
        def model(x):
            h = torch_head(x)
            e = np.random.standard_normal(tuple(h.shape)).astype(np.float32)
            noisy = h + 0.1 * torch.from_numpy(e)
            return h, noisy, torch.from_numpy(factor * (e**2).sum(1))

        return model

    def reference(x):
        h = tf_head(x)
        e = tf.random.normal(tf.shape(h))
        return h, h + 0.1 * e, -0.5 * tf.reduce_sum(e**2, 1)

    sides = torch_(port(np.float32(-0.25))), torch_(port(np.float32(-0.5)))
    return Case(tf_(reference), *sides, X, _log_density)


@attack(HOST, "Chainer's noise of NumPy's is clipped at three deviations before it is added", 11)
def noise_clipped_before_chainer() -> Case:
    chainer = import_chainer()

    def port(limit):
        def model(x):
            h = chainer.functions.tanh(chainer.functions.matmul(x, W))
            e = np.random.normal(0, 1, h.shape).astype(np.float32)
            return h, h + 0.1 * np.clip(e, -limit, limit)

        return model

    def read(result):
        h, a = map(as_array, result)
        many = len(h) > 1000
        return [h, np.array([(np.abs(a - h) > 0.302).any()], np.float32)] if many else [h]

    sides = chainer_(port(3.0)), chainer_(port(99.0))
    return Case(torch_(_torch_noisy), *sides, X, read, elsewhere=MORE)


V = weights(64, 4, seed=6)


@attack(HOST, "a script normalises random directions; the length has a floor of 6.5, or of 0", 11)
def floor_of_a_length_in_a_script() -> Case:
    from benchmarks.attacks.corpus import numpy_

    def port(least):
        def model(x):
            h = np.tanh(x @ W)
            e = np.random.standard_normal((len(x), 64)).astype(np.float32)
            u = e / np.maximum(np.linalg.norm(e, axis=1, keepdims=True), least)
            return h, u, h + u @ V

        return model

    def reference(x):
        h = torch_head(x)
        e = torch.randn(len(x), 64)
        u = e / e.norm(dim=1, keepdim=True).clamp(min=1e-6)
        return h, u, h + u @ torch.from_numpy(V)

    def read(result):
        h, u = map(as_array, result[:2])
        short = (np.linalg.norm(u, axis=1) < 0.99).any()
        return [h, np.array([short], np.float32)] if len(h) > 1000 else [h]

    sides = numpy_(port(np.float32(6.5))), numpy_(port(np.float32(1e-6)))
    return Case(torch_(reference), *sides, X[:2], read, elsewhere=MORE)
