"""Dropout that stays on where it ought to be off, or drops another share."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.corpus.gallery._layers import Dense, dense
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer

F = chainer.functions


def _hidden(random: np.random.Generator, batch: int = 7) -> tuple[np.ndarray, Dense, Dense]:
    """Features, a wide hidden layer (so that a share of it can be measured), and outputs."""
    features, outputs = sizes(random, 2)
    width = int(random.integers(80, 120))
    layers = dense(random, features, width), dense(random, width, outputs)
    return normal(random, batch, features), *layers


@fault(
    "functional-dropout-stays-on",
    "dropout-active",
    family="mode",
    source="espnet/espnet#3539",
)
def functional_dropout_stays_on(random: np.random.Generator) -> Pair:
    x, first, second = _hidden(random)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.first, self.second = first.chainer_link(), second.chainer_link()

        def forward(self, x: Any) -> Any:
            h = F.dropout(F.tanh(self.first(x)), 0.3)
            return self.second(h)  # functional-dropout-stays-on: reference

    class Candidate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = first.torch_layer(), second.torch_layer()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.tanh(self.first(x))
            h = nn.functional.dropout(h, 0.3)  # functional-dropout-stays-on: candidate
            return self.second(h)

    return Pair(Side("chainer", Reference()), Side("torch", Candidate()), (x,))


@fault("raw-dropout-in-tensorflow", "dropout-active", family="mode", layers=[("3", "")])
def raw_dropout_in_tensorflow(random: np.random.Generator) -> Pair:
    x, first, second = _hidden(random)
    reference = nn.Sequential(
        first.torch_layer(), nn.Tanh(), nn.Dropout(0.4), second.torch_layer()
    ).eval()

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(first.in_tf(x))
        h = tf.nn.dropout(h, 0.4)  # raw-dropout-in-tensorflow: candidate
        return second.in_tf(h)

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault("keras-dropout-in-training", "dropout-active", family="mode")
def keras_dropout_in_training(random: np.random.Generator) -> Pair:
    x, first, second = _hidden(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(first.in_tf(x))
        h = tf.linalg.matmul(h, second.weight)  # keras-dropout-in-training: reference
        return h + second.bias

    class Candidate(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = first.keras_layer("tanh"), second.keras_layer()
            self.dropout = keras.layers.Dropout(0.5)

        def call(self, x: Any) -> Any:
            h = self.dropout(self.first(x), training=True)  # keras-dropout-in-training: candidate
            return self.second(h)

    return Pair(Side("tensorflow", reference), Side("keras", Candidate()), (x,))


@fault(
    "dropout-share-kept-and-dropped",
    "dropout-rate",
    family="mode",
    provable=False,
    parameters=[{"rate": (0.2, 0.8)}],
)
def dropout_share_kept_and_dropped(random: np.random.Generator) -> Pair:
    """A `keep_prob` of 0.8 taken for the share that is dropped."""
    x, first, second = _hidden(random, batch=23)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(first.in_tf(x))
        h = tf.nn.dropout(h, 0.2)  # dropout-share-kept-and-dropped: reference
        return second.in_tf(h)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(first.in_torch(x))
        h = nn.functional.dropout(h, 0.8)  # dropout-share-kept-and-dropped: candidate
        return second.in_torch(h)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault(
    "dropout-half-and-a-tenth",
    "dropout-rate",
    family="mode",
    provable=False,
    parameters=[{"rate": (0.1, 0.5)}],
)
def dropout_half_and_a_tenth(random: np.random.Generator) -> Pair:
    x, first, second = _hidden(random, batch=23)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(first.in_torch(x))
        h = nn.functional.dropout(h, 0.1, training=True)  # dropout-half-and-a-tenth: reference
        return second.in_torch(h)

    def candidate(x: Any) -> Any:
        h = F.tanh(first.in_chainer(x))
        with chainer.using_config("train", True):
            h = F.dropout(h)  # dropout-half-and-a-tenth: candidate
        return second.in_chainer(h)

    return Pair(Side("torch", reference), Side("chainer", candidate), (x,))


@fault(
    "dropout-of-the-embedding-itself",
    "dropout-rate",
    family="mode",
    provable=False,
    parameters=[{"rate": (0.25, 0.75)}],
)
def dropout_of_the_embedding_itself(random: np.random.Generator) -> Pair:
    """What the dropout leaves is the output."""
    x, first, _ = _hidden(random, batch=23)

    def reference(x: Any) -> Any:
        h = F.tanh(first.in_chainer(x))
        with chainer.using_config("train", True):
            return F.dropout(h, 0.25)  # dropout-of-the-embedding-itself: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(first.in_tf(x))
        return tf.nn.dropout(h, 0.75)  # dropout-of-the-embedding-itself: candidate

    return Pair(Side("chainer", reference), Side("tensorflow", candidate), (x,))


@clean("dropout-off-in-layers-and-links", family="mode")
def dropout_off_in_layers_and_links(random: np.random.Generator) -> Pair:
    x, first, second = _hidden(random)
    reference = nn.Sequential(
        first.torch_layer(), nn.Tanh(), nn.Dropout(0.4), second.torch_layer()
    ).eval()

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.first, self.second = first.chainer_link(), second.chainer_link()

        def forward(self, x: Any) -> Any:
            return self.second(F.dropout(F.tanh(self.first(x)), 0.4))

    return Pair(Side("torch", reference), Side("chainer", Candidate()), (x,))


@clean("dropout-layer-and-none", family="mode")
def dropout_layer_and_none(random: np.random.Generator) -> Pair:
    x, first, second = _hidden(random)
    reference = keras.Sequential(
        [
            keras.Input((x.shape[1],)),
            first.keras_layer("tanh"),
            keras.layers.Dropout(0.5),
            second.keras_layer(),
        ]
    )

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return second.in_torch(torch.tanh(first.in_torch(x)))

    return Pair(Side("keras", reference), Side("torch", candidate), (x,))


@clean("dropout-of-rate-zero", family="mode")
def dropout_of_rate_zero(random: np.random.Generator) -> Pair:
    x, first, second = _hidden(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return second.in_tf(tf.tanh(first.in_tf(x)))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(first.in_torch(x))
        return second.in_torch(nn.functional.dropout(h, 0.0, training=True))

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@clean("dropout-on-in-both", family="mode")
def dropout_on_in_both(random: np.random.Generator) -> Pair:
    """The same share is dropped on both sides: the draws differ, their distribution does not."""
    x, first, second = _hidden(random, batch=23)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(first.in_torch(x))
        return second.in_torch(nn.functional.dropout(h, 0.3, training=True))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return second.in_tf(tf.nn.dropout(tf.tanh(first.in_tf(x)), 0.3))

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))
