"""Round 10: samplers that are written otherwise, and draws where frameworks meet.

Two runs of these models give other values: what is read of them are means over many samples, and
how far these move from run to run counts as their rounding.
"""

from __future__ import annotations

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
    torch_head,
    torch_noisy,
)

LAWS = "samplers-written-otherwise"
MEET = "draws-where-frameworks-meet"

MANY = normal(40_000, 5, seed=9)
V = weights(5, 4, seed=2)


def _mean(result):
    return [as_array(result).mean(0)]


@attack(LAWS, "Gumbel noise of numbers kept 1e-6 off the ends, or 1e-7; of base 2, or of e", 10)
def kept_off_the_ends() -> Case:
    def port(log):
        def model(x):
            h = tf_head(x)
            u = tf.clip_by_value(tf.random.uniform(tf.shape(h)), 1e-7, 1 - 1e-7)
            return h, h - tf.math.log(-tf.math.log(u)) / log

        return model

    def reference(x):
        h = torch_head(x)
        u = torch.rand(h.shape).clamp(1e-6, 1 - 1e-6)
        return h, h - torch.log(-torch.log(u))

    return Case(torch_(reference), tf_(port(0.693)), tf_(port(1.0)), MANY, size_of_noise)


@attack(
    LAWS, "photons of a star and of a dark pixel, by Poisson's law: the dark current is lost", 10
)
def dark_current() -> Case:
    def port(dark):
        def model(x):
            star = 1e10 * torch.exp(torch_head(x)[:, :1])
            return torch.poisson(torch.cat([star, 0.5 * dark * torch.ones_like(star)], 1))

        return model

    def reference(x):
        star = 1e10 * tf.exp(tf_head(x)[:, :1])
        return tf.random.poisson((), tf.concat([star, 0.5 * tf.ones_like(star)], 1))

    def read(result):
        return [as_array(result)[:, 1:].mean(0, dtype=np.float64)]

    return Case(tf_(reference), torch_(port(0.1)), torch_(port(1.0)), MANY, read)


@attack(
    LAWS, "rounding at random: by floor(x + u), or by a coin of the fraction; or to nearest", 10
)
def rounded_at_random() -> Case:
    def port(biased):
        def model(x):
            h = 8 * torch_head(x)
            low, u = torch.floor(h), torch.rand(h.shape)
            return torch.where(u < (0.25 + 0.5 * (h - low) if biased else h - low), low + 1, low)

        return model

    def reference(x):
        h = 8 * tf_head(x)
        return tf.floor(h + tf.random.uniform(tf.shape(h)))

    h = 8 * np.tanh(MANY @ W)
    near = h - np.floor(h) < 0.1

    def read(result):
        return [(as_array(result) - h)[near].mean(keepdims=True)]

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), MANY, read)


@attack(
    LAWS, "a sampler of diffusion adds no noise in its last step: draws none, or none of it", 10
)
def noise_of_the_last_step() -> Case:
    def port(last):
        def model(x):
            s = torch_head(x)
            for t in (2, 1, 0):
                noise = torch.randn(s.shape)
                s = 0.9 * s + (0.3 if t > 0 or last else 0.0) * noise
            return s, s

        return model

    def reference(x):
        s = tf_head(x)
        for t in (2, 1, 0):
            s = 0.9 * s
            if t > 0:
                s = s + 0.3 * tf.random.normal(tf.shape(s))
        return s, s

    mean = 0.9**3 * np.tanh(MORE @ W)

    def read(result):
        return [np.std(as_array(result[0]) - mean, keepdims=True)]

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), MORE, read)


@attack(
    LAWS, "priorities by a tree of sums, or by cumulated ones; what is left of is not taken off", 10
)
def tree_of_sums() -> Case:
    def port(less):
        def model(x):
            p = np.exp(np.tanh(x @ W)[:, 0]).astype(np.float64)
            levels = [p]
            while len(levels[-1]) > 1:
                levels.append(levels[-1].reshape(-1, 2).sum(1))
            left = np.random.random(len(p)) * levels[-1][0]
            at = np.zeros(len(p), int)
            for level in levels[-2::-1]:
                at = 2 * at
                right = left >= level[at]
                left = left - less * right * level[at]
                at = at + right
            return at

        return model

    def reference(x):
        total = tf.cumsum(tf.exp(tf.cast(tf_head(x)[:, 0], tf.float64)))
        u = tf.random.uniform((len(x),), dtype=tf.float64)
        return tf.searchsorted(total, u * total[-1], side="right")

    def read(result):
        return [np.float64(as_array(result)).mean(keepdims=True)]

    x = normal(16_384, 5)
    return Case(tf_(reference), numpy_(port(0.0)), numpy_(port(1.0)), x, read)


