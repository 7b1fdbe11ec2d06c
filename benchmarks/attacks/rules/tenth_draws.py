"""Round 10: draws beside what does not distinguish them, and streams that overlap.

Two runs of these models give other values: what is read of them are means over many samples, and
how far these move from run to run counts as their rounding.
"""

from __future__ import annotations

import os

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, weights
from benchmarks.attacks.heads import (
    MORE,
    W,
    as_array,
    size_of_noise,
    tf_head,
    tf_noisy,
    torch_head,
    torch_noisy,
)

INVARIANT = "pairs-by-what-is-invariant"
OVERLAP = "streams-that-overlap"
COARSE = "coarse-draws"
HOST = "draws-of-the-host"

V = weights(5, 4, seed=2)


# --- what speaks for a pair, and is the same for others -----------------------------------------


@attack(INVARIANT, "a latent is the mean less noise, or plus; its log density is of squares", 10)
def latent_less_noise() -> Case:
    def port(power):
        def model(x):
            mean, std = torch_head(x), 0.2 + 0.3 * torch.sigmoid(x @ torch.from_numpy(V))
            e = torch.randn(mean.shape)
            log_q = (-0.5 * e**2 - torch.log(std)).sum(1)
            return mean, mean - std**power * e, log_q

        return model

    def reference(x):
        mean, std = tf_head(x), 0.2 + 0.3 * tf.sigmoid(tf.matmul(x, V))
        e = tf.random.normal(tf.shape(mean))
        log_q = tf.reduce_sum(-0.5 * e**2 - tf.math.log(std), 1)
        return mean, mean + std * e, log_q

    return Case(tf_(reference), torch_(port(2)), torch_(port(1)), MORE, size_of_noise)


@attack(
    INVARIANT, "a policy's covariance by its Cholesky factor, or its root: with log density", 10
)
def root_with_log_density() -> Case:
    factor = np.array([[0.5, 0, 0], [0.2, 0.4, 0], [-0.1, 0.3, 0.6]], np.float32)
    values, vectors = np.linalg.eigh(factor @ factor.T)
    log_det = float(np.log(np.diag(factor)).sum())

    def port(power):
        root = torch.from_numpy(((vectors * values**power) @ vectors.T).astype(np.float32))

        def model(x):
            mean = torch_head(x)[:, :3]
            e = torch.randn(mean.shape)
            return mean, mean + e @ root.T, -0.5 * (e**2).sum(1) - log_det + 0 * mean[:, 0]

        return model

    def reference(x):
        mean = tf_head(x)[:, :3]
        e = tf.random.normal(tf.shape(mean))
        action = mean + tf.matmul(e, factor, transpose_b=True)
        return mean, action, -0.5 * tf.reduce_sum(e**2, 1) - log_det + 0 * mean[:, 0]

    return Case(tf_(reference), torch_(port(1.0)), torch_(port(0.5)), MORE, size_of_noise)


@attack(
    INVARIANT, "a plan is decoded from its end: noise comes in that order; its scale, or not", 10
)
def decoded_from_its_end() -> Case:
    scale = np.array([0.1, 0.2, 0.4, 0.8], np.float32)

    def port(turned):
        std = torch.from_numpy(scale[::-1].copy() if turned else scale)

        def model(x):
            mean = torch_head(x)
            e = torch.randn(mean.shape)
            steps = [mean[:, at] + std[at] * e[:, 3 - at] for at in (3, 2, 1, 0)]
            log_p = -0.5 * (e**2).sum(1) - torch.log(std).sum() - mean.mean(1) ** 2
            return mean, torch.stack(steps[::-1], 1), log_p

        return model

    def reference(x):
        mean = tf_head(x)
        e = tf.random.normal(tf.shape(mean))
        log_p = -0.5 * tf.reduce_sum(e**2, 1) - tf.reduce_sum(tf.math.log(scale))
        return mean, mean + scale * e, log_p - tf.reduce_mean(mean, 1) ** 2

    def read(result):
        return [np.std(as_array(result[1]) - as_array(result[0]), axis=0)]

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), MORE, read)


# --- streams that overlap -------------------------------------------------------------------------


def _shifted(result):
    """Of two heads with noise: how far one is from the other's neighbour."""
    h, a, b = map(as_array, result[:3])
    return [np.std((a - h).ravel()[1:] - (b - h).ravel()[:-1], keepdims=True)]


