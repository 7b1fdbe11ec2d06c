"""Distributional heads: the support, the order of atoms and actions, the fractions of quantiles."""

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


def _head(random: np.random.Generator) -> tuple[np.ndarray, Dense, int, int]:
    """Features, a layer of logits (actions * atoms), the number of actions and of atoms."""
    batch, features, actions, atoms = sizes(random, 4)
    layer = dense(random, features, actions * atoms, 1.5)
    return normal(random, batch, features), layer, actions, atoms


def _support(low: float, high: float, atoms: int) -> np.ndarray:
    return np.linspace(low, high, atoms, dtype=np.float32)


@fault("support-from-zero", "support-range", family="distributional")
def support_from_zero(random: np.random.Generator) -> Pair:
    features, layer, actions, atoms = _head(random)
    symmetric, positive = _support(-10, 10, atoms), _support(0, 10, atoms)

    def reference(x: Any) -> Any:
        logits = F.reshape(layer.in_chainer(x), (-1, actions, atoms))
        weighted = F.softmax(logits, axis=2) * symmetric  # support-from-zero: reference
        return F.sum(weighted, axis=2)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        p = layer.in_torch(x).view(-1, actions, atoms).softmax(-1)
        weighted = p * torch.from_numpy(positive)  # support-from-zero: candidate
        return weighted.sum(-1)

    return Pair(Side("chainer", reference), Side("torch", candidate), (features,))


