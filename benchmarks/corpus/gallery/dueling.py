"""Dueling heads: the advantages centred over the wrong axis, by the maximum, or not at all."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.corpus.gallery._layers import Dense, dense, two_dense
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer

F = chainer.functions


def _streams(random: np.random.Generator) -> tuple[np.ndarray, Dense, Dense, Dense]:
    """Features, a hidden layer, advantages (one an action) and a value."""
    features, hidden, advantage = two_dense(random)
    return features, hidden, advantage, dense(random, len(advantage.weight), 1)


def _atoms(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features, weights of advantages (features, actions, atoms), of values, and a support."""
    batch, features, actions, atoms = sizes(random, 4)
    advantage = normal(random, features, actions, atoms, scale=0.7)
    support = np.linspace(-10, 10, atoms, dtype=np.float32)
    return normal(random, batch, features), advantage, normal(random, features, atoms), support


@fault(
    "dueling-mean-over-the-batch",
    "dueling-mean-axis",
    family="dueling",
    parameters=[{"axis": (-1, 0)}],
)
def dueling_mean_over_the_batch(random: np.random.Generator) -> Pair:
    features, hidden, advantage, value = _streams(random)

    def reference(x: Any) -> Any:
        h = F.relu(hidden.in_chainer(x))
        a, v = advantage.in_chainer(h), value.in_chainer(h)
        mean = F.mean(a, axis=1, keepdims=True)  # dueling-mean-over-the-batch: reference
        return F.broadcast_to(v, a.shape) + a - F.broadcast_to(mean, a.shape)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(hidden.in_torch(x))
        a, v = advantage.in_torch(h), value.in_torch(h)
        mean = a.mean(0, keepdim=True)  # dueling-mean-over-the-batch: candidate
        return v + a - mean

    return Pair(Side("chainer", reference), Side("torch", candidate), (features,))


@fault("dueling-mean-over-everything", "dueling-mean-axis", family="dueling")
def dueling_mean_over_everything(random: np.random.Generator) -> Pair:
    features, hidden, advantage, value = _streams(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(hidden.in_tf(x))
        a = advantage.in_tf(h)
        mean = tf.reduce_mean(a, 1, keepdims=True)  # dueling-mean-over-everything: reference
        return value.in_tf(h) + (a - mean)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(hidden.in_torch(x))
        a = advantage.in_torch(h)
        mean = a.mean()  # dueling-mean-over-everything: candidate
        return value.in_torch(h) + (a - mean)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (features,))


class _KerasDueling(keras.Model):
    """Advantages (batch, actions * atoms) and values to Q, in one layer; right or wrong."""

    def __init__(self, layers: tuple[Dense, ...], actions: int, fault: str = "") -> None:
        super().__init__()
        self.hidden = layers[0].keras_layer("relu")
        self.advantage, self.value = layers[1].keras_layer(), layers[2].keras_layer()
        self.actions, self.fault = actions, fault

    def call(self, x: Any) -> Any:
        h = self.hidden(x)
        a = keras.ops.reshape(self.advantage(h), (x.shape[0], self.actions, -1))
        v = keras.ops.expand_dims(self.value(h), 1)
        if self.fault == "atoms":
            mean = keras.ops.mean(a, axis=2, keepdims=True)  # dueling-mean-over-atoms: candidate
        else:
            mean = keras.ops.mean(a, axis=1, keepdims=True)  # dueling-max-in-torch: reference
        return keras.ops.softmax(v + a - mean)


class _TorchDueling(nn.Module):
    """The same in torch."""

    def __init__(self, layers: tuple[Dense, ...], actions: int, fault: str = "") -> None:
        super().__init__()
        self.hidden, self.advantage, self.value = (layer.torch_layer() for layer in layers)
        self.actions, self.fault = actions, fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(self.hidden(x))
        a = self.advantage(h).view(len(x), self.actions, -1)
        v = self.value(h).unsqueeze(1)
        if self.fault == "max":
            best = a.amax(1, keepdim=True)  # dueling-max-in-torch: candidate
            return (v + a - best).softmax(-1)
        mean = a.mean(1, keepdim=True)  # dueling-mean-over-atoms: reference
        return (v + a - mean).softmax(-1)


def _distributional(random: np.random.Generator) -> tuple[np.ndarray, tuple[Dense, ...], int]:
    batch, features, hidden, actions, atoms = sizes(random, 5)
    layers = (
        dense(random, features, hidden),
        dense(random, hidden, actions * atoms),
        dense(random, hidden, atoms),
    )
    return normal(random, batch, features), layers, actions


