"""Half precision on the way in one model only, and constants with too few digits."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.corpus.gallery._layers import dense, two_dense
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer

F = chainer.functions


@fault(
    "product-in-bfloat16",
    "low-precision",
    family="precision",
    source="typoverflow/flow-rl#12",
)
def product_in_bfloat16(random: np.random.Generator) -> Pair:
    x, first, second = two_dense(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(first.in_tf(x))  # product-in-bfloat16: reference
        return second.in_tf(h)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(first.in_torch(x)).bfloat16()  # product-in-bfloat16: candidate
        y = h @ torch.from_numpy(second.weight).bfloat16()
        return y.float() + torch.from_numpy(second.bias)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault("softmax-in-float16", "low-precision", family="precision")
def softmax_in_float16(random: np.random.Generator) -> Pair:
    x, first, second = two_dense(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(first.in_torch(x))  # softmax-in-float16: reference
        return second.in_torch(torch.softmax(h, -1))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(first.in_tf(x))
        half = tf.cast(h, tf.float16)  # softmax-in-float16: candidate
        return second.in_tf(tf.cast(tf.nn.softmax(half), tf.float32))

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault("activation-in-chainer-float16", "low-precision", family="precision")
def activation_in_chainer_float16(random: np.random.Generator) -> Pair:
    x, first, second = two_dense(random)

    class Reference(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = first.torch_layer(), second.torch_layer()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.sigmoid(self.first(x))  # activation-in-chainer-float16: reference
            return self.second(h)

    def candidate(x: Any) -> Any:
        h = F.cast(first.in_chainer(x), np.float16)  # activation-in-chainer-float16: candidate
        return second.in_chainer(F.cast(F.sigmoid(h), np.float32))

    return Pair(Side("torch", Reference()), Side("chainer", candidate), (x,))


@fault(
    "gaussian-constant-of-three-digits",
    "constant-precision",
    family="precision",
)
def gaussian_constant_of_three_digits(random: np.random.Generator) -> Pair:
    batch, features, components = sizes(random, 3)
    mean = dense(random, features, components)

    def reference(x: tf.Tensor, a: tf.Tensor) -> tf.Tensor:
        terms = 0.5 * (a - mean.in_tf(x)) ** 2
        terms = terms + 0.5 * math.log(2 * math.pi)  # gaussian-constant-of-three-digits: reference
        return -tf.reduce_sum(terms, 1)

    def candidate(x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        terms = 0.5 * (a - mean.in_torch(x)) ** 2
        terms = terms + 0.919  # gaussian-constant-of-three-digits: candidate
        return -terms.sum(1)

    inputs = normal(random, batch, features), normal(random, batch, components)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), inputs)


@fault("pi-of-three-digits", "constant-precision", family="precision")
def pi_of_three_digits(random: np.random.Generator) -> Pair:
    x, first, second = two_dense(random)

    def reference(x: Any) -> Any:
        h = F.tanh(first.in_chainer(x))
        phase = h * math.pi  # pi-of-three-digits: reference
        return second.in_chainer(F.cos(phase))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(first.in_tf(x))
        phase = h * 3.14  # pi-of-three-digits: candidate
        return second.in_tf(tf.cos(phase))

    return Pair(Side("chainer", reference), Side("tensorflow", candidate), (x,))


@fault(
    "embedding-scale-rounded-to-bfloat16",
    "constant-precision",
    family="precision",
    source="huggingface/transformers#29402",
)
def embedding_scale_rounded_to_bfloat16(random: np.random.Generator) -> Pair:
    """The square root of a size, rounded to the 8 bits of bfloat16 before it is used."""
    x, first, second = two_dense(random)
    scale = math.sqrt(50.0 + first.weight.shape[1])
    rounded = float(torch.tensor(scale).bfloat16())

    class Reference(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = first.keras_layer("tanh"), second.keras_layer()

        def call(self, x: Any) -> Any:
            h = self.first(x) * scale  # embedding-scale-rounded-to-bfloat16: reference
            return self.second(keras.ops.sin(h))

    class Candidate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = first.torch_layer(), second.torch_layer()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.tanh(self.first(x))
            h = h * rounded  # embedding-scale-rounded-to-bfloat16: candidate
            return self.second(torch.sin(h))

    return Pair(Side("keras", Reference()), Side("torch", Candidate()), (x,))


@clean("constants-of-float32-and-float64", family="precision")
def constants_of_float32_and_float64(random: np.random.Generator) -> Pair:
    x, first, second = two_dense(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(first.in_tf(x))
        return second.in_tf(tf.cos(h * math.pi))

    def candidate(x: Any) -> Any:
        h = F.tanh(first.in_chainer(x))
        return second.in_chainer(F.cos(h * np.float32(math.pi)))

    return Pair(Side("tensorflow", reference), Side("chainer", candidate), (x,))


@clean("half-precision-in-both", family="precision", source="jax-ml/jax#18165")
def half_precision_in_both(random: np.random.Generator) -> Pair:
    x, first, second = two_dense(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(first.in_torch(x)).bfloat16()
        return (h @ torch.from_numpy(second.weight).bfloat16()).float()

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.cast(tf.nn.relu(first.in_tf(x)), tf.bfloat16)
        return tf.cast(tf.linalg.matmul(h, tf.cast(second.weight, tf.bfloat16)), tf.float32)

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@clean("sums-in-another-order", family="precision")
def sums_in_another_order(random: np.random.Generator) -> Pair:
    """The product of a long row, whole and in two halves."""
    x, _, _ = two_dense(random)
    long, outputs = 301, 5
    first, second = dense(random, x.shape[1], long), dense(random, long, outputs)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return second.in_tf(tf.tanh(first.in_tf(x)))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h, weight = torch.tanh(first.in_torch(x)), torch.from_numpy(second.weight)
        y = h[:, 1::2] @ weight[1::2] + h[:, ::2] @ weight[::2]
        return y + torch.from_numpy(second.bias)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@clean("cast-to-float64-and-back", family="precision")
def cast_to_float64_and_back(random: np.random.Generator) -> Pair:
    x, first, second = two_dense(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return second.in_torch(torch.softmax(first.in_torch(x), -1))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        p = tf.nn.softmax(tf.cast(first.in_tf(x), tf.float64))
        return second.in_tf(tf.cast(p, tf.float32))

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@clean("inverse-root-and-division", family="precision")
def inverse_root_and_division(random: np.random.Generator) -> Pair:
    x, first, second = two_dense(random)

    def reference(x: Any) -> Any:
        h = first.in_chainer(x)
        return second.in_chainer(h / F.broadcast_to(F.sqrt(F.mean(h * h) + 1e-6), h.shape))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = first.in_torch(x)
        return second.in_torch(h * torch.rsqrt(h.square().mean() + 1e-6))

    return Pair(Side("chainer", reference), Side("torch", candidate), (x,))