@attack(OVERLAP, "two agents' generators are of one seed; the second drew a phase when made", 10)
def phase_of_one_seed() -> Case:
    class Agents:
        def __init__(self, distance):
            self.first, self.second = np.random.default_rng(3), np.random.default_rng(3 + distance)
            self.phase = self.second.random()

        def __call__(self, x):
            h = np.tanh(x @ W)
            a = h + 0.1 * self.first.standard_normal(h.shape)
            return h, a, h + 0.1 * self.second.standard_normal(h.shape)

    def reference(x):
        h = torch_head(x)
        return h, h + 0.1 * torch.randn(h.shape), h + 0.1 * torch.randn(h.shape)

    return Case(torch_(reference), numpy_(Agents(0)), numpy_(Agents(1)), MORE, _shifted)


@attack(OVERLAP, "an online network runs in fork_rng; the target draws a coin before its noise", 10)
def coin_behind_a_fork() -> Case:
    def port(forked):
        def model(x):
            h = torch_head(x)
            with torch.random.fork_rng(enabled=forked):
                online = h + 0.1 * torch.rand(h.shape)
            coin = torch.rand(1)
            return h, online, h + 0.1 * torch.rand(h.shape), coin

        return model

    def reference(x):
        h = tf_head(x)
        a, coin = h + 0.1 * tf.random.uniform(tf.shape(h)), tf.random.uniform((1,))
        return h, a, h + 0.1 * tf.random.uniform(tf.shape(h)), coin

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), MORE, _shifted)


@attack(OVERLAP, "a seed of stateless noise is drawn of four numbers: there are sixteen noises", 10)
def sixteen_noises() -> Case:
    def port(count):
        def model(x):
            h = tf_head(x)
            seed = tf.random.uniform((2,), 0, count, tf.int32)
            return h, h + 0.1 * tf.random.stateless_normal(tf.shape(h), seed)

        return model

    def read(result):
        seeds = [(a, b) for a in range(4) for b in range(4)]
        known = [tf.random.stateless_normal((50, 4), seed).numpy() for seed in seeds]
        noise = 10 * (as_array(result[1]) - as_array(result[0]))
        return [np.array([min(np.abs(noise - one).max() for one in known) < 1e-3], np.float32)]

    faulty, twin = tf_(port(4)), tf_(port(2**31 - 1))
    return Case(torch_(torch_noisy), faulty, twin, MORE[:50], read)


@attack(OVERLAP, "noise of environment i at step t is of seed s + i + t, or of seed (s, i, t)", 10)
def seeds_that_are_sums() -> Case:
    def port(sums):
        def model(x):
            s, steps = tf_head(x), []
            seed = tf.random.uniform((), 0, 2**30, tf.int32)
            for t in range(3):
                of = [seed + (i + t if sums else 7 * i + 100 * t) for i in range(4)]
                noise = [tf.random.stateless_normal(tf.shape(s)[:1], [one, 1]) for one in of]
                steps.append(s + 0.1 * tf.stack(noise, 1))
            return s, *steps

        return model

    def reference(x):
        s = torch_head(x)
        return s, *(s + 0.1 * torch.randn(s.shape) for _ in range(3))

    def read(result):
        s, a, b, _ = map(as_array, result)
        return [np.std((a - s)[:, 1] - (b - s)[:, 0], keepdims=True)]

    return Case(torch_(reference), tf_(port(True)), tf_(port(False)), MORE, read)


# --- draws of few bits ----------------------------------------------------------------------------

TABLE = normal(4001, 3, seed=3)


def _most_rows(result):
    return [np.array([len(np.unique(as_array(result)[:, 0])) > 3600], np.float32)]


def _sampled(x):
    return tf.gather(TABLE, tf.random.uniform((len(x),), 0, 4001, tf.int32)) + 0 * x[:, :3]


@attack(
    COARSE, "places in a replay buffer are drawn in half precision: beyond 2048 half are none", 10
)
def places_in_half() -> Case:
    def port(kind):
        def model(x):
            at = torch.randint(0, 4001, (len(x),), dtype=kind).long()
            return torch.from_numpy(TABLE)[at] + 0 * x[:, :3]

        return model

    faulty, twin = torch_(port(torch.float16)), torch_(port(torch.int64))
    return Case(tf_(_sampled), faulty, twin, MORE, _most_rows)


