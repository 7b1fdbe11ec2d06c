"""Clean pairs that draw random numbers: dropout, sampling and noise, on both sides."""

from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf
import torch
from torch.nn import functional as torch_f

from benchmarks.corpus.scenarios.decompositions import normal
from benchmarks.corpus.scenarios.pair import Side
from benchmarks.verdict.inputs import MODERATE

from .layers import t
from .subject import Clean, Forms, pairs_of


def dropout(rng) -> Forms:
    """A third of the hidden values is dropped, between two dense layers."""
    first, second = normal(rng, 40, 9, scale=0.4), normal(rng, 5, 40, scale=0.3)

    def torch_form(x):
        h = torch_f.dropout(torch.tanh(x @ t(first).T), 0.3)
        return torch.softmax(h @ t(second).T, 1)

    def tensorflow_form(x):
        h = tf.nn.dropout(tf.tanh(x @ first.T), 0.3)
        return tf.nn.softmax(h @ second.T)

    forms = {"torch": Side("torch", torch_form), "tensorflow": Side("tensorflow", tensorflow_form)}
    return forms, (normal(rng, 16, 9),)


def gaussian_sample(rng) -> Forms:
    """An action drawn as the mean plus the deviation times a normal number."""
    mean, deviation = normal(rng, 6, 9, scale=0.4), normal(rng, 6, 9, scale=0.3)

    def torch_form(x):
        spread = torch_f.softplus(x @ t(deviation).T)
        return torch.tanh(x @ t(mean).T + spread * torch.randn(16, 6))

    def tensorflow_form(x):
        spread = tf.math.softplus(x @ deviation.T)
        return tf.tanh(x @ mean.T + spread * tf.random.normal((16, 6)))

    forms = {"torch": Side("torch", torch_form), "tensorflow": Side("tensorflow", tensorflow_form)}
    return forms, (normal(rng, 16, 9),)


def noisy_dense(rng) -> Forms:
    """A dense layer with noise in its weights (Fortunato et al. 2018), all of it drawn anew."""
    mu, sigma = normal(rng, 7, 9, scale=0.4), normal(rng, 7, 9, scale=0.1)

    def torch_form(x):
        return torch_f.linear(x, t(mu) + t(sigma) * torch.randn(7, 9)).relu()

    def tensorflow_form(x):
        noise = tf.transpose(tf.random.normal((9, 7)))
        return tf.nn.relu(tf.matmul(x, mu + sigma * noise, transpose_b=True))

    forms = {"torch": Side("torch", torch_form), "tensorflow": Side("tensorflow", tensorflow_form)}
    return forms, (normal(rng, 5, 9),)


def pairs() -> Iterator[Clean]:
    two = ("torch", "tensorflow")
    for subject in (dropout, gaussian_sample, noisy_dense):
        yield from pairs_of("random draws", subject, two, two[::-1], styles=MODERATE)