@fault("support-to-one-and-ten", "support-range", family="distributional")
def support_to_one_and_ten(random: np.random.Generator) -> Pair:
    features, layer, actions, atoms = _head(random)

    class Reference(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.logits = layer.torch_layer()
            self.register_buffer("support", torch.linspace(-10, 10, atoms))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            p = self.logits(x).view(-1, actions, atoms).softmax(-1)
            return p @ self.support  # support-to-one-and-ten: reference

    class Candidate(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.logits = layer.keras_layer()
            self.support = keras.ops.convert_to_tensor(_support(-1, 10, atoms))

        def call(self, x: Any) -> Any:
            p = keras.ops.softmax(keras.ops.reshape(self.logits(x), (-1, actions, atoms)))
            return keras.ops.sum(p * self.support, -1)  # support-to-one-and-ten: candidate

    return Pair(Side("torch", Reference()), Side("keras", Candidate()), (features,))


@fault("support-descending", "support-order", family="distributional")
def support_descending(random: np.random.Generator) -> Pair:
    features, layer, actions, atoms = _head(random)
    support = _support(-2, 10, atoms)

    def reference(x: tf.Tensor) -> tf.Tensor:
        p = tf.nn.softmax(tf.reshape(layer.in_tf(x), (-1, actions, atoms)))
        return tf.reduce_sum(p * support, -1)  # support-descending: reference

    def candidate(x: torch.Tensor) -> torch.Tensor:
        p = layer.in_torch(x).view(-1, actions, atoms).softmax(-1)
        down = torch.from_numpy(support).flip(0)
        return (p * down).sum(-1)  # support-descending: candidate

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (features,))


@fault("support-reversed-in-keras", "support-order", family="distributional")
def support_reversed_in_keras(random: np.random.Generator) -> Pair:
    features, layer, actions, atoms = _head(random)
    support = _support(-5, 20, atoms)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.logits = layer.chainer_link()

        def forward(self, x: Any) -> Any:
            p = F.softmax(F.reshape(self.logits(x), (-1, actions, atoms)), axis=2)
            return F.sum(p * support, axis=2)  # support-reversed-in-keras: reference

    class Candidate(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.logits = layer.keras_layer()

        def call(self, x: Any) -> Any:
            p = keras.ops.softmax(keras.ops.reshape(self.logits(x), (-1, actions, atoms)))
            return keras.ops.sum(p * support[::-1], -1)  # support-reversed-in-keras: candidate

    return Pair(Side("chainer", Reference()), Side("keras", Candidate()), (features,))


@fault(
    "expectation-over-actions",
    "expectation-axis",
    family="distributional",
    parameters=[{"axis": (-1, 1)}],
)
def expectation_over_actions(random: np.random.Generator) -> Pair:
    features, layer, actions, atoms = _head(random)
    support = _support(-10, 10, atoms)

    def reference(x: torch.Tensor) -> torch.Tensor:
        p = layer.in_torch(x).view(-1, actions, atoms).softmax(-1)
        weighted = p * torch.from_numpy(support)
        return weighted.sum(-1)  # expectation-over-actions: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        p = tf.nn.softmax(tf.reshape(layer.in_tf(x), (-1, actions, atoms)))
        weighted = p * support
        return tf.reduce_sum(weighted, 1)  # expectation-over-actions: candidate

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (features,))


@fault(
    "quantiles-averaged-over-actions",
    "expectation-axis",
    family="distributional",
    parameters=[{"axis": (-1, 1)}],
    also={"expectation-axis": ("reduction-axis",)},
)
def quantiles_averaged_over_actions(random: np.random.Generator) -> Pair:
    features, layer, actions, quantiles = _head(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        z = tf.reshape(layer.in_tf(x), (-1, actions, quantiles))
        return tf.reduce_mean(z, -1)  # quantiles-averaged-over-actions: reference

    def candidate(x: Any) -> Any:
        z = F.reshape(layer.in_chainer(x), (-1, actions, quantiles))
        return F.mean(z, axis=1)  # quantiles-averaged-over-actions: candidate

    return Pair(Side("tensorflow", reference), Side("chainer", candidate), (features,))


@fault("atoms-before-actions", "atoms-actions-order", family="distributional")
def atoms_before_actions(random: np.random.Generator) -> Pair:
    features, layer, actions, atoms = _head(random)
    support = _support(-10, 10, atoms)

    def reference(x: torch.Tensor) -> torch.Tensor:
        logits = layer.in_torch(x)
        logits = logits.view(-1, actions, atoms)  # atoms-before-actions: reference
        p = logits.softmax(-1)
        return p @ torch.from_numpy(support)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        logits = layer.in_tf(x)
        logits = tf.reshape(logits, (-1, atoms, actions))  # atoms-before-actions: candidate
        p = tf.nn.softmax(tf.transpose(logits, (0, 2, 1)))
        return tf.reduce_sum(p * support, -1)

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (features,))


@fault("quantiles-before-actions", "atoms-actions-order", family="distributional")
def quantiles_before_actions(random: np.random.Generator) -> Pair:
    features, layer, actions, quantiles = _head(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        z = layer.in_tf(x)
        z = tf.reshape(z, (-1, actions, quantiles))  # quantiles-before-actions: reference
        return tf.reduce_mean(z, -1)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        z = layer.in_torch(x)
        z = z.unflatten(1, (quantiles, actions))  # quantiles-before-actions: candidate
        return z.mean(1)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (features,))


def _embedded(random: np.random.Generator) -> tuple[np.ndarray, Dense, Dense, np.ndarray]:
    """Features, two layers, and the pi * i of an embedding of fractions in cosines."""
    batch, features, cosines, hidden, actions = sizes(random, 5)
    angles = (np.pi * np.arange(1, cosines + 1)).astype(np.float32)
    layers = dense(random, cosines, features), dense(random, features, actions)
    return normal(random, batch, features), *layers, angles


@fault("quantile-midpoints", "quantile-fractions", family="distributional")
def quantile_midpoints(random: np.random.Generator) -> Pair:
    features, embedding, out, angles = _embedded(random)
    count = 5
    midpoints = ((np.arange(count) + 0.5) / count).astype(np.float32)[:, None]
    ends = ((np.arange(count) + 1.0) / count).astype(np.float32)[:, None]

    def reference(x: torch.Tensor) -> torch.Tensor:
        cosines = torch.cos(torch.from_numpy(midpoints * angles))  # quantile-midpoints: reference
        phi = torch.relu(embedding.in_torch(cosines))  # quantile-midpoints: reference
        return out.in_torch(x[:, None] * phi)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        cosines = tf.cos(tf.constant(ends * angles))  # quantile-midpoints: candidate
        phi = tf.nn.relu(embedding.in_tf(cosines))  # quantile-midpoints: candidate
        return out.in_tf(x[:, None] * phi)

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (features,))