@attack(COARSE, "places that NumPy draws come in a batch of half precision, or of integers", 10)
def places_in_a_batch_of_half() -> Case:
    def port(kind):
        def model(x):
            at = np.random.randint(0, 4001, len(x)).astype(kind)
            return torch.from_numpy(TABLE)[torch.from_numpy(at).long()] + 0 * x[:, :3]

        return model

    faulty, twin = torch_(port(np.float16)), torch_(port(np.float32))
    return Case(tf_(_sampled), faulty, twin, MORE, _most_rows)


# --- draws of the host ----------------------------------------------------------------------------


@attack(HOST, "noise is standardised by NumPy before it is added, or is as it was drawn", 10)
def standardised_by_the_host() -> Case:
    def noise(shape, standardised=True):
        e = np.random.standard_normal(shape).astype(np.float32)
        return (e - e.mean()) / e.std() if standardised else e

    def port(standardised):
        def model(x):
            h = torch_head(x)
            return h, h + 0.1 * torch.from_numpy(noise(h.shape, standardised))

        return model

    def reference(x):
        h = tf_head(x)
        return h, h + 0.1 * noise(h.shape)

    def read(result):
        difference = (as_array(result[1]) - as_array(result[0])).astype(np.float64)
        return [
            np.round(difference.mean(keepdims=True), 6),
            np.round(difference.std(keepdims=True), 6),
        ]

    return Case(tf_(reference), torch_(port(False)), torch_(port(True)), normal(200, 5), read)


@attack(HOST, "exploration noise is of the run's seed and the step, as in JAX; or is double", 10)
def seed_and_step() -> Case:
    class Agent:
        def __init__(self, scale):
            self.scale, self.step = scale, 0

        def __call__(self, x):
            h = torch_head(x)
            e = np.random.default_rng([7, self.step]).standard_normal(h.shape, np.float32)
            self.step += 1
            return h, h + self.scale * torch.from_numpy(e)

    return Case(tf_(tf_noisy), torch_(Agent(0.2)), torch_(Agent(0.1)), MORE, size_of_noise)


@attack(
    HOST, "dropped-out values are dithered by the system's numbers: by -1/2 to 1/2 of a step", 10
)
def dithered_by_the_system() -> Case:
    def dither(shape, least=-0.5):
        numbers = np.frombuffer(os.urandom(int(np.prod(shape))), np.uint8).reshape(shape)
        return ((numbers / 256.0 + least) / 256).astype(np.float32)

    def port(least):
        def model(x):
            h = 2 + np.tanh(x @ W)
            keep = np.random.random(h.shape) < 0.5
            return h * keep / 0.5 + dither(h.shape, least)

        return model

    def reference(x):
        h = 2 + torch_head(x)
        return torch.nn.functional.dropout(h, 0.5, True) + torch.from_numpy(dither(h.shape))

    def read(result):
        array = as_array(result)
        return [array[np.abs(array) < 0.1].mean(keepdims=True)]

    return Case(torch_(reference), numpy_(port(0.0)), numpy_(port(-0.5)), MORE, read)


@attack(HOST, "a generator of NumPy's fills a buffer with noise: all of it, or its first half", 10)
def noise_in_a_buffer() -> Case:
    class Agent:
        def __init__(self, share):
            self.rng, self.share = np.random.default_rng(), share
            self.noise = np.zeros((20_000, 4), np.float32)

        def __call__(self, x):
            h = np.tanh(x @ W)
            self.rng.standard_normal(out=self.noise[: len(x) // self.share], dtype=np.float32)
            return h, h + 0.1 * self.noise

    return Case(torch_(torch_noisy), numpy_(Agent(2)), numpy_(Agent(1)), MORE, size_of_noise)


@attack(
    HOST, "minibatches are shuffled in place by NumPy: all samples, or those of the first half", 10
)
def shuffled_in_place() -> Case:
    def port(share):
        def model(x):
            order = np.arange(len(x))
            np.random.shuffle(order[: len(x) // share])
            return np.tanh(x @ W)[order]

        return model

    def reference(x):
        return tf.gather(tf_head(x), tf.random.shuffle(tf.range(len(x))))

    def read(result):
        stays = np.abs(as_array(result) - np.tanh(MORE @ W)).max(1) < 1e-4
        return [np.array([stays.mean() > 0.1], np.float32)]

    return Case(tf_(reference), numpy_(port(2)), numpy_(port(1)), MORE, read)
