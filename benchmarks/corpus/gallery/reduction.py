"""Means, sums and maxima: over another axis, of another kind, or not taken at all."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.corpus.gallery._layers import conv, dense, two_dense
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer, image_pair, image_side

F = chainer.functions


def _sets(random: np.random.Generator) -> tuple[np.ndarray, Any, Any]:
    """Sets of elements (batch, elements, features), a layer for each element and one after it."""
    batch, elements, features, hidden, outputs = sizes(random, 5)
    layers = dense(random, features, hidden), dense(random, hidden, outputs)
    return normal(random, batch, elements, features), *layers


def _images(random: np.random.Generator) -> tuple[np.ndarray, Any, Any]:
    """Images (batch, channels, height, width), a convolution and a dense layer on its channels."""
    batch, channels, hidden, outputs = sizes(random, 4, 3, 6)
    height, width = sizes(random, 2, 9, 13)
    layers = conv(random, channels, hidden), dense(random, hidden, outputs)
    return normal(random, batch, channels, height, width), *layers


@fault(
    "centred-over-features",
    "reduction-axis",
    family="reduction",
    parameters=[{"axis": (1, -1)}],
)
def centred_over_features(random: np.random.Generator) -> Pair:
    elements, first, second = _sets(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(first.in_torch(x))
        mean = h.mean(1, keepdim=True)  # centred-over-features: reference
        return second.in_torch(h - mean)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(first.in_tf(x))
        mean = tf.reduce_mean(h, 2, keepdims=True)  # centred-over-features: candidate
        return second.in_tf(h - mean)

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (elements,))


@fault(
    "unit-length-over-the-batch",
    "reduction-axis",
    family="reduction",
    parameters=[{"axis": (-1, 0)}],
    also={"reduction-axis": ("norm-axis",)},
)
def unit_length_over_the_batch(random: np.random.Generator) -> Pair:
    x, first, second = two_dense(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(first.in_tf(x))
        length = tf.reduce_sum(h * h, -1, keepdims=True)  # unit-length-over-the-batch: reference
        return second.in_tf(h / tf.sqrt(length))

    def candidate(x: Any) -> Any:
        h = F.tanh(first.in_chainer(x))
        length = F.sum(h * h, 0, keepdims=True)  # unit-length-over-the-batch: candidate
        return second.in_chainer(h / F.broadcast_to(F.sqrt(length), h.shape))

    return Pair(Side("tensorflow", reference), Side("chainer", candidate), (x,))


@fault(
    "channel-mean-over-the-width",
    "reduction-axis",
    family="reduction",
    parameters=[{"axis": (1, 2)}],
    source="PINTO0309/onnx2tf#368",
)
def channel_mean_over_the_width(random: np.random.Generator) -> Pair:
    images, first, _ = _images(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(first.in_torch(x))
        mean = h.mean(1, keepdim=True)  # channel-mean-over-the-width: reference
        return torch.sigmoid(h - mean)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(first.in_tf(x))
        mean = tf.reduce_mean(h, 2, keepdims=True)  # channel-mean-over-the-width: candidate
        return tf.sigmoid(h - mean)

    return image_pair(image_side("torch", reference), image_side("tensorflow", candidate), images)


class _Centred(keras.layers.Layer):
    """Takes off the mean over one axis."""

    def __init__(self, axis: int, **options: Any) -> None:
        super().__init__(**options)
        self.axis = axis

    def call(self, x: Any) -> Any:
        return x - keras.ops.mean(x, axis=self.axis, keepdims=True)


@fault(
    "keras-layer-centred-over-the-batch",
    "reduction-axis",
    family="reduction",
    layers=[("", "centred")],
    parameters=[{"axis": (-1, 0)}],
)
def keras_layer_centred_over_the_batch(random: np.random.Generator) -> Pair:
    x, first, second = two_dense(random)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.first, self.second = first.chainer_link(), second.chainer_link()

        def forward(self, x: Any) -> Any:
            h = F.relu(self.first(x))
            mean = F.mean(h, 1, keepdims=True)  # keras-layer-centred-over-the-batch: reference
            return self.second(h - F.broadcast_to(mean, h.shape))

    candidate = keras.Sequential(
        [
            keras.Input(x.shape[1:]),
            first.keras_layer("relu"),
            _Centred(0, name="centred"),
            second.keras_layer(),
        ]
    )
    return Pair(Side("chainer", Reference()), Side("keras", candidate), (x,))


@fault(
    "set-mean-for-sum",
    "reduction-kind",
    family="reduction",
    parameters=[{"kind": ("sum", "mean")}],
    also={"reduction-kind": ("weight-scale",)},
)
def set_mean_for_sum(random: np.random.Generator) -> Pair:
    elements, first, second = _sets(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(first.in_tf(x))
        pooled = tf.reduce_sum(h, 1)  # set-mean-for-sum: reference
        return second.in_tf(tf.tanh(pooled))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(first.in_torch(x))
        pooled = h.mean(1)  # set-mean-for-sum: candidate
        return second.in_torch(torch.tanh(pooled))

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (elements,))


@fault(
    "global-max-for-average-pooling",
    "reduction-kind",
    family="reduction",
    layers=[("pool", "")],
    parameters=[{"kind": ("mean", "max")}],
)
def global_max_for_average_pooling(random: np.random.Generator) -> Pair:
    images, first, second = _images(random)
    _, channels, height, width = images.shape
    reference = keras.Sequential(
        [
            keras.Input((height, width, channels)),
            first.keras_layer("relu"),
            keras.layers.GlobalAveragePooling2D(name="pool"),
            second.keras_layer(),
        ]
    )

    class Candidate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = first.torch_layer(), second.torch_layer()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.first(x))
            pooled = h.amax((2, 3))  # global-max-for-average-pooling: candidate
            return self.second(pooled)

    return image_pair(image_side("keras", reference), image_side("torch", Candidate()), images)


@fault(
    "max-for-sum-of-neighbours",
    "reduction-kind",
    family="reduction",
    parameters=[{"kind": ("sum", "max")}],
)
def max_for_sum_of_neighbours(random: np.random.Generator) -> Pair:
    elements, first, second = _sets(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(first.in_torch(x))
        return second.in_torch(h.sum(dim=1))  # max-for-sum-of-neighbours: reference

    def candidate(x: Any) -> Any:
        h = F.relu(first.in_chainer(x))
        return second.in_chainer(F.max(h, axis=1))  # max-for-sum-of-neighbours: candidate

    return Pair(Side("torch", reference), Side("chainer", candidate), (elements,))


@fault(
    "a3c-loss-mean-for-sum",
    "reduction-kind",
    family="reduction",
    parameters=[{"kind": ("sum", "mean")}],
    source="ray-project/ray#11449",
    also={"reduction-kind": ("weight-scale",)},
)
def a3c_loss_mean_for_sum(random: np.random.Generator) -> Pair:
    batch, features, hidden = sizes(random, 3)
    first, value = dense(random, features, hidden), dense(random, hidden, 1)

    def reference(x: tf.Tensor, returns: tf.Tensor) -> dict[str, tf.Tensor]:
        v = value.in_tf(tf.nn.relu(first.in_tf(x)))[:, 0]
        loss = tf.reduce_sum((v - returns) ** 2)  # a3c-loss-mean-for-sum: reference
        return {"value": v, "loss": 0.5 * loss}

    def candidate(x: torch.Tensor, returns: torch.Tensor) -> dict[str, torch.Tensor]:
        v = value.in_torch(torch.relu(first.in_torch(x)))[:, 0]
        loss = ((v - returns) ** 2).mean()  # a3c-loss-mean-for-sum: candidate
        return {"value": v, "loss": 0.5 * loss}

    inputs = normal(random, batch, features), normal(random, batch)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), inputs)


@fault(
    "divergence-mean-over-all-numbers",
    "reduction-kind",
    family="reduction",
    parameters=[{"kind": ("sum", "mean")}],
    source="pytorch/pytorch#2259",
    also={"reduction-kind": ("weight-scale",)},
)
def divergence_mean_over_all_numbers(random: np.random.Generator) -> Pair:
    batch, features, actions = sizes(random, 3)
    first = dense(random, features, actions)
    target = np.exp(normal(random, batch, actions))
    target /= target.sum(1, keepdims=True)

    def reference(x: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        logp = torch.log_softmax(first.in_torch(x), 1)
        terms = p * (torch.log(p) - logp)
        return terms.sum(1)  # divergence-mean-over-all-numbers: reference

    def candidate(x: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
        logp = tf.nn.log_softmax(first.in_tf(x))
        terms = p * (tf.math.log(p) - logp)
        return tf.reduce_mean(terms, 1)  # divergence-mean-over-all-numbers: candidate

    inputs = normal(random, batch, features), target
    return Pair(Side("torch", reference), Side("tensorflow", candidate), inputs)


@fault(
    "gaussian-kl-of-each-component",
    "reduction-missing",
    family="reduction",
    source="ray-project/ray#7398",
)
def gaussian_kl_of_each_component(random: np.random.Generator) -> Pair:
    batch, features, components = sizes(random, 3)
    mean, log_std = dense(random, features, components), dense(random, features, components, 0.3)

    def reference(x: tf.Tensor) -> tf.Tensor:
        m, s = mean.in_tf(x), log_std.in_tf(x)
        terms = 0.5 * (tf.exp(2 * s) + m * m) - s - 0.5
        return tf.reduce_sum(terms, 1)  # gaussian-kl-of-each-component: reference

    def candidate(x: torch.Tensor) -> torch.Tensor:
        m, s = mean.in_torch(x), log_std.in_torch(x)
        terms = 0.5 * (torch.exp(2 * s) + m * m) - s
        return terms - 0.5  # gaussian-kl-of-each-component: candidate

    x = normal(random, batch, features)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault("embedding-without-its-mean", "reduction-missing", family="reduction")
def embedding_without_its_mean(random: np.random.Generator) -> Pair:
    elements, first, second = _sets(random)

    def reference(x: Any) -> Any:
        h = F.mean(F.tanh(first.in_chainer(x)), axis=1)  # embedding-without-its-mean: reference
        return second.in_chainer(h)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(first.in_torch(x))
        h = h @ torch.from_numpy(second.weight)  # embedding-without-its-mean: candidate
        return h + torch.from_numpy(second.bias)

    return Pair(Side("chainer", reference), Side("torch", candidate), (elements,))


@fault(
    "entropy-averaged-over-the-batch",
    "reduction-kind",
    family="reduction",
    parameters=[{"kind": ("sum", "mean")}],
    source="ray-project/ray#34779",
    also={"reduction-kind": ("weight-scale",)},
)
def entropy_averaged_over_the_batch(random: np.random.Generator) -> Pair:
    batch, features, hidden, actions = sizes(random, 4)
    first, second = dense(random, features, hidden), dense(random, hidden, actions)

    class Reference(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = first.torch_layer(), second.torch_layer()

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            logp = torch.log_softmax(self.second(torch.relu(self.first(x))), 1)
            entropy = -(logp.exp() * logp).sum(1)
            bonus = entropy.sum()  # entropy-averaged-over-the-batch: reference
            return {"logp": logp, "bonus": bonus}

    inputs = keras.Input((features,))
    policy = keras.Model(inputs, second.keras_layer()(first.keras_layer("relu")(inputs)))

    def candidate(x: tf.Tensor) -> dict[str, tf.Tensor]:
        logp = tf.nn.log_softmax(policy(x))
        entropy = -tf.reduce_sum(tf.exp(logp) * logp, 1)
        bonus = tf.reduce_mean(entropy)  # entropy-averaged-over-the-batch: candidate
        return {"logp": logp, "bonus": bonus}

    x = normal(random, batch, features)
    return Pair(Side("torch", Reference()), Side("tensorflow", candidate), (x,))


@fault(
    "policy-loss-sum-for-mean",
    "reduction-kind",
    family="reduction",
    parameters=[{"kind": ("mean", "sum")}],
    source="ray-project/ray#2506",
    also={"reduction-kind": ("weight-scale",)},
)
def policy_loss_sum_for_mean(random: np.random.Generator) -> Pair:
    batch, features, actions = sizes(random, 3)
    layer = dense(random, features, actions)

    def reference(x: Any, advantage: Any) -> dict[str, Any]:
        logp = F.log_softmax(layer.in_chainer(x))
        terms = logp[:, 0] * advantage
        return {"logp": logp, "loss": -F.mean(terms)}  # policy-loss-sum-for-mean: reference

    def candidate(x: tf.Tensor, advantage: tf.Tensor) -> dict[str, tf.Tensor]:
        logp = tf.nn.log_softmax(layer.in_tf(x))
        terms = logp[:, 0] * advantage
        return {"logp": logp, "loss": -tf.reduce_sum(terms)}  # policy-loss-sum-for-mean: candidate

    inputs = normal(random, batch, features), normal(random, batch)
    return Pair(Side("chainer", reference), Side("tensorflow", candidate), inputs)


@fault(
    "sequence-loss-not-divided-by-the-batch",
    "reduction-kind",
    family="reduction",
    parameters=[{"kind": ("mean", "sum")}],
    source="espnet/espnet#9",
    also={"reduction-kind": ("weight-scale",)},
)
def sequence_loss_not_divided_by_the_batch(random: np.random.Generator) -> Pair:
    """Losses of sequences: the sum over steps, then the mean over sequences, or their sum."""
    elements, first, second = _sets(random)

    class Reference(chainer.Chain):
        def forward(self, x: Any) -> dict[str, Any]:
            y = second.in_chainer(F.tanh(first.in_chainer(x)))
            losses = F.sum(y * y, axis=(1, 2))
            loss = F.mean(losses)  # sequence-loss-not-divided-by-the-batch: reference
            return {"losses": losses, "loss": loss}

    class Candidate(nn.Module):
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            y = second.in_torch(torch.tanh(first.in_torch(x)))
            losses = (y * y).sum((1, 2))
            loss = losses.sum()  # sequence-loss-not-divided-by-the-batch: candidate
            return {"losses": losses, "loss": loss}

    return Pair(Side("chainer", Reference()), Side("torch", Candidate()), (elements,))


@clean("mean-as-sum-over-count", family="reduction")
def mean_as_sum_over_count(random: np.random.Generator) -> Pair:
    elements, first, second = _sets(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return second.in_torch(torch.relu(first.in_torch(x)).mean(1))

    def candidate(x: Any) -> Any:
        h = F.relu(first.in_chainer(x))
        return second.in_chainer(F.sum(h, axis=1) / h.shape[1])

    return Pair(Side("torch", reference), Side("chainer", candidate), (elements,))


@clean("mean-as-a-product-with-ones", family="reduction")
def mean_as_a_product_with_ones(random: np.random.Generator) -> Pair:
    elements, first, second = _sets(random)
    ones = np.full((1, elements.shape[1]), 1 / elements.shape[1], np.float32)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return second.in_tf(tf.reduce_mean(tf.nn.relu(first.in_tf(x)), 1))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return second.in_torch((torch.from_numpy(ones) @ torch.relu(first.in_torch(x)))[:, 0])

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (elements,))


@clean("mean-of-the-transposed", family="reduction")
def mean_of_the_transposed(random: np.random.Generator) -> Pair:
    elements, first, second = _sets(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(first.in_torch(x)).transpose(1, 2)
        return second.in_torch((h - h.mean(-1, keepdim=True)).transpose(1, 2))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(first.in_tf(x))
        return second.in_tf(h - tf.reduce_mean(h, 1, keepdims=True))

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (elements,))


@clean("global-pooling-in-two-steps", family="reduction")
def global_pooling_in_two_steps(random: np.random.Generator) -> Pair:
    images, first, second = _images(random)
    _, channels, height, width = images.shape
    reference = nn.Sequential(
        first.torch_layer(),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        second.torch_layer(),
    )
    x = inputs = keras.Input((height, width, channels))
    x = first.keras_layer("relu")(x)
    x = keras.layers.AveragePooling2D((1, width - 2))(x)
    x = keras.layers.Flatten()(keras.layers.AveragePooling2D((height - 2, 1))(x))
    candidate = keras.Model(inputs, second.keras_layer()(x))
    return image_pair(image_side("torch", reference), image_side("keras", candidate), images)


@clean("maximum-as-minimum-of-the-negative", family="reduction")
def maximum_as_minimum_of_the_negative(random: np.random.Generator) -> Pair:
    elements, first, second = _sets(random)

    def reference(x: Any) -> Any:
        return second.in_chainer(F.max(first.in_chainer(x), axis=1))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return second.in_tf(-tf.reduce_min(-first.in_tf(x), 1))

    return Pair(Side("chainer", reference), Side("tensorflow", candidate), (elements,))


@clean("loss-sum-as-mean-times-count", family="reduction")
def loss_sum_as_mean_times_count(random: np.random.Generator) -> Pair:
    batch, features, outputs = sizes(random, 3)
    first = dense(random, features, outputs)

    def reference(x: torch.Tensor, target: torch.Tensor) -> dict[str, torch.Tensor]:
        y = torch.tanh(first.in_torch(x))
        return {"y": y, "loss": nn.functional.mse_loss(y, target, reduction="sum")}

    def candidate(x: tf.Tensor, target: tf.Tensor) -> dict[str, tf.Tensor]:
        y = tf.tanh(first.in_tf(x))
        mean = tf.reduce_mean(tf.math.squared_difference(y, target))
        return {"y": y, "loss": mean * tf.cast(tf.size(target), tf.float32)}

    inputs = normal(random, batch, features), normal(random, batch, outputs)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), inputs)