@fault(
    "dueling-mean-over-atoms",
    "dueling-mean-axis",
    family="dueling",
    parameters=[{"axis": (1, -1)}],
)
def dueling_mean_over_atoms(random: np.random.Generator) -> Pair:
    features, layers, actions = _distributional(random)
    reference = _TorchDueling(layers, actions)
    candidate = _KerasDueling(layers, actions, "atoms")
    return Pair(Side("torch", reference), Side("keras", candidate), (features,))


@fault(
    "dueling-max-in-torch",
    "dueling-max-centered",
    family="dueling",
    parameters=[{"kind": ("mean", "max")}],
)
def dueling_max_in_torch(random: np.random.Generator) -> Pair:
    features, layers, actions = _distributional(random)
    reference = _KerasDueling(layers, actions)
    candidate = _TorchDueling(layers, actions, "max")
    return Pair(Side("keras", reference), Side("torch", candidate), (features,))


@fault(
    "dueling-max-for-mean",
    "dueling-max-centered",
    family="dueling",
    parameters=[{"kind": ("mean", "max")}],
)
def dueling_max_for_mean(random: np.random.Generator) -> Pair:
    features, hidden, advantage, value = _streams(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(hidden.in_torch(x))
        a, v = advantage.in_torch(h), value.in_torch(h)
        return v + a - a.mean(1, keepdim=True)  # dueling-max-for-mean: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(hidden.in_tf(x))
        a, v = advantage.in_tf(h), value.in_tf(h)
        return v + a - tf.reduce_max(a, 1, keepdims=True)  # dueling-max-for-mean: candidate

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (features,))