@fault("quantile-loss-fractions", "quantile-fractions", family="distributional")
def quantile_loss_fractions(random: np.random.Generator) -> Pair:
    batch, features, quantiles = sizes(random, 3)
    layer = dense(random, features, quantiles)
    count = np.arange(quantiles, dtype=np.float32)
    midpoints, starts = (count + np.float32(0.5)) / quantiles, count / quantiles

    def reference(x: tf.Tensor, target: tf.Tensor) -> dict[str, tf.Tensor]:
        z = layer.in_tf(x)
        below = tf.cast(target < z, tf.float32)
        weight = tf.abs(midpoints - below)  # quantile-loss-fractions: reference
        return {"z": z, "loss": tf.reduce_mean(weight * (target - z) ** 2, 1)}

    def candidate(x: torch.Tensor, target: torch.Tensor) -> dict[str, torch.Tensor]:
        z = layer.in_torch(x)
        below = (target < z).float()
        weight = (torch.from_numpy(starts) - below).abs()  # quantile-loss-fractions: candidate
        return {"z": z, "loss": (weight * (target - z) ** 2).mean(1)}

    inputs = normal(random, batch, features), normal(random, batch, quantiles)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), inputs)


@fault("quantile-fractions-drawn-in-order", "quantile-fractions", family="distributional")
def quantile_fractions_drawn_in_order(random: np.random.Generator) -> Pair:
    """Fractions are an input; the candidate takes their complements."""
    features, embedding, out, angles = _embedded(random)
    fractions = random.uniform(0.05, 0.95, (len(features), 1)).astype(np.float32)

    def reference(x: Any, tau: Any) -> Any:
        cosines = F.cos(F.matmul(tau, angles[None]))  # quantile-fractions-drawn-in-order: reference
        return out.in_chainer(x * F.relu(embedding.in_chainer(cosines)))

    def candidate(x: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
        fraction = 1 - tau  # quantile-fractions-drawn-in-order: candidate
        cosines = torch.cos(fraction * torch.from_numpy(angles))
        return out.in_torch(x * torch.relu(embedding.in_torch(cosines)))

    return Pair(Side("chainer", reference), Side("torch", candidate), (features, fractions))


@fault(
    "support-and-softmax-axis",
    "softmax-axis",
    "support-range",
    family="distributional",
    parameters=[{"axis": (-1, 1)}],
)
def support_and_softmax_axis(random: np.random.Generator) -> Pair:
    features, layer, actions, atoms = _head(random)
    symmetric, skewed = _support(-10, 10, atoms), _support(-10, 30, atoms)

    def reference(x: torch.Tensor) -> torch.Tensor:
        logits = layer.in_torch(x).view(-1, actions, atoms)
        p = logits.softmax(-1)  # support-and-softmax-axis: reference
        weighted = p * torch.from_numpy(symmetric)  # support-and-softmax-axis 2: reference
        return weighted.sum(-1)

    def candidate(x: Any) -> Any:
        logits = F.reshape(layer.in_chainer(x), (-1, actions, atoms))
        p = F.softmax(logits)  # support-and-softmax-axis: candidate
        weighted = p * skewed  # support-and-softmax-axis 2: candidate
        return F.sum(weighted, axis=2)

    return Pair(Side("torch", reference), Side("chainer", candidate), (features,))


class _KerasC51(keras.Model):
    """Q-values of a softmax over atoms; the candidate's order of atoms and actions is wrong."""

    def __init__(self, layer: Dense, actions: int, atoms: int) -> None:
        super().__init__()
        self.logits = layer.keras_layer()
        self.actions, self.support = actions, _support(-10, 10, atoms)

    def call(self, x: Any) -> Any:
        logits = self.logits(x)
        shape = (-1, len(self.support), self.actions)
        logits = keras.ops.reshape(logits, shape)  # atoms-first-in-a-keras-model: candidate
        p = keras.ops.softmax(logits, axis=1)
        return keras.ops.sum(p * self.support[:, None], axis=1)


@fault("atoms-first-in-a-keras-model", "atoms-actions-order", family="distributional")
def atoms_first_in_a_keras_model(random: np.random.Generator) -> Pair:
    features, layer, actions, atoms = _head(random)
    support = _support(-10, 10, atoms)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.logits = layer.chainer_link()

        def forward(self, x: Any) -> Any:
            logits = self.logits(x)
            shape = (-1, actions, atoms)
            logits = F.reshape(logits, shape)  # atoms-first-in-a-keras-model: reference
            return F.sum(F.softmax(logits, axis=2) * support, axis=2)

    candidate = _KerasC51(layer, actions, atoms)
    return Pair(Side("chainer", Reference()), Side("keras", candidate), (features,))


@clean("support-computed-in-the-model", family="distributional")
def support_computed_in_the_model(random: np.random.Generator) -> Pair:
    features, layer, actions, atoms = _head(random)
    support = _support(-10, 10, atoms)

    def reference(x: tf.Tensor) -> tf.Tensor:
        p = tf.nn.softmax(tf.reshape(layer.in_tf(x), (-1, actions, atoms)))
        return tf.reduce_sum(p * support, -1)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        p = layer.in_torch(x).view(-1, actions, atoms).softmax(-1)
        z = -10 + torch.arange(atoms) * (20 / (atoms - 1))
        return torch.einsum("ban,n->ba", p, z)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (features,))


