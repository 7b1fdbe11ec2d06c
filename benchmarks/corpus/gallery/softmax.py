"""Softmax over the wrong axis, twice, at another temperature, or in logarithms."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.corpus.gallery._layers import between, conv, dense, two_dense
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer, image_pair, image_side

F = chainer.functions


def _c51(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, a dense layer's weights, a support: all that a distributional head needs."""
    batch, features, actions, atoms = sizes(random, 4)
    weights = normal(random, features, actions, atoms, scale=0.7)
    return normal(random, batch, features), weights, np.linspace(-10, 10, atoms, dtype=np.float32)


@fault(
    "c51-softmax-over-the-batch",
    "softmax-axis",
    family="softmax",
    parameters=[{"axis": (-1, 0)}],
    source="ray-project/ray#10330",
)
def c51_softmax_over_the_batch(random: np.random.Generator) -> Pair:
    features, weights, support = _c51(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        logits = tf.einsum("bf,fan->ban", x, weights)
        p = tf.nn.softmax(logits, axis=-1)  # c51-softmax-over-the-batch: reference
        return tf.reduce_sum(p * support, -1)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        logits = torch.einsum("bf,fan->ban", x, torch.from_numpy(weights))
        p = torch.softmax(logits, 0)  # c51-softmax-over-the-batch: candidate
        return (p * torch.from_numpy(support)).sum(-1)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (features,))


@clean("softmax-by-hand", family="softmax")
def softmax_by_hand(random: np.random.Generator) -> Pair:
    features, weights, support = _c51(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        p = tf.nn.softmax(tf.einsum("bf,fan->ban", x, weights))
        return tf.reduce_sum(p * support, -1)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        logits = torch.einsum("bf,fan->ban", x, torch.from_numpy(weights))
        e = torch.exp(logits - logits.amax(-1, keepdim=True))
        return (e / e.sum(-1, keepdim=True)) @ torch.from_numpy(support)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (features,))


