"""Wiring: the wrong value is read, an operation or a branch is missing, or is one too many."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.corpus.gallery._layers import Dense, between, conv, dense
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer, image_pair, image_side

F = chainer.functions


def _square(random: np.random.Generator) -> tuple[np.ndarray, Dense, Dense, Dense]:
    """Features, two layers that keep a size, and one of outputs."""
    batch, features, hidden, outputs = sizes(random, 4)
    first, second = dense(random, features, hidden), dense(random, hidden, hidden)
    return normal(random, batch, features), first, second, dense(random, hidden, outputs)


@fault("value-from-the-first-layer", "wrong-source", family="wiring")
def value_from_the_first_layer(random: np.random.Generator) -> Pair:
    x, first, second, policy = _square(random)
    value = dense(random, second.weight.shape[1], 1)

    def reference(x: tf.Tensor) -> dict[str, tf.Tensor]:
        h = tf.nn.relu(first.in_tf(x))
        g = tf.nn.relu(second.in_tf(h))
        v = tf.linalg.matmul(g, value.weight)  # value-from-the-first-layer: reference
        return {"policy": policy.in_tf(g), "value": v + value.bias}

    def candidate(x: torch.Tensor) -> dict[str, torch.Tensor]:
        h = torch.relu(first.in_torch(x))
        g = torch.relu(second.in_torch(h))
        v = h @ torch.from_numpy(value.weight)  # value-from-the-first-layer: candidate
        return {"policy": policy.in_torch(g), "value": v + torch.from_numpy(value.bias)}

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault(
    "shortcut-from-after-the-activation",
    "wrong-source",
    family="wiring",
    layers=[("sum", "")],
)
def shortcut_from_after_the_activation(random: np.random.Generator) -> Pair:
    """The reference adds what the activation reads, the candidate what it gives."""
    x, first, second, out = _square(random)
    inputs = keras.Input((x.shape[1],))
    before = first.keras_layer()(inputs)
    after = second.keras_layer()(keras.layers.ReLU()(before))
    summed = keras.layers.Add(name="sum")([before, after])
    reference = keras.Model(inputs, out.keras_layer()(summed))

    class Candidate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = first.torch_layer(), second.torch_layer()
            self.out = out.torch_layer()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.first(x))
            h = h + self.second(h)  # shortcut-from-after-the-activation: candidate
            return self.out(h)

    return Pair(Side("keras", reference), Side("torch", Candidate()), (x,))


@fault("attention-adds-up-keys", "wrong-source", family="wiring")
def attention_adds_up_keys(random: np.random.Generator) -> Pair:
    """Attention in which the candidate takes the keys for the values."""
    batch, steps, features, width = sizes(random, 4)
    query, key = dense(random, features, width), dense(random, features, width)
    value = dense(random, features, width)

    def reference(x: torch.Tensor) -> torch.Tensor:
        q, k = query.in_torch(x), key.in_torch(x)
        weights = torch.softmax(q @ k.transpose(1, 2), -1)
        v = x @ torch.from_numpy(value.weight)  # attention-adds-up-keys: reference
        return torch.tanh(weights @ v)

    def candidate(x: Any) -> Any:
        q, k = query.in_chainer(x), key.in_chainer(x)
        weights = F.softmax(F.matmul(q, k, transb=True), axis=2)
        return F.tanh(F.matmul(weights, k))  # attention-adds-up-keys: candidate

    x = normal(random, batch, steps, features)
    return Pair(Side("torch", reference), Side("chainer", candidate), (x,))


@fault(
    "layer-after-the-concatenation-missing",
    "op-missing",
    family="wiring",
    source="Unity-Technologies/ml-agents#4421",
)
def layer_after_the_concatenation_missing(random: np.random.Generator) -> Pair:
    """Vector and image encodings go through one layer where the reference has two."""
    batch, features, pixels, encoded, hidden = sizes(random, 5)
    image = dense(random, pixels, encoded)
    first = dense(random, features + encoded, hidden)
    second, out = dense(random, hidden, hidden), dense(random, hidden, 2)

    def reference(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        h = tf.concat([x, tf.nn.relu(image.in_tf(y))], 1)
        h = tf.tanh(first.in_tf(h))
        h = tf.linalg.matmul(h, second.weight)  # layer-after-the-concatenation-missing: reference
        return out.in_tf(tf.tanh(h + second.bias))

    def candidate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        h = torch.cat([x, torch.relu(image.in_torch(y))], 1)
        h = torch.tanh(first.in_torch(h))
        h = h @ torch.from_numpy(out.weight)  # layer-after-the-concatenation-missing: candidate
        return h + torch.from_numpy(out.bias)

    inputs = normal(random, batch, features), normal(random, batch, pixels)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), inputs)


@fault("embedding-scale-missing", "op-missing", family="wiring")
def embedding_scale_missing(random: np.random.Generator) -> Pair:
    """Embeddings are normalised to unit length before they are added to a context."""
    x, first, second, out = _square(random)

    def reference(x: Any) -> Any:
        h = F.tanh(first.in_chainer(x))
        context = F.sigmoid(second.in_chainer(h))
        h = F.normalize(h)  # embedding-scale-missing: reference
        return out.in_chainer(h * context)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(first.in_torch(x))
        context = torch.sigmoid(second.in_torch(h))
        mixed = h * context  # embedding-scale-missing: candidate
        return out.in_torch(mixed)

    return Pair(Side("chainer", reference), Side("torch", candidate), (x,))


@fault(
    "clipped-before-the-head",
    "op-missing",
    family="wiring",
    also={"op-missing": ("activation-missing",)},
)
def clipped_before_the_head(random: np.random.Generator) -> Pair:
    x, first, second, out = _square(random)
    limit = between(random, 0.3, 0.6)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = second.in_torch(torch.tanh(first.in_torch(x)))
        h = h.clamp(-limit, limit)  # clipped-before-the-head: reference
        return out.in_torch(h)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = second.in_tf(tf.tanh(first.in_tf(x)))
        h = tf.linalg.matmul(h, out.weight)  # clipped-before-the-head: candidate
        return h + out.bias

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault("normalised-although-not", "op-extra", family="wiring")
def normalised_although_not(random: np.random.Generator) -> Pair:
    x, first, second, out = _square(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = second.in_tf(tf.nn.relu(first.in_tf(x)))
        h = tf.linalg.matmul(h, out.weight)  # normalised-although-not: reference
        return h + out.bias

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = second.in_torch(torch.relu(first.in_torch(x)))
        h = nn.functional.normalize(h, dim=-1)  # normalised-although-not: candidate
        return out.in_torch(h)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault("pooled-once-more", "op-extra", family="wiring", layers=[("4", "smooth")])
def pooled_once_more(random: np.random.Generator) -> Pair:
    """An average pooling of stride 1 that keeps the size, between two convolutions."""
    batch, channels, hidden, classes = sizes(random, 4, 3, 6)
    height, width = sizes(random, 2, 9, 13)
    first, second = conv(random, channels, hidden), conv(random, hidden, classes)
    out = dense(random, classes, 2)
    reference = nn.Sequential(
        first.torch_layer(),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Tanh(),
        second.torch_layer(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        out.torch_layer(),
    )
    candidate = keras.Sequential(
        [
            keras.Input((height, width, channels)),
            first.keras_layer("relu"),
            keras.layers.AveragePooling2D(2),
            keras.layers.Activation("tanh"),
            keras.layers.AveragePooling2D(2, strides=1, padding="same", name="smooth"),
            second.keras_layer(),
            keras.layers.GlobalAveragePooling2D(),
            out.keras_layer(),
        ]
    )
    images = normal(random, batch, channels, height, width)
    return image_pair(image_side("torch", reference), image_side("keras", candidate), images)


@fault("residual-forgotten", "branch-missing", family="wiring")
def residual_forgotten(random: np.random.Generator) -> Pair:
    x, first, second, out = _square(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(first.in_torch(x))
        h = h + torch.tanh(second.in_torch(h))  # residual-forgotten: reference
        return out.in_torch(h)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(first.in_tf(x))
        h = tf.tanh(second.in_tf(h))
        h = tf.linalg.matmul(h, out.weight)  # residual-forgotten: candidate
        return h + out.bias

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault(
    "convolution-shortcut-forgotten",
    "branch-missing",
    family="wiring",
    layers=[("", "again")],
)
def convolution_shortcut_forgotten(random: np.random.Generator) -> Pair:
    batch, channels, hidden = sizes(random, 3, 3, 6)
    height, width = sizes(random, 2, 9, 13)
    first, mixed = conv(random, channels, hidden), conv(random, hidden, hidden, window=1)
    again = conv(random, hidden, 2)

    class Reference(chainer.Chain):
        def forward(self, x: Any) -> Any:
            h = F.relu(first.in_chainer(x))
            h = h + F.relu(mixed.in_chainer(h))  # convolution-shortcut-forgotten: reference
            return again.in_chainer(h)

    candidate = keras.Sequential(
        [
            keras.Input((height, width, channels)),
            first.keras_layer("relu"),
            mixed.keras_layer("relu"),
            again.keras_layer(name="again"),
        ]
    )
    images = normal(random, batch, channels, height, width)
    return image_pair(image_side("chainer", Reference()), image_side("keras", candidate), images)


@fault("action-left-out-of-the-critic", "branch-missing", family="wiring")
def action_left_out_of_the_critic(random: np.random.Generator) -> Pair:
    """The critic adds an embedding of the action to that of the state; the candidate does not."""
    batch, features, actions, hidden = sizes(random, 4)
    state, action = dense(random, features, hidden), dense(random, actions, hidden)
    out = dense(random, hidden, 1)

    def reference(x: tf.Tensor, a: tf.Tensor) -> tf.Tensor:
        e = tf.linalg.matmul(a, action.weight)  # action-left-out-of-the-critic: reference
        return out.in_tf(tf.nn.relu(state.in_tf(x) + e + action.bias))

    def candidate(x: Any, a: Any) -> Any:
        h = F.relu(state.in_chainer(x))  # action-left-out-of-the-critic: candidate
        return out.in_chainer(h) + 0 * F.sum(a)

    inputs = normal(random, batch, features), normal(random, batch, actions)
    return Pair(Side("tensorflow", reference), Side("chainer", candidate), inputs)


@fault("wrong-source-and-lost-branch", "wrong-source", "branch-missing", family="wiring")
def wrong_source_and_lost_branch(random: np.random.Generator) -> Pair:
    x, first, second, out = _square(random)
    third = dense(random, second.weight.shape[1], second.weight.shape[1])

    def reference(x: torch.Tensor) -> dict[str, torch.Tensor]:
        h = torch.relu(first.in_torch(x))
        g = torch.tanh(second.in_torch(h))
        a = g @ torch.from_numpy(third.weight)  # wrong-source-and-lost-branch: reference
        b = torch.sigmoid(h) + g  # wrong-source-and-lost-branch 2: reference
        return {"a": a, "b": out.in_torch(b)}

    def candidate(x: tf.Tensor) -> dict[str, tf.Tensor]:
        h = tf.nn.relu(first.in_tf(x))
        g = tf.tanh(second.in_tf(h))
        a = tf.linalg.matmul(h, third.weight)  # wrong-source-and-lost-branch: candidate
        b = tf.linalg.matmul(g, out.weight)  # wrong-source-and-lost-branch 2: candidate
        return {"a": a, "b": b + out.bias}

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault(
    "noise-in-the-deterministic-action",
    "op-extra",
    family="wiring",
    source="SB3 docs/guide/migration.rst",
    also={"op-extra": ("wrong-source",)},
)
def noise_in_the_deterministic_action(random: np.random.Generator) -> Pair:
    """The candidate samples where the reference takes the mean; the noise is an input of both."""
    batch, features, actions = sizes(random, 3)
    mean, log_std = dense(random, features, actions), dense(random, features, actions, 0.3)

    class Reference(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.mean, self.log_std = mean.keras_layer(), log_std.keras_layer()

        def call(self, x: Any, noise: Any) -> Any:
            std = keras.ops.exp(self.log_std(x))
            action = keras.ops.tanh(self.mean(x))  # noise-in-the-deterministic-action: reference
            return {"action": action, "shift": std * noise}

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.mean, self.log_std = mean.chainer_link(), log_std.chainer_link()

        def forward(self, x: Any, noise: Any) -> Any:
            shift = F.exp(self.log_std(x)) * noise
            u = self.mean(x) + shift  # noise-in-the-deterministic-action: candidate
            return {"action": F.tanh(u), "shift": shift}

    inputs = normal(random, batch, features), normal(random, batch, actions)
    return Pair(Side("keras", Reference()), Side("chainer", Candidate()), inputs)


@fault(
    "illegal-actions-not-masked",
    "op-missing",
    family="wiring",
    source="google-deepmind/open_spiel#1486",
    also={"op-missing": ("branch-missing", "attention-mask-missing")},
)
def illegal_actions_not_masked(random: np.random.Generator) -> Pair:
    x, first, second, out = _square(random)
    legal = np.arange(len(x) * out.weight.shape[1]).reshape(len(x), -1) % 3 != 0

    def reference(x: Any) -> Any:
        logits = out.in_chainer(F.relu(first.in_chainer(x)))
        masked = F.where(legal, logits, logits * 0 - 1e9)  # illegal-actions-not-masked: reference
        return F.softmax(masked)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        logits = out.in_tf(tf.nn.relu(first.in_tf(x)))
        return tf.nn.softmax(logits)  # illegal-actions-not-masked: candidate

    return Pair(Side("chainer", reference), Side("tensorflow", candidate), (x,))


@clean("sum-of-branches-as-one-matrix", family="wiring")
def sum_of_branches_as_one_matrix(random: np.random.Generator) -> Pair:
    """Two dense layers that are added are one on the concatenation."""
    batch, features, actions, hidden = sizes(random, 4)
    state, action = dense(random, features, hidden), dense(random, actions, hidden)
    joined = Dense(np.concatenate([state.weight, action.weight]), state.bias + action.bias)
    out = dense(random, hidden, 1)

    def reference(x: tf.Tensor, a: tf.Tensor) -> tf.Tensor:
        return out.in_tf(tf.nn.relu(state.in_tf(x) + action.in_tf(a)))

    def candidate(x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return out.in_torch(torch.relu(joined.in_torch(torch.cat([x, a], 1))))

    inputs = normal(random, batch, features), normal(random, batch, actions)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), inputs)


@clean("keras-model-and-raw-operations", family="wiring")
def keras_model_and_raw_operations(random: np.random.Generator) -> Pair:
    x, first, second, out = _square(random)
    inputs = keras.Input((x.shape[1],))
    h = first.keras_layer("relu")(inputs)
    h = keras.layers.Add()([h, second.keras_layer("tanh")(h)])
    reference = keras.Model(inputs, out.keras_layer()(h))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, first.weight), first.bias))
        h = tf.add_n([tf.tanh(second.in_tf(h)), h])
        return tf.einsum("bi,io->bo", h, out.weight) + out.bias

    return Pair(Side("keras", reference), Side("tensorflow", candidate), (x,))


@clean("residual-added-in-the-weights", family="wiring")
def residual_added_in_the_weights(random: np.random.Generator) -> Pair:
    x, first, second, out = _square(random)
    size = second.weight.shape[0]
    with_shortcut = Dense(second.weight + np.eye(size, dtype=np.float32), second.bias)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(first.in_torch(x))
        return out.in_torch(torch.tanh(h + second.in_torch(h)))

    def candidate(x: Any) -> Any:
        h = F.relu(first.in_chainer(x))
        return out.in_chainer(F.tanh(with_shortcut.in_chainer(h)))

    return Pair(Side("torch", reference), Side("chainer", candidate), (x,))


@clean("towers-side-by-side-or-in-one", family="wiring")
def towers_side_by_side_or_in_one(random: np.random.Generator) -> Pair:
    x, first, second, out = _square(random)
    both = Dense(
        np.concatenate([second.weight, out.weight], 1), np.concatenate([second.bias, out.bias])
    )
    size = second.weight.shape[1]
    inputs = keras.Input((x.shape[1],))
    h = first.keras_layer("relu")(inputs)
    heads = {"a": second.keras_layer("tanh")(h), "b": out.keras_layer()(h)}
    reference = keras.Model(inputs, heads)

    def candidate(x: torch.Tensor) -> dict[str, torch.Tensor]:
        y = both.in_torch(torch.relu(first.in_torch(x)))
        return {"a": torch.tanh(y[:, :size]), "b": y[:, size:]}

    return Pair(Side("keras", reference), Side("torch", candidate), (x,))


@clean("one-layer-used-twice", family="wiring")
def one_layer_used_twice(random: np.random.Generator) -> Pair:
    x, first, second, out = _square(random)
    shared = second.keras_layer("tanh")
    inputs = keras.Input((x.shape[1],))
    h = shared(shared(first.keras_layer()(inputs)))
    reference = keras.Model(inputs, out.keras_layer()(h))
    candidate = nn.Sequential(
        first.torch_layer(),
        second.torch_layer(),
        nn.Tanh(),
        second.torch_layer(),
        nn.Tanh(),
        out.torch_layer(),
    )
    return Pair(Side("keras", reference), Side("torch", candidate), (x,))


@clean("dead-branch-and-its-absence", family="wiring")
def dead_branch_and_its_absence(random: np.random.Generator) -> Pair:
    """The candidate also computes what nothing reads."""
    x, first, second, out = _square(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return out.in_tf(tf.nn.relu(second.in_tf(tf.tanh(first.in_tf(x)))))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(first.in_torch(x))
        torch.softmax(h, 0).sum()
        return out.in_torch(torch.relu(second.in_torch(h)))

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@clean("linear-layers-merged", family="wiring")
def linear_layers_merged(random: np.random.Generator) -> Pair:
    """Two dense layers with nothing between them are one, multiplied in float64."""
    x, first, second, out = _square(random)
    weight = second.weight.astype(np.float64) @ out.weight
    bias = second.bias.astype(np.float64) @ out.weight + out.bias
    merged = Dense(weight.astype(np.float32), bias.astype(np.float32))

    def reference(x: Any) -> Any:
        return out.in_chainer(second.in_chainer(F.relu(first.in_chainer(x))))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return merged.in_tf(tf.nn.relu(first.in_tf(x)))

    return Pair(Side("chainer", reference), Side("tensorflow", candidate), (x,))
