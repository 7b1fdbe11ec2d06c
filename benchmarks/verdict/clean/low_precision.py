"""Clean pairs in float16 and bfloat16, and of a float16 model with its float32 original."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import tensorflow as tf
import torch
from torch.nn import functional as torch_f

from benchmarks.corpus.scenarios.decompositions import normal
from benchmarks.corpus.scenarios.pair import Side, chainer
from benchmarks.verdict.inputs import MODERATE

from .layers import t
from .subject import Clean, Forms, pairs_of

F = chainer.functions


def network(rng) -> Forms:
    """Two dense layers, tanh and a softmax, in each framework's own precisions."""
    first, second = normal(rng, 13, 9, scale=0.3), normal(rng, 5, 13, scale=0.3)
    bias = normal(rng, 13)

    def torch_in(dtype):
        def form(x):
            h = torch.tanh(torch_f.linear(x.to(dtype), t(first).to(dtype), t(bias).to(dtype)))
            return torch.softmax(torch_f.linear(h, t(second).to(dtype)), 1)

        return form

    def tensorflow_in(dtype):
        def form(x):
            h = tf.cast(x, dtype) @ tf.cast(first.T, dtype) + tf.cast(bias, dtype)
            return tf.nn.softmax(tf.tanh(h) @ tf.cast(second.T, dtype))

        return form

    def chainer_in(dtype):
        def form(x):
            x = F.cast(chainer.as_variable(x), dtype)
            h = F.tanh(F.linear(x, first.astype(dtype), bias.astype(dtype)))
            return F.softmax(F.linear(h, second.astype(dtype)), axis=1)

        return form

    forms = {
        "torch": Side("torch", torch_in(torch.float32)),
        "torch float16": Side("torch", torch_in(torch.float16)),
        "torch bfloat16": Side("torch", torch_in(torch.bfloat16)),
        "tensorflow": Side("tensorflow", tensorflow_in(tf.float32)),
        "tensorflow float16": Side("tensorflow", tensorflow_in(tf.float16)),
        "tensorflow bfloat16": Side("tensorflow", tensorflow_in(tf.bfloat16)),
        "chainer": Side("chainer", chainer_in(np.float32)),
        "chainer float16": Side("chainer", chainer_in(np.float16)),
    }
    return forms, (normal(rng, 4, 9),)


def convolution(rng) -> Forms:
    """A convolution, a LayerNorm over its maps and a mean, as modules cast as a whole."""
    kernel, bias = normal(rng, 6, 3, 3, 2, scale=0.3), normal(rng, 6)
    hwio = kernel.transpose(2, 3, 1, 0).copy()

    class TorchNet(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kernel, self.bias = (torch.nn.Parameter(t(array)) for array in (kernel, bias))

        def forward(self, x):
            h = torch_f.conv2d(x, self.kernel, self.bias)
            return torch_f.layer_norm(h, h.shape[1:]).relu().mean((2, 3))

    def tensorflow_in(dtype):
        def form(x):
            h = tf.nn.conv2d(tf.cast(x, dtype), tf.cast(hwio, dtype), 1, "VALID")
            h = h + tf.cast(bias, dtype)
            mean, variance = tf.nn.moments(h, (1, 2, 3), keepdims=True)
            h = (h - mean) * tf.math.rsqrt(variance + tf.constant(1e-5, dtype))
            return tf.reduce_mean(tf.nn.relu(h), (1, 2))

        return form

    forms = {
        "torch": Side("torch", TorchNet(), "NCHW"),
        "torch float16": Side("torch", TorchNet().half(), "NCHW"),
        "torch bfloat16": Side("torch", TorchNet().bfloat16(), "NCHW"),
        "tensorflow float16": Side("tensorflow", tensorflow_in(tf.float16), "NHWC"),
        "tensorflow bfloat16": Side("tensorflow", tensorflow_in(tf.bfloat16), "NHWC"),
    }
    return forms, (normal(rng, 4, 3, 8, 7),)


def pairs() -> Iterator[Clean]:
    for precision in ("float16", "bfloat16"):
        two = (f"torch {precision}", f"tensorflow {precision}")
        for subject in (network, convolution):
            yield from pairs_of(precision, subject, two, two[::-1], styles=MODERATE)
    yield from pairs_of(
        "float16",
        network,
        ("torch float16", "chainer float16"),
        ("chainer float16", "tensorflow float16"),
        styles=MODERATE,
    )
    originals = (
        (network, "torch", "torch float16"),
        (network, "torch", "torch bfloat16"),
        (network, "torch", "tensorflow float16"),
        (network, "tensorflow", "tensorflow bfloat16"),
        (network, "chainer", "chainer float16"),
        (network, "tensorflow float16", "torch"),
        (convolution, "torch", "torch float16"),
        (convolution, "torch", "tensorflow bfloat16"),
    )
    for subject, *two in originals:
        yield from pairs_of(
            "low precision of float32", subject, two, styles=MODERATE, noted="low-precision"
        )
