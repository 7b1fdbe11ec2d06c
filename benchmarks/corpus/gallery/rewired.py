"""The right operations on other operands, in another order, and an input that is not passed on."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.gallery._layers import dense
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side


@fault("difference-the-other-way-round", "operands-exchanged", family="rewired")
def difference_the_other_way_round(random: np.random.Generator) -> Pair:
    """The keys' difference from the query, as in an attention that is given both."""
    batch, width, hidden, outputs = sizes(random, 4)
    query, key = dense(random, width, hidden), dense(random, width, hidden)
    out = dense(random, hidden, outputs)

    def reference(x: tf.Tensor) -> tf.Tensor:
        a, b = query.in_tf(x), key.in_tf(tf.tanh(x))
        return out.in_tf(tf.nn.relu(a - b))  # difference-the-other-way-round: reference

    def candidate(x: torch.Tensor) -> torch.Tensor:
        a, b = query.in_torch(x), key.in_torch(torch.tanh(x))
        return out.in_torch(torch.relu(b - a))  # difference-the-other-way-round: candidate

    x = normal(random, batch, width)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault("quotient-the-other-way-round", "operands-exchanged", family="rewired")
def quotient_the_other_way_round(random: np.random.Generator) -> Pair:
    """A ratio of two probabilities, the new one over the old one."""
    batch, width, outputs = sizes(random, 3)
    new, old = dense(random, width, outputs), dense(random, width, outputs)

    def reference(x: torch.Tensor) -> torch.Tensor:
        a, b = torch.exp(new.in_torch(x) / 4), torch.exp(old.in_torch(x) / 4)
        return torch.tanh(a / b)  # quotient-the-other-way-round: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        a, b = tf.exp(new.in_tf(x) / 4), tf.exp(old.in_tf(x) / 4)
        return tf.tanh(b / a)  # quotient-the-other-way-round: candidate

    x = normal(random, batch, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


def _pairs_of_steps(random: np.random.Generator, wrong: bool) -> Pair:
    """The differences of all steps from all others: as many one way as the other."""
    batch, width, hidden, steps = sizes(random, 4)
    first, second = dense(random, width, hidden), dense(random, hidden, 1)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(first.in_torch(x.mean(1, keepdim=True) + x))
        of, to = h[..., 0], second.in_torch(h)[..., 0]
        apart = 2 * of[:, :, None] + to[:, None, :]  # taus-along-the-other-axis: reference
        apart = torch.sin(apart)
        return apart.cumsum(2).sum(2)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(first.in_tf(tf.reduce_mean(x, 1, keepdims=True) + x))
        of, to = h[..., 0], second.in_tf(h)[..., 0]
        doubled = 2 * (of[:, None, :] if wrong else of[:, :, None])
        apart = tf.sin(doubled + to[:, None, :])  # taus-along-the-other-axis: candidate
        return tf.reduce_sum(tf.cumsum(apart, 2), 2)

    x = normal(random, batch, steps, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault("taus-along-the-other-axis", "broadcast-axis", family="rewired")
def taus_along_the_other_axis(random: np.random.Generator) -> Pair:
    return _pairs_of_steps(random, wrong=True)


@clean("differences-of-all-steps", family="rewired")
def differences_of_all_steps(random: np.random.Generator) -> Pair:
    return _pairs_of_steps(random, wrong=False)


@fault("activation-before-the-norm", "op-order", family="rewired", layers=[("norm", "")])
def activation_before_the_norm(random: np.random.Generator) -> Pair:
    batch, width, hidden, outputs = sizes(random, 4)
    first, out = dense(random, width, hidden), dense(random, hidden, outputs)
    gamma, beta, mean = (normal(random, hidden) for _ in range(3))
    variance = random.uniform(0.5, 2.0, hidden).astype(np.float32)
    inputs = keras.Input((width,))
    norm = keras.layers.BatchNormalization(epsilon=1e-5, name="norm")
    normed = keras.layers.ReLU()(norm(first.keras_layer()(inputs)))
    reference = keras.Model(inputs, out.keras_layer()(normed))
    norm.set_weights([gamma, beta, mean, variance])

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(first.in_torch(x))  # activation-before-the-norm: candidate
        state = map(torch.from_numpy, (mean, variance, gamma, beta))
        return out.in_torch(torch.nn.functional.batch_norm(h, *state))

    x = normal(random, batch, width)
    return Pair(Side("keras", reference), Side("torch", candidate), (x,))


@fault("padding-mask-not-passed-on", "attention-mask-missing", family="rewired")
def padding_mask_not_passed_on(random: np.random.Generator) -> Pair:
    """Ones are made where the mask should be read."""
    batch, width, steps = sizes(random, 3)
    query, key, value = (dense(random, width, width) for _ in range(3))

    def reference(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = (1.0 - mask)[:, None] * -1e9  # padding-mask-not-passed-on: reference
        scores = query.in_torch(x) @ key.in_torch(x).transpose(1, 2)
        return torch.softmax(scores + hidden, -1) @ value.in_torch(x)

    def candidate(x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        hidden = (1.0 - tf.ones(tf.shape(mask)))[:, None] * -1e9
        scores = tf.matmul(query.in_tf(x), key.in_tf(x), transpose_b=True) + hidden
        seen = tf.nn.softmax(scores)  # padding-mask-not-passed-on: candidate
        return seen @ value.in_tf(x)

    x, mask = normal(random, batch, steps, width), np.ones((batch, steps), np.float32)
    mask[1:, -1] = 0
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x, mask))


@fault("weights-of-samples-not-read", "input-unread", family="rewired")
def weights_of_samples_not_read(random: np.random.Generator) -> Pair:
    """Importance weights, as of prioritised replay: each sample counts one."""
    batch, width, outputs = sizes(random, 3)
    head = dense(random, width, outputs)

    def reference(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        errors = head.in_torch(x).sum(1)
        return torch.tanh(errors / (1 + weight))  # weights-of-samples-not-read: reference

    def candidate(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        errors = head.in_torch(x).sum(1)
        weight = torch.ones_like(weight)  # weights-of-samples-not-read: candidate
        return torch.tanh(errors / (1 + weight))

    x, weight = normal(random, batch, width), random.uniform(0.2, 2.0, batch).astype(np.float32)
    return Pair(Side("torch", reference), Side("torch", candidate), (x, weight))


def _windowed(random: np.random.Generator, longer: int) -> Pair:
    """Attention to the last few steps."""
    batch, width = sizes(random, 2)
    query, key, value = (dense(random, width, width) for _ in range(3))
    far = np.arange(8)[:, None] - np.arange(8)

    def reference(x: torch.Tensor) -> torch.Tensor:
        scores = query.in_torch(x) @ key.in_torch(x).transpose(1, 2)
        hidden = torch.from_numpy((far < 0) | (far >= 3))
        scores = scores.masked_fill(hidden, -1e9)  # window-one-longer: reference
        return torch.softmax(scores, -1) @ value.in_torch(x)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        scores = tf.matmul(query.in_tf(x), key.in_tf(x), transpose_b=True)
        seen = tf.constant((far >= 0) & (far < 3 + longer))
        scores = tf.where(seen, scores, -1e9)  # window-one-longer: candidate
        return tf.nn.softmax(scores) @ value.in_tf(x)

    x = normal(random, batch, 8, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault("window-one-longer", "mask-pattern", family="rewired")
def window_one_longer(random: np.random.Generator) -> Pair:
    return _windowed(random, longer=1)


@clean("window", family="rewired")
def window(random: np.random.Generator) -> Pair:
    return _windowed(random, longer=0)


@fault("gate-for-what-it-lets-through", "halves-exchanged", family="rewired")
def gate_for_what_it_lets_through(random: np.random.Generator) -> Pair:
    """A gated linear unit whose other half is the gate."""
    batch, width, hidden, outputs = sizes(random, 4)
    first, out = dense(random, width, 2 * hidden), dense(random, hidden, outputs)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = first.in_torch(x)
        return out.in_torch(torch.nn.functional.glu(h))  # gate-for-what-it-lets-through: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        gate, h = tf.split(first.in_tf(x), 2, axis=-1)
        return out.in_tf(tf.sigmoid(gate) * h)  # gate-for-what-it-lets-through: candidate

    x = normal(random, batch, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))