@fault("dueling-plain-sum", "dueling-not-centered", family="dueling")
def dueling_plain_sum(random: np.random.Generator) -> Pair:
    features, hidden, advantage, value = _streams(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(hidden.in_torch(x))
        a, v = advantage.in_torch(h), value.in_torch(h)
        return v + a - a.mean(1, keepdim=True)  # dueling-plain-sum: reference

    def candidate(x: Any) -> Any:
        h = F.relu(hidden.in_chainer(x))
        a, v = advantage.in_chainer(h), value.in_chainer(h)
        return F.broadcast_to(v, a.shape) + a  # dueling-plain-sum: candidate

    return Pair(Side("torch", reference), Side("chainer", candidate), (features,))


@fault("dueling-atoms-plain-sum", "dueling-not-centered", family="dueling")
def dueling_atoms_plain_sum(random: np.random.Generator) -> Pair:
    features, advantage, value, support = _atoms(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        a = tf.einsum("bf,fan->ban", x, advantage)
        v = tf.linalg.matmul(x, value)[:, None]
        mean = tf.reduce_mean(a, 1, keepdims=True)  # dueling-atoms-plain-sum: reference
        return tf.reduce_sum(tf.nn.softmax(v + a - mean) * support, 2)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        a = torch.einsum("bf,fan->ban", x, torch.from_numpy(advantage))
        v = (x @ torch.from_numpy(value))[:, None]
        p = torch.softmax(v + a, -1)  # dueling-atoms-plain-sum: candidate
        return (p * torch.from_numpy(support)).sum(-1)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (features,))


@fault(
    "dueling-mean-of-the-value",
    "dueling-wrong-tensor",
    family="dueling",
    source="tqjxlm/Simple-DQN-Pytorch#1",
)
def dueling_mean_of_the_value(random: np.random.Generator) -> Pair:
    features, hidden, advantage, value = _streams(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(hidden.in_tf(x))
        v, a = value.in_tf(h), advantage.in_tf(h)
        mean = tf.reduce_mean(a, 1, keepdims=True)  # dueling-mean-of-the-value: reference
        return v + a - mean

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(hidden.in_torch(x))
        v, a = value.in_torch(h), advantage.in_torch(h)
        return v + a - v.mean()  # dueling-mean-of-the-value: candidate

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (features,))


@fault("dueling-value-centred", "dueling-wrong-tensor", family="dueling")
def dueling_value_centred(random: np.random.Generator) -> Pair:
    features, advantage, value, support = _atoms(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        a = torch.einsum("bf,fan->ban", x, torch.from_numpy(advantage))
        v = (x @ torch.from_numpy(value))[:, None]
        a = a - a.mean(1, keepdim=True)  # dueling-value-centred: reference
        return torch.softmax(v + a, -1) @ torch.from_numpy(support)

    def candidate(x: Any) -> Any:
        a = F.tensordot(x, advantage, axes=1)
        v = F.expand_dims(F.matmul(x, value), 1)
        mean = F.mean(v, 2, keepdims=True)  # dueling-value-centred: candidate
        v = v - F.broadcast_to(mean, v.shape)
        return F.sum(F.softmax(F.broadcast_to(v, a.shape) + a, axis=2) * support, axis=2)

    return Pair(Side("torch", reference), Side("chainer", candidate), (features,))


@fault(
    "dueling-two-heads",
    "dueling-max-centered",
    "dueling-mean-axis",
    family="dueling",
    parameters=[{"kind": ("mean", "max")}, {"axis": (-1, 0)}],
)
def dueling_two_heads(random: np.random.Generator) -> Pair:
    batch, features, first, second = sizes(random, 4)
    a1, a2 = dense(random, features, first), dense(random, features, second)
    value = dense(random, features, 1)

    def reference(x: torch.Tensor) -> dict[str, torch.Tensor]:
        v, a, b = value.in_torch(x), a1.in_torch(x), a2.in_torch(x)
        return {
            "move": v + a - a.mean(1, keepdim=True),  # dueling-two-heads: reference
            "turn": v + b - b.mean(1, keepdim=True),  # dueling-two-heads 2: reference
        }

    def candidate(x: tf.Tensor) -> dict[str, tf.Tensor]:
        v, a, b = value.in_tf(x), a1.in_tf(x), a2.in_tf(x)
        return {
            "move": v + a - tf.reduce_max(a, 1, keepdims=True),  # dueling-two-heads: candidate
            "turn": v + b - tf.reduce_mean(b, 0, keepdims=True),  # dueling-two-heads 2: candidate
        }

    x = normal(random, batch, features)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault(
    "dueling-mean-over-the-batch-in-chainer",
    "dueling-mean-axis",
    family="dueling",
    parameters=[{"axis": (-1, 0)}],
)
def dueling_mean_over_the_batch_in_chainer(random: np.random.Generator) -> Pair:
    features, *layers = _streams(random)

    class Reference(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = layers[0].keras_layer("relu")
            self.advantage, self.value = layers[1].keras_layer(), layers[2].keras_layer()

        def call(self, x: Any) -> Any:
            h = self.hidden(x)
            a = self.advantage(h)
            mean = keras.ops.mean(a, 1, True)  # dueling-mean-over-the-batch-in-chainer: reference
            return self.value(h) + a - mean

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.hidden, self.advantage, self.value = (x.chainer_link() for x in layers)

        def forward(self, x: Any) -> Any:
            h = F.relu(self.hidden(x))
            a = self.advantage(h)
            v = F.broadcast_to(self.value(h), a.shape)
            mean = F.mean(a, 0, keepdims=True)  # dueling-mean-over-the-batch-in-chainer: candidate
            return v + a - F.broadcast_to(mean, a.shape)

    return Pair(Side("keras", Reference()), Side("chainer", Candidate()), (features,))


@fault("dueling-not-centred-in-keras", "dueling-not-centered", family="dueling")
def dueling_not_centred_in_keras(random: np.random.Generator) -> Pair:
    features, hidden, advantage, value = _streams(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(hidden.in_tf(x))
        a = advantage.in_tf(h)
        a = a - tf.reduce_mean(a, 1, keepdims=True)  # dueling-not-centred-in-keras: reference
        return value.in_tf(h) + a

    class Candidate(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = hidden.keras_layer("relu")
            self.advantage, self.value = advantage.keras_layer(), value.keras_layer()

        def call(self, x: Any) -> Any:
            h = self.hidden(x)
            return self.value(h) + self.advantage(h)  # dueling-not-centred-in-keras: candidate

    return Pair(Side("tensorflow", reference), Side("keras", Candidate()), (features,))


@fault("dueling-mean-of-the-hidden-layer", "dueling-wrong-tensor", family="dueling")
def dueling_mean_of_the_hidden_layer(random: np.random.Generator) -> Pair:
    features, hidden, advantage, value = _streams(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(hidden.in_torch(x))
        a = advantage.in_torch(h)
        mean = a.mean(1, keepdim=True)  # dueling-mean-of-the-hidden-layer: reference
        return value.in_torch(h) + a - mean

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(hidden.in_tf(x))
        a = advantage.in_tf(h)
        mean = tf.reduce_mean(h, 1, keepdims=True)  # dueling-mean-of-the-hidden-layer: candidate
        return value.in_tf(h) + a - mean

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (features,))


@clean("dueling-centred-then-added", family="dueling")
def dueling_centred_then_added(random: np.random.Generator) -> Pair:
    features, hidden, advantage, value = _streams(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(hidden.in_torch(x))
        a, v = advantage.in_torch(h), value.in_torch(h)
        return v + a - a.mean(1, keepdim=True)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(hidden.in_tf(x))
        a, v = advantage.in_tf(h), value.in_tf(h)
        return (v - tf.reduce_mean(a, 1, keepdims=True)) + a

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (features,))


@clean("dueling-chain-and-keras-model", family="dueling")
def dueling_chain_and_keras_model(random: np.random.Generator) -> Pair:
    features, layers, actions = _distributional(random)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.hidden, self.advantage, self.value = (x.chainer_link() for x in layers)

        def forward(self, x: Any) -> Any:
            h = F.relu(self.hidden(x))
            a = F.reshape(self.advantage(h), (len(x), actions, -1))
            v = F.expand_dims(self.value(h), 1) - F.mean(a, axis=1, keepdims=True)
            return F.softmax(F.broadcast_to(v, a.shape) + a, axis=2)

    candidate = _KerasDueling(layers, actions)
    return Pair(Side("chainer", Reference()), Side("keras", candidate), (features,))


@clean("dueling-layers-and-functions", family="dueling")
def dueling_layers_and_functions(random: np.random.Generator) -> Pair:
    features, layers, actions = _distributional(random)
    reference, candidate = _KerasDueling(layers, actions), _TorchDueling(layers, actions)
    return Pair(Side("keras", reference), Side("torch", candidate), (features,))


@clean("dueling-centred-weights", family="dueling")
def dueling_centred_weights(random: np.random.Generator) -> Pair:
    """The mean over actions is taken off the advantage layer's weights beforehand."""
    features, hidden, advantage, value = _streams(random)
    weight = advantage.weight - advantage.weight.mean(1, keepdims=True, dtype=np.float64)
    bias = advantage.bias - advantage.bias.mean(dtype=np.float64)

    def reference(x: Any) -> Any:
        h = F.relu(hidden.in_chainer(x))
        a = advantage.in_chainer(h)
        mean = F.broadcast_to(F.mean(a, axis=1, keepdims=True), a.shape)
        return F.broadcast_to(value.in_chainer(h), a.shape) + a - mean

    centred = Dense(weight.astype(np.float32), bias.astype(np.float32))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(hidden.in_tf(x))
        return value.in_tf(h) + centred.in_tf(h)

    return Pair(Side("chainer", reference), Side("tensorflow", candidate), (features,))


@clean("dueling-difference-of-advantages", family="dueling")
def dueling_difference_of_advantages(random: np.random.Generator) -> Pair:
    """Only differences of Q-values leave the model, and those have no mean in them."""
    features, hidden, advantage, value = _streams(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(hidden.in_torch(x))
        a = advantage.in_torch(h)
        q = value.in_torch(h) + a - a.mean(1, keepdim=True)
        return q - q.amax(1, keepdim=True)

    def candidate(x: Any) -> Any:
        a = advantage.in_chainer(F.relu(hidden.in_chainer(x)))
        return a - F.broadcast_to(F.max(a, axis=1, keepdims=True), a.shape)

    return Pair(Side("torch", reference), Side("chainer", candidate), (features,))


@clean("dueling-actions-last-or-first", family="dueling")
def dueling_actions_last_or_first(random: np.random.Generator) -> Pair:
    features, advantage, value, support = _atoms(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        a = tf.einsum("bf,fan->ban", x, advantage)
        v = tf.linalg.matmul(x, value)[:, None]
        p = tf.nn.softmax(v + a - tf.reduce_mean(a, 1, keepdims=True))
        return tf.reduce_sum(p * support, 2)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        a = torch.einsum("bf,fan->abn", x, torch.from_numpy(advantage))
        logits = (a - a.mean(0)) + x @ torch.from_numpy(value)
        return (logits.softmax(2) @ torch.from_numpy(support)).T

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (features,))
