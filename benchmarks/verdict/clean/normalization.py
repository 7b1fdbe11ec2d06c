"""Clean pairs of normalizing layers: fused, by hand, in one pass over the values or in two."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import tensorflow as tf
import torch
from keras import layers
from torch import nn
from torch.nn import functional as torch_f

from benchmarks.corpus.scenarios.decompositions import normal
from benchmarks.corpus.scenarios.pair import Side, chainer, image_side
from benchmarks.verdict.inputs import ALL

from .layers import AROUND, AROUND_TF, Composed, keras_model, loaded, t
from .subject import Clean, Forms, pairs_of

F, L = chainer.functions, chainer.links
EPSILON = 1e-5


def batch_normalization(rng) -> Forms:
    gamma, beta, mean = normal(rng, 7), normal(rng, 7), normal(rng, 7)
    variance = rng.uniform(0.5, 2.0, 7).astype(np.float32)
    torch_net = loaded(nn.BatchNorm1d(7, EPSILON), gamma, beta, mean, variance)
    keras_net = keras_model(
        (7,), [layers.BatchNormalization(epsilon=EPSILON)], gamma, beta, mean, variance
    )
    link = L.BatchNormalization(7, eps=EPSILON, initial_gamma=gamma, initial_beta=beta)
    link.avg_mean[...], link.avg_var[...] = mean, variance
    forms = {
        "torch": Side("torch", torch_net),
        "keras": Side("keras", keras_net),
        "chainer": Side("chainer", Composed(lambda s, x: s.norm(x), norm=link)),
    }
    return forms, (normal(rng, 6, 7),)


def layer_normalization(rng) -> Forms:
    gamma, beta = normal(rng, 9), normal(rng, 9)
    link = L.LayerNormalization(9, EPSILON)
    link.gamma.array[...], link.beta.array[...] = gamma, beta
    forms = {
        "torch": Side("torch", loaded(nn.LayerNorm(9, EPSILON), gamma, beta)),
        "keras": Side(
            "keras",
            keras_model((9,), [layers.LayerNormalization(epsilon=EPSILON)], gamma, beta),
        ),
        "chainer": Side("chainer", Composed(lambda s, x: s.norm(x), norm=link)),
    }
    return forms, (normal(rng, 6, 9),)


def group_normalization(rng) -> Forms:
    gamma, beta = normal(rng, 6), normal(rng, 6)

    def torch_form(x):
        return torch_f.group_norm(x, 3, t(gamma), t(beta), EPSILON).amax((2, 3))

    def tensorflow_form(x):
        grouped = tf.reshape(x, (len(x), 5 * 7, 3, 2))
        mean, variance = tf.nn.moments(grouped, (1, 3), keepdims=True)
        y = tf.reshape((grouped - mean) * tf.math.rsqrt(variance + EPSILON), x.shape)
        return tf.reduce_max(y * gamma + beta, (1, 2))

    def chainer_form(x):
        return F.max(F.group_normalization(x, 3, gamma, beta, EPSILON), axis=(2, 3))

    forms = {
        "torch": image_side("torch", torch_form),
        "tensorflow": image_side("tensorflow", tensorflow_form),
        "chainer": image_side("chainer", chainer_form),
    }
    return forms, (normal(rng, 4, 6, 5, 7),)


def one_pass_variance(rng) -> Forms:
    """The mean of squares less the square of the mean, against the mean of squared distances."""

    def torch_two(x):
        return (x - x.mean(1, keepdim=True)) / torch.sqrt(
            x.var(1, correction=0, keepdim=True) + 1e-3
        )

    def torch_one(x):
        mean = x.mean(1, keepdim=True)
        variance = (x * x).mean(1, keepdim=True) - mean * mean
        return (x - mean) / torch.sqrt(variance.clamp(min=0) + 1e-3)

    def tensorflow_one(x):
        mean = tf.reduce_mean(x, 1, keepdims=True)
        variance = tf.reduce_mean(x * x, 1, keepdims=True) - mean * mean
        return (x - mean) / tf.sqrt(tf.maximum(variance, 0.0) + 1e-3)

    def chainer_two(x):
        x = chainer.as_variable(x)
        centred = x - F.broadcast_to(F.mean(x, axis=1, keepdims=True), x.shape)
        variance = F.mean(centred**2, axis=1, keepdims=True)
        return centred / F.broadcast_to(F.sqrt(variance + 1e-3), x.shape)

    forms = {
        "torch": Side("torch", torch_two),
        "torch in one pass": Side("torch", torch_one),
        "tensorflow in one pass": Side("tensorflow", tensorflow_one),
        "chainer": Side("chainer", chainer_two),
    }
    return forms, (normal(rng, 5, 23),)


def root_mean_square_normalization(rng) -> Forms:
    gain = normal(rng, 11)

    def torch_form(x):
        return torch_f.rms_norm(x, (11,), t(gain), 1e-6)

    def tensorflow_form(x):
        return x * tf.math.rsqrt(tf.reduce_mean(x**2, -1, keepdims=True) + 1e-6) * gain

    def chainer_form(x):
        x = chainer.as_variable(x)
        size = F.sqrt(F.mean(x * x, axis=1, keepdims=True) + 1e-6)
        return x / F.broadcast_to(size, x.shape) * gain

    forms = {
        "torch": Side("torch", torch_form),
        "tensorflow": Side("tensorflow", tensorflow_form),
        "chainer": Side("chainer", chainer_form),
    }
    return forms, (normal(rng, 6, 11),)


def pixels_normalized(rng) -> Forms:
    """Pixels over 255, less a mean, over a deviation; or the three in one factor and one shift."""
    mean, deviation = normal(rng, 3), rng.uniform(0.2, 0.5, 3).astype(np.float32)
    factor = (1 / (255.0 * deviation.astype(np.float64))).astype(np.float32)
    shift = (mean / deviation.astype(np.float64)).astype(np.float32)

    def torch_form(x):
        return (x / 255 - t(mean)[:, None, None]) / t(deviation)[:, None, None]

    def tensorflow_form(x):
        return x * factor - shift

    def chainer_form(x):
        scaled = chainer.as_variable(x) * np.float32(1 / 255)
        return (scaled - mean[:, None, None]) / deviation[:, None, None]

    forms = {
        "torch": image_side("torch", torch_form),
        "tensorflow": image_side("tensorflow", tensorflow_form),
        "chainer": image_side("chainer", chainer_form),
    }
    return forms, (normal(rng, 4, 3, 5, 7),)


def pairs() -> Iterator[Clean]:
    family = "normalization"
    for subject in (batch_normalization, layer_normalization):
        yield from pairs_of(family, subject, *AROUND)
    for subject in (
        group_normalization,
        root_mean_square_normalization,
        pixels_normalized,
    ):
        yield from pairs_of(family, subject, *AROUND_TF)
    yield from pairs_of(
        family,
        one_pass_variance,
        ("torch", "torch in one pass"),
        ("torch", "tensorflow in one pass"),
        ("chainer", "tensorflow in one pass"),
        # around a large mean one pass loses digits that two keep: these are not one model there
        styles=tuple(style for style in ALL if style != "mean 100"),
    )
    yield from pairs_of(family, one_pass_variance, ("torch in one pass", "tensorflow in one pass"))