@attack(
    LAWS, "a proposal is taken if log u < gain, or if an exponential number > -gain; or < gain", 10
)
def taken_by_an_exponential() -> Case:
    def port(sign):
        def model(x):
            h, new = torch_head(x), torch.tanh(x @ torch.from_numpy(V))
            gain = (new - h).sum(1)
            taken = torch.empty(len(x)).exponential_() > -sign * gain
            return torch.where(taken[:, None], new, h)

        return model

    def reference(x):
        h, new = tf_head(x), tf.tanh(tf.matmul(x, V))
        taken = tf.math.log(tf.random.uniform((len(x),))) < tf.reduce_sum(new - h, 1)
        return tf.where(taken[:, None], new, h)

    h, new = np.tanh(MORE @ W), np.tanh(MORE @ V)

    def read(result):
        took = np.abs(as_array(result) - new).max(1) < 1e-5
        return [took[(new - h).sum(1) < -1].mean(keepdims=True)]

    return Case(tf_(reference), torch_(port(-1)), torch_(port(1)), MORE, read)


@attack(LAWS, "four customers' times in order: sorted, or by their gaps, each of its own rate", 10)
def times_by_their_gaps() -> Case:
    rates = np.array([4, 3, 2, 1], np.float32)

    def port(of):
        def model(x):
            rate = torch.exp(torch_head(x)[:, :1])
            gaps = torch.empty(len(x), 4).exponential_() / torch.from_numpy(of)
            return gaps.cumsum(1) / rate

        return model

    def reference(x):
        rate = tf.exp(tf_head(x)[:, :1])
        return tf.sort(-tf.math.log(tf.random.uniform((len(x), 4))), 1) / rate

    return Case(tf_(reference), torch_(port(rates[::-1].copy())), torch_(port(rates)), MORE, _mean)


@attack(MEET, "noise is NumPy's, in a numpy_function of a graph; its deviation is double", 10)
def noise_of_a_numpy_function() -> Case:
    def port(scale):
        def noise(like):
            return (scale * np.random.standard_normal(like.shape)).astype(np.float32)

        @tf.function
        def model(x):
            h = tf_head(x)
            return h, h + tf.ensure_shape(tf.numpy_function(noise, [h], tf.float32), h.shape)

        return model

    return Case(torch_(torch_noisy), tf_(port(0.2)), tf_(port(0.1)), MORE, size_of_noise)


@attack(
    MEET, "a tf.function makes noise for two heads; by NumPy it makes it once, while traced", 10
)
def noise_made_while_traced() -> Case:
    def port(draw):
        @tf.function
        def noisy(h):
            return h + 0.1 * draw()

        def model(x):
            h = tf_head(x)
            return h, noisy(h), noisy(h)

        return model

    def by_numpy():
        return np.random.standard_normal((20_000, 4)).astype(np.float32)

    def by_tensorflow():
        return tf.random.normal((20_000, 4))

    def reference(x):
        h = torch_head(x)
        return h, h + 0.1 * torch.randn(h.shape), h + 0.1 * torch.randn(h.shape)

    def read(result):
        return size_of_noise(result[1:])

    return Case(torch_(reference), tf_(port(by_numpy)), tf_(port(by_tensorflow)), MORE, read)


@attack(MEET, "noise in a loop of TensorFlow's, row by row, or at once; times a row's length", 10)
def noise_in_a_loop() -> Case:
    def port(scaled):
        @tf.function
        def model(x):
            h = tf_head(x)

            def noisy(row):
                size = tf.cast(tf.size(row), tf.float32) if scaled else 1.0
                return row + 0.1 * size * tf.random.normal(tf.shape(row))

            return h, tf.map_fn(noisy, h)

        return model

    return Case(
        torch_(torch_noisy), tf_(port(True)), tf_(port(False)), normal(200, 5), size_of_noise
    )