@fault(
    "chainer-softmax-default-axis",
    "softmax-axis",
    family="softmax",
    parameters=[{"axis": (-1, 1)}],
    source="onnx/onnx-mlir#832",
)
def chainer_softmax_default_axis(random: np.random.Generator) -> Pair:
    features, weights, support = _c51(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        logits = torch.einsum("bf,fan->ban", x, torch.from_numpy(weights))
        p = logits.softmax(-1)  # chainer-softmax-default-axis: reference
        return p @ torch.from_numpy(support)

    def candidate(x: Any) -> Any:
        logits = F.tensordot(x, weights, axes=1)
        p = F.softmax(logits)  # chainer-softmax-default-axis: candidate
        return F.sum(p * support, axis=2)

    return Pair(Side("torch", reference), Side("chainer", candidate), (features,))


@fault(
    "softmax-layer-over-rows",
    "softmax-axis",
    family="softmax",
    layers=[("2", "classes")],
    parameters=[{"axis": (1, 1)}],
    source="onnx/keras-onnx#18",
)
def softmax_layer_over_rows(random: np.random.Generator) -> Pair:
    batch, channels, classes = sizes(random, 3, 3, 6)
    height, width = sizes(random, 2, 7, 11)
    layer = conv(random, channels, classes)
    reference = nn.Sequential(layer.torch_layer(), nn.ReLU(), nn.Softmax(dim=1))
    candidate = keras.Sequential(
        [
            keras.Input((height, width, channels)),
            layer.keras_layer("relu"),
            keras.layers.Softmax(axis=1, name="classes"),
        ]
    )
    images = normal(random, batch, channels, height, width, scale=2.0)
    return image_pair(image_side("torch", reference), image_side("keras", candidate), images)


def _attention(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries (batch, heads, steps, width), keys (.., keys, width) and values."""
    batch, heads, steps, width, keys = sizes(random, 5, 3, 9)
    shape = (batch, heads, keys, width)
    return (
        normal(random, batch, heads, steps, width),
        normal(random, *shape),
        normal(random, *shape),
    )


@fault(
    "attention-softmax-over-queries",
    "softmax-axis",
    family="softmax",
    parameters=[{"axis": (-1, 2)}],
)
def attention_softmax_over_queries(random: np.random.Generator) -> Pair:
    def reference(q: Any, k: Any, v: Any) -> Any:
        scores = F.matmul(q, k, transb=True)
        weights = F.softmax(scores, axis=3)  # attention-softmax-over-queries: reference
        return F.matmul(weights, v)

    def candidate(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = q @ k.transpose(-1, -2)
        weights = scores.softmax(-2)  # attention-softmax-over-queries: candidate
        return weights @ v

    return Pair(Side("chainer", reference), Side("torch", candidate), _attention(random))


@fault(
    "softmax-over-all-trailing",
    "softmax-flattened",
    family="softmax",
    source="onnx/keras-onnx#529",
)
def softmax_over_all_trailing(random: np.random.Generator) -> Pair:
    features, weights, support = _c51(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        logits = tf.einsum("bf,fan->ban", x, weights)
        p = tf.nn.softmax(logits)  # softmax-over-all-trailing: reference
        return tf.reduce_sum(p * support, -1)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        logits = torch.einsum("bf,fan->ban", x, torch.from_numpy(weights))
        p = torch.softmax(logits.flatten(1), 1)  # softmax-over-all-trailing: candidate
        return (p.view_as(logits) * torch.from_numpy(support)).sum(-1)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (features,))


@fault("attention-softmax-flattened", "softmax-flattened", family="softmax")
def attention_softmax_flattened(random: np.random.Generator) -> Pair:
    def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = q @ k.transpose(-1, -2)
        weights = scores.softmax(-1)  # attention-softmax-flattened: reference
        return weights @ v

    def candidate(q: Any, k: Any, v: Any) -> Any:
        scores = F.matmul(q, k, transb=True)
        flat = F.reshape(scores, (*scores.shape[:2], -1))
        weights = F.softmax(flat, axis=2)  # attention-softmax-flattened: candidate
        return F.matmul(F.reshape(weights, scores.shape), v)

    return Pair(Side("torch", reference), Side("chainer", candidate), _attention(random))


@fault("policy-log-softmax", "log-softmax-vs-softmax", family="softmax")
def policy_log_softmax(random: np.random.Generator) -> Pair:
    features, hidden, logits = two_dense(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(hidden.in_torch(x))
        return torch.log_softmax(logits.in_torch(h), -1)  # policy-log-softmax: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(hidden.in_tf(x))
        return tf.nn.softmax(logits.in_tf(h))  # policy-log-softmax: candidate

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (features,))


@fault(
    "log-softmax-layer",
    "log-softmax-vs-softmax",
    family="softmax",
    layers=[("probabilities", "3")],
)
def log_softmax_layer(random: np.random.Generator) -> Pair:
    features, hidden, logits = two_dense(random)
    reference = keras.Sequential(
        [
            keras.Input((features.shape[1],)),
            hidden.keras_layer("tanh"),
            logits.keras_layer("softmax", name="probabilities"),
        ]
    )
    candidate = nn.Sequential(
        hidden.torch_layer(), nn.Tanh(), logits.torch_layer(), nn.LogSoftmax(-1)
    )
    return Pair(Side("keras", reference), Side("torch", candidate), (features,))


@fault("boltzmann-temperature-missing", "softmax-temperature", family="softmax")
def boltzmann_temperature_missing(random: np.random.Generator) -> Pair:
    features, hidden, logits = two_dense(random)
    temperature = between(random, 1.8, 4.0)

    def reference(x: tf.Tensor) -> tf.Tensor:
        q = logits.in_tf(tf.tanh(hidden.in_tf(x)))
        return tf.nn.softmax(q / temperature)  # boltzmann-temperature-missing: reference

    def candidate(x: Any) -> Any:
        q = logits.in_chainer(F.tanh(hidden.in_chainer(x)))
        return F.softmax(q)  # boltzmann-temperature-missing: candidate

    return Pair(Side("tensorflow", reference), Side("chainer", candidate), (features,))


@fault(
    "attention-temperature-in-halves",
    "softmax-temperature",
    family="softmax",
    parameters=[{"temperature": (2.5, 3.5)}],
)
def attention_temperature_in_halves(random: np.random.Generator) -> Pair:
    def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = q @ k.transpose(-1, -2)
        p = torch.softmax(scores / 2.5, -1)  # attention-temperature-in-halves: reference
        return p @ v

    def candidate(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
        scores = tf.matmul(q, k, transpose_b=True)
        p = tf.nn.softmax(scores / 3.5)  # attention-temperature-in-halves: candidate
        return tf.matmul(p, v)

    return Pair(Side("torch", reference), Side("tensorflow", candidate), _attention(random))


@fault(
    "softmax-twice",
    "double-softmax",
    family="softmax",
    source="jeffheaton/t81_558_deep_learning#81",
)
def softmax_twice(random: np.random.Generator) -> Pair:
    features, weights, support = _c51(random)

    def reference(x: Any) -> Any:
        p = F.softmax(F.tensordot(x, weights, axes=1), axis=2)
        return F.sum(p * support, axis=2)  # softmax-twice: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        p = tf.nn.softmax(tf.einsum("bf,fan->ban", x, weights))
        p = tf.nn.softmax(p)  # softmax-twice: candidate
        return tf.reduce_sum(p * support, -1)

    return Pair(Side("chainer", reference), Side("tensorflow", candidate), (features,))


@fault("softmax-layer-twice", "double-softmax", family="softmax", layers=[("out", "again")])
def softmax_layer_twice(random: np.random.Generator) -> Pair:
    features, hidden, logits = two_dense(random, scale=3.0)
    size, actions = features.shape[1], logits.weight.shape[1]
    out = dense(random, actions, 5)

    class Reference(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden, self.logits = hidden.torch_layer(), logits.torch_layer()
            self.out = out.torch_layer()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            p = torch.softmax(self.logits(self.hidden(x).relu()), 1)
            return self.out(p)

    x = inputs = keras.Input((size,))
    x = logits.keras_layer("softmax")(hidden.keras_layer("relu")(x))
    x = keras.layers.Softmax(name="again")(x)
    candidate = keras.Model(inputs, out.keras_layer()(x))
    return Pair(Side("torch", Reference()), Side("keras", candidate), (features,))


@fault(
    "temperature-and-axis",
    "softmax-temperature",
    "softmax-axis",
    family="softmax",
    parameters=[{}, {"axis": (-1, 1)}],
)
def temperature_and_axis(random: np.random.Generator) -> Pair:
    features, weights, support = _c51(random)
    steps = normal(random, *weights.shape)

    def reference(x: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = torch.einsum("bf,fan->ban", x, torch.from_numpy(weights))
        p = torch.softmax(logits, -1)  # temperature-and-axis: reference
        other = torch.einsum("bf,fan->ban", x, torch.from_numpy(steps))
        w = torch.softmax(other, -1)  # temperature-and-axis 2: reference
        return {"p": p @ torch.from_numpy(support), "w": w @ torch.from_numpy(support)}

    def candidate(x: tf.Tensor) -> dict[str, tf.Tensor]:
        logits = tf.einsum("bf,fan->ban", x, weights)
        p = tf.nn.softmax(logits * 2.5)  # temperature-and-axis: candidate
        other = tf.einsum("bf,fan->ban", x, steps)
        w = tf.nn.softmax(other, 1)  # temperature-and-axis 2: candidate
        return {"p": tf.reduce_sum(p * support, -1), "w": tf.reduce_sum(w * support, -1)}

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (features,))


@fault("policy-log-softmax-in-keras", "log-softmax-vs-softmax", family="softmax")
def policy_log_softmax_in_keras(random: np.random.Generator) -> Pair:
    features, hidden, logits = two_dense(random)

    class Reference(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.hidden, self.logits = hidden.keras_layer("relu"), logits.keras_layer()

        def call(self, x: Any) -> Any:
            q = self.logits(self.hidden(x))
            return keras.ops.softmax(q)  # policy-log-softmax-in-keras: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q = logits.in_tf(tf.nn.relu(hidden.in_tf(x)))
        return tf.nn.log_softmax(q)  # policy-log-softmax-in-keras: candidate

    return Pair(Side("keras", Reference()), Side("tensorflow", candidate), (features,))


@clean("softmax-of-shifted-logits", family="softmax", source="ray-project/ray#24055")
def softmax_of_shifted_logits(random: np.random.Generator) -> Pair:
    features, hidden, logits = two_dense(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        q = logits.in_torch(torch.relu(hidden.in_torch(x)))
        return torch.distributions.Categorical(logits=q).probs

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q = logits.in_tf(tf.nn.relu(hidden.in_tf(x)))
        a = q - tf.reduce_max(q, -1, keepdims=True) + 3.0
        return tf.exp(a) / tf.reduce_sum(tf.exp(a), -1, keepdims=True)

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (features,))


@clean("log-of-softmax", family="softmax")
def log_of_softmax(random: np.random.Generator) -> Pair:
    features, hidden, logits = two_dense(random)

    def reference(x: Any) -> Any:
        return F.log_softmax(logits.in_chainer(F.relu(hidden.in_chainer(x))))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return torch.log(logits.in_torch(torch.relu(hidden.in_torch(x))).softmax(-1))

    return Pair(Side("chainer", reference), Side("torch", candidate), (features,))


@clean("log-softmax-by-logsumexp", family="softmax")
def log_softmax_by_logsumexp(random: np.random.Generator) -> Pair:
    features, hidden, logits = two_dense(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.log_softmax(logits.in_tf(tf.nn.relu(hidden.in_tf(x))))

    def candidate(x: Any) -> Any:
        q = logits.in_chainer(F.relu(hidden.in_chainer(x)))
        return q - F.broadcast_to(F.expand_dims(F.logsumexp(q, axis=1), 1), q.shape)

    return Pair(Side("tensorflow", reference), Side("chainer", candidate), (features,))


@clean("channel-softmax-nchw-nhwc", family="softmax")
def channel_softmax_nchw_nhwc(random: np.random.Generator) -> Pair:
    batch, channels, classes = sizes(random, 3, 3, 6)
    height, width = sizes(random, 2, 7, 11)
    layer = conv(random, channels, classes)
    reference = nn.Sequential(layer.torch_layer(), nn.Softmax2d())
    candidate = keras.Sequential(
        [keras.Input((height, width, channels)), layer.keras_layer("softmax")]
    )
    images = normal(random, batch, channels, height, width, scale=2.0)
    return image_pair(image_side("torch", reference), image_side("keras", candidate), images)


@clean("temperature-in-the-weights", family="softmax")
def temperature_in_the_weights(random: np.random.Generator) -> Pair:
    features, hidden, logits = two_dense(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.softmax(logits.in_tf(tf.nn.relu(hidden.in_tf(x))) / 4.0)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        weight, bias = torch.from_numpy(logits.weight / 4), torch.from_numpy(logits.bias / 4)
        h = hidden.in_torch(x).relu()
        return torch.addmm(bias, h, weight).softmax(1)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (features,))


@clean("attention-scaled-before-and-after", family="softmax")
def attention_scaled_before_and_after(random: np.random.Generator) -> Pair:
    def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    def candidate(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
        q = q * (q.shape[-1] ** -0.5)
        return tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True)), v)

    return Pair(Side("torch", reference), Side("tensorflow", candidate), _attention(random))


@clean("softmax-over-a-flattened-map", family="softmax")
def softmax_over_a_flattened_map(random: np.random.Generator) -> Pair:
    batch, channels, height, width = sizes(random, 4, 3, 9)
    layer = conv(random, channels, channels + 1, window=1)

    def reference(x: torch.Tensor) -> torch.Tensor:
        scores = layer.in_torch(x)
        return scores.flatten(2).softmax(-1).view_as(scores)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        scores = layer.in_tf(x)
        return tf.exp(scores - tf.reduce_logsumexp(scores, axis=(1, 2), keepdims=True))

    images = normal(random, batch, channels, height, width)
    return image_pair(image_side("torch", reference), image_side("tensorflow", candidate), images)


@clean("binary-softmax-and-sigmoid", family="softmax")
def binary_softmax_and_sigmoid(random: np.random.Generator) -> Pair:
    batch, features, hidden_size = sizes(random, 3)
    hidden, logit = dense(random, features, hidden_size), dense(random, hidden_size, 2)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return logit.in_torch(hidden.in_torch(x).tanh()).softmax(-1)[:, 1]

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q = logit.in_tf(tf.tanh(hidden.in_tf(x)))
        return tf.sigmoid(q[:, 1] - q[:, 0])

    x = normal(random, batch, features)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))