@clean("support-and-atoms-both-reversed", family="distributional")
def support_and_atoms_both_reversed(random: np.random.Generator) -> Pair:
    features, layer, actions, atoms = _head(random)
    support = _support(-2, 10, atoms)

    def reference(x: torch.Tensor) -> torch.Tensor:
        p = layer.in_torch(x).view(-1, actions, atoms).softmax(-1)
        return (p * torch.from_numpy(support)).sum(-1)

    def candidate(x: Any) -> Any:
        logits = F.reshape(layer.in_chainer(x), (-1, actions, atoms))
        return F.sum(F.softmax(F.flip(logits, 2), axis=2) * support[::-1], axis=2)

    return Pair(Side("torch", reference), Side("chainer", candidate), (features,))


@clean("atoms-first-with-reordered-weights", family="distributional")
def atoms_first_with_reordered_weights(random: np.random.Generator) -> Pair:
    features, layer, actions, atoms = _head(random)
    support = _support(-10, 10, atoms)
    order = np.arange(actions * atoms).reshape(actions, atoms).T.ravel()
    reordered = Dense(layer.weight[:, order], layer.bias[order])

    class Reference(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.logits = layer.torch_layer()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            p = self.logits(x).view(-1, actions, atoms).softmax(-1)
            return p @ torch.from_numpy(support)

    class Candidate(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.logits = reordered.keras_layer()

        def call(self, x: Any) -> Any:
            logits = keras.ops.reshape(self.logits(x), (-1, atoms, actions))
            p = keras.ops.softmax(logits, axis=1)
            return keras.ops.sum(p * support[:, None], 1)

    return Pair(Side("torch", Reference()), Side("keras", Candidate()), (features,))


@clean("expectation-by-steps-of-the-support", family="distributional")
def expectation_by_steps_of_the_support(random: np.random.Generator) -> Pair:
    """The mean is the lowest atom and a step for each atom that is reached: sum of tails."""
    features, layer, actions, atoms = _head(random)
    support = np.arange(atoms, dtype=np.float32) - 2

    def reference(x: Any) -> Any:
        p = F.softmax(F.reshape(layer.in_chainer(x), (-1, actions, atoms)), axis=2)
        return F.sum(p * support, axis=2)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        p = tf.nn.softmax(tf.reshape(layer.in_tf(x), (-1, actions, atoms)))
        tails = tf.cumsum(p, axis=-1, reverse=True)
        return tf.reduce_sum(tails[..., 1:], -1) - 2.0

    return Pair(Side("chainer", reference), Side("tensorflow", candidate), (features,))


@clean("quantile-mean-as-weighted-sum", family="distributional")
def quantile_mean_as_weighted_sum(random: np.random.Generator) -> Pair:
    features, layer, actions, quantiles = _head(random)
    edges = np.linspace(0, 1, quantiles + 1)
    widths = np.diff(edges).astype(np.float32)

    def reference(x: tf.Tensor) -> tf.Tensor:
        z = tf.reshape(tf.tanh(layer.in_tf(x)), (-1, actions, quantiles))
        return tf.reduce_mean(z, -1)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        z = layer.in_torch(x).tanh().view(-1, actions, quantiles)
        return (z * torch.from_numpy(widths)).sum(-1)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (features,))


@clean("cosine-embedding-in-another-order", family="distributional")
def cosine_embedding_in_another_order(random: np.random.Generator) -> Pair:
    features, embedding, out, angles = _embedded(random)
    fractions = random.uniform(0.05, 0.95, (len(features), 1)).astype(np.float32)
    reversed_embedding = Dense(embedding.weight[::-1].copy(), embedding.bias)

    def reference(x: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
        phi = embedding.in_torch(torch.cos(tau * torch.from_numpy(angles)))
        return out.in_torch(x * torch.relu(phi))

    def candidate(x: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
        phi = reversed_embedding.in_tf(tf.cos(tau * angles[::-1]))
        return out.in_tf(x * tf.nn.relu(phi))

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (features, fractions))
