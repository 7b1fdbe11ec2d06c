"""Action distributions: scales, squashing, log-probabilities, logits taken for probabilities."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.corpus.gallery._layers import Dense, between, dense, two_dense
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer

F = chainer.functions
HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def _gaussian(random: np.random.Generator) -> tuple[tuple[np.ndarray, ...], Dense, Dense]:
    """Features and actions (batch, components); layers of the mean and of what gives the scale."""
    batch, features, components = sizes(random, 3)
    layers = dense(random, features, components), dense(random, features, components, 0.5)
    inputs = normal(random, batch, features), normal(random, batch, components)
    return inputs, *layers


@fault(
    "log-std-taken-for-std",
    "scale-parameterisation",
    family="distribution",
    source="rlworkgroup/garage#512",
)
def log_std_taken_for_std(random: np.random.Generator) -> Pair:
    inputs, mean, log_std = _gaussian(random)

    def reference(x: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
        std = tf.exp(log_std.in_tf(x))  # log-std-taken-for-std: reference
        return tf.tanh(mean.in_tf(x) + std * noise)

    def candidate(x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        std = log_std.in_torch(x)
        return torch.tanh(mean.in_torch(x) + std * noise)  # log-std-taken-for-std: candidate

    return Pair(Side("tensorflow", reference), Side("torch", candidate), inputs)


@fault(
    "softplus-variance-for-log-std",
    "scale-parameterisation",
    family="distribution",
    source="chainer/chainerrl#427",
)
def softplus_variance_for_log_std(random: np.random.Generator) -> Pair:
    inputs, mean, scale = _gaussian(random)

    def reference(x: tf.Tensor, a: tf.Tensor) -> tf.Tensor:
        m, s = mean.in_tf(x), scale.in_tf(x)
        variance = tf.exp(2 * s)  # softplus-variance-for-log-std: reference
        terms = (a - m) ** 2 / variance + tf.math.log(variance)
        return -0.5 * tf.reduce_sum(terms, 1)

    def candidate(x: Any, a: Any) -> Any:
        m, s = mean.in_chainer(x), scale.in_chainer(x)
        variance = F.softplus(s)  # softplus-variance-for-log-std: candidate
        terms = (a - m) ** 2 / variance + F.log(variance)
        return -0.5 * F.sum(terms, axis=1)

    return Pair(Side("tensorflow", reference), Side("chainer", candidate), inputs)


@fault("exponential-as-std-for-variance", "scale-parameterisation", family="distribution")
def exponential_as_std_for_variance(random: np.random.Generator) -> Pair:
    inputs, mean, scale = _gaussian(random)

    class Reference(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mean, self.log_variance = mean.torch_layer(), scale.torch_layer()

        def forward(self, x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
            std = (0.5 * self.log_variance(x)).exp()  # exponential-as-std-for-variance: reference
            return self.mean(x) + std * noise

    class Candidate(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.mean, self.log_std = mean.keras_layer(), scale.keras_layer()

        def call(self, x: Any, noise: Any) -> Any:
            std = keras.ops.exp(self.log_std(x))  # exponential-as-std-for-variance: candidate
            return self.mean(x) + std * noise

    return Pair(Side("torch", Reference()), Side("keras", Candidate()), inputs)


@fault(
    "deterministic-action-not-squashed",
    "squash-missing",
    family="distribution",
    source="ray-project/ray#51544",
    also={"squash-missing": ("activation-missing",)},
)
def deterministic_action_not_squashed(random: np.random.Generator) -> Pair:
    (x, _), mean, _ = _gaussian(random)
    low, high = between(random, -3, -2), between(random, 1, 4)

    def reference(x: tf.Tensor) -> tf.Tensor:
        squashed = tf.tanh(mean.in_tf(x))  # deterministic-action-not-squashed: reference
        return low + (squashed + 1.0) / 2.0 * (high - low)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        m = mean.in_torch(x)
        unit = m + 1.0  # deterministic-action-not-squashed: candidate
        return low + unit / 2.0 * (high - low)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault(
    "actor-layer-without-tanh",
    "squash-missing",
    family="distribution",
    layers=[("3", "actions")],
    also={"squash-missing": ("activation-missing",)},
)
def actor_layer_without_tanh(random: np.random.Generator) -> Pair:
    batch, features, hidden_size, actions = sizes(random, 4)
    hidden, out = dense(random, features, hidden_size), dense(random, hidden_size, actions)
    scale = nn.Linear(actions, actions, bias=False)
    factors = np.diag(random.uniform(1, 3, actions)).astype(np.float32)
    with torch.no_grad():
        scale.weight.copy_(torch.from_numpy(factors))
    reference = nn.Sequential(hidden.torch_layer(), nn.ReLU(), out.torch_layer(), nn.Tanh(), scale)
    bounds = Dense(factors, np.zeros(actions, np.float32))
    candidate = keras.Sequential(
        [
            keras.Input((features,)),
            hidden.keras_layer("relu"),
            out.keras_layer(),
            bounds.keras_layer(name="actions"),
        ]
    )
    x = normal(random, batch, features)
    return Pair(Side("torch", reference), Side("keras", candidate), (x,))


@fault("log-prob-of-each-component", "log-prob-reduction", family="distribution")
def log_prob_of_each_component(random: np.random.Generator) -> Pair:
    inputs, mean, log_std = _gaussian(random)

    def reference(x: tf.Tensor, a: tf.Tensor) -> tf.Tensor:
        s = log_std.in_tf(x)
        terms = -0.5 * ((a - mean.in_tf(x)) * tf.exp(-s)) ** 2 - s - HALF_LOG_TWO_PI
        return tf.reduce_sum(terms, -1)  # log-prob-of-each-component: reference

    def candidate(x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        normal_ = torch.distributions.Normal(mean.in_torch(x), log_std.in_torch(x).exp())
        return normal_.log_prob(a)  # log-prob-of-each-component: candidate

    return Pair(Side("tensorflow", reference), Side("torch", candidate), inputs)


@fault(
    "log-prob-averaged",
    "log-prob-reduction",
    family="distribution",
    also={"log-prob-reduction": ("reduction-kind",)},
)
def log_prob_averaged(random: np.random.Generator) -> Pair:
    inputs, mean, log_std = _gaussian(random)

    def reference(x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        s = log_std.in_torch(x)
        terms = -0.5 * ((a - mean.in_torch(x)) * torch.exp(-s)) ** 2 - s - HALF_LOG_TWO_PI
        return terms.sum(-1)  # log-prob-averaged: reference

    def candidate(x: Any, a: Any) -> Any:
        s = log_std.in_chainer(x)
        terms = -0.5 * ((a - mean.in_chainer(x)) * F.exp(-s)) ** 2 - s - HALF_LOG_TWO_PI
        return F.mean(terms, axis=1)  # log-prob-averaged: candidate

    return Pair(Side("torch", reference), Side("chainer", candidate), inputs)


@fault("squashed-log-prob-uncorrected", "log-prob-correction", family="distribution")
def squashed_log_prob_uncorrected(random: np.random.Generator) -> Pair:
    inputs, mean, log_std = _gaussian(random)

    def reference(x: tf.Tensor, noise: tf.Tensor) -> dict[str, tf.Tensor]:
        s = log_std.in_tf(x)
        u = mean.in_tf(x) + tf.exp(s) * noise
        logp = tf.reduce_sum(-0.5 * noise**2 - s - HALF_LOG_TWO_PI, 1)
        stretch = math.log(2) - u  # squashed-log-prob-uncorrected: reference
        stretch = 2 * tf.reduce_sum(stretch - tf.nn.softplus(-2 * u), 1)
        return {"action": tf.tanh(u), "logp": logp - stretch}

    def candidate(x: torch.Tensor, noise: torch.Tensor) -> dict[str, torch.Tensor]:
        s = log_std.in_torch(x)
        u = mean.in_torch(x) + torch.exp(s) * noise
        terms = -0.5 * noise**2 - s - HALF_LOG_TWO_PI
        logp = terms.sum(1)  # squashed-log-prob-uncorrected: candidate
        return {"action": torch.tanh(u), "logp": logp}

    return Pair(Side("tensorflow", reference), Side("torch", candidate), inputs)


@fault(
    "correction-of-the-scaled-action",
    "log-prob-correction",
    family="distribution",
    source="cpnota/autonomous-learning-library#139",
)
def correction_of_the_scaled_action(random: np.random.Generator) -> Pair:
    inputs, mean, log_std = _gaussian(random)
    scale = between(random, 0.4, 0.8)

    def reference(x: torch.Tensor, noise: torch.Tensor) -> dict[str, torch.Tensor]:
        s = log_std.in_torch(x)
        squashed = torch.tanh(mean.in_torch(x) + torch.exp(s) * noise)
        logp = -0.5 * noise**2 - s - HALF_LOG_TWO_PI
        square = squashed**2  # correction-of-the-scaled-action: reference
        logp = logp - torch.log(1 - square + 1e-6)
        return {"action": scale * squashed, "logp": logp.sum(1)}

    def candidate(x: Any, noise: Any) -> dict[str, Any]:
        s = log_std.in_chainer(x)
        action = scale * F.tanh(mean.in_chainer(x) + F.exp(s) * noise)
        logp = -0.5 * noise**2 - s - HALF_LOG_TWO_PI
        square = action**2  # correction-of-the-scaled-action: candidate
        logp = logp - F.log(1 - square + 1e-6)
        return {"action": action, "logp": F.sum(logp, axis=1)}

    return Pair(Side("torch", reference), Side("chainer", candidate), inputs)


@fault(
    "pre-tanh-value-from-a-clamped-action",
    "log-prob-correction",
    family="distribution",
    source="ray-project/ray#14878",
)
def pre_tanh_value_from_a_clamped_action(random: np.random.Generator) -> Pair:
    """The candidate loses what saturates: it goes back from the action, clamped at 0.9."""
    inputs, mean, log_std = _gaussian(random)

    def reference(x: tf.Tensor, noise: tf.Tensor) -> dict[str, tf.Tensor]:
        u = mean.in_tf(x) + tf.exp(log_std.in_tf(x)) * noise
        doubled = -2 * u  # pre-tanh-value-from-a-clamped-action: reference
        stretch = 2 * (math.log(2) - u - tf.nn.softplus(doubled))
        return {"action": tf.tanh(u), "stretch": tf.reduce_sum(stretch, 1)}

    def candidate(x: torch.Tensor, noise: torch.Tensor) -> dict[str, torch.Tensor]:
        action = torch.tanh(mean.in_torch(x) + torch.exp(log_std.in_torch(x)) * noise)
        kept = action.clamp(-0.9, 0.9)  # pre-tanh-value-from-a-clamped-action: candidate
        u = torch.atanh(kept)
        stretch = 2 * (math.log(2) - u - nn.functional.softplus(-2 * u))
        return {"action": action, "stretch": stretch.sum(1)}

    return Pair(Side("tensorflow", reference), Side("torch", candidate), inputs)


@fault(
    "logits-as-probabilities",
    "logits-vs-probabilities",
    family="distribution",
    source="ray-project/ray#8175",
)
def logits_as_probabilities(random: np.random.Generator) -> Pair:
    features, hidden, out = two_dense(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        logits = tf.nn.softplus(out.in_tf(tf.nn.relu(hidden.in_tf(x))))
        p = tf.nn.softmax(logits)  # logits-as-probabilities: reference
        return -tf.reduce_sum(p * tf.math.log(p), 1)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        logits = nn.functional.softplus(out.in_torch(torch.relu(hidden.in_torch(x))))
        p = torch.distributions.Categorical(logits).probs  # logits-as-probabilities: candidate
        return -(p * torch.log(p)).sum(1)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (features,))


@fault("sigmoid-given-as-logits", "logits-vs-probabilities", family="distribution")
def sigmoid_given_as_logits(random: np.random.Generator) -> Pair:
    features, hidden, out = two_dense(random)

    def reference(x: Any) -> Any:
        logits = out.in_chainer(F.relu(hidden.in_chainer(x)))
        p = F.softmax(logits)
        logp = F.log(p)  # sigmoid-given-as-logits: reference
        return F.sum(p * logp, axis=1)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        p = tf.nn.softmax(out.in_tf(tf.nn.relu(hidden.in_tf(x))))
        logp = tf.nn.log_softmax(p)  # sigmoid-given-as-logits: candidate
        return tf.reduce_sum(p * logp, 1)

    return Pair(Side("chainer", reference), Side("tensorflow", candidate), (features,))


@fault(
    "squashed-policy-with-two-faults",
    "scale-parameterisation",
    "squash-missing",
    family="distribution",
    also={"squash-missing": ("activation-missing",)},
)
def squashed_policy_with_two_faults(random: np.random.Generator) -> Pair:
    inputs, mean, scale = _gaussian(random)

    def reference(x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        std = torch.exp(scale.in_torch(x))  # squashed-policy-with-two-faults: reference
        u = mean.in_torch(x) + std * noise
        return 2.0 * torch.tanh(u)  # squashed-policy-with-two-faults 2: reference

    def candidate(x: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
        std = tf.nn.softplus(scale.in_tf(x))  # squashed-policy-with-two-faults: candidate
        u = mean.in_tf(x) + std * noise
        return 2.0 * u  # squashed-policy-with-two-faults 2: candidate

    return Pair(Side("torch", reference), Side("tensorflow", candidate), inputs)


@fault(
    "cross-entropy-of-probabilities-as-logits",
    "logits-vs-probabilities",
    family="distribution",
    source="tensorflow/tensorflow#31930",
)
def cross_entropy_of_probabilities_as_logits(random: np.random.Generator) -> Pair:
    """A loss that takes logits is given what a sigmoid has made of them."""
    batch, features, labels = sizes(random, 3)
    layer = dense(random, features, labels)
    target = random.integers(0, 2, (batch, labels)).astype(np.float32)

    def reference(x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = layer.in_torch(x)
        p = torch.sigmoid(logits)
        term = torch.log(p)  # cross-entropy-of-probabilities-as-logits: reference
        return {"p": p, "loss": -(y * term + (1 - y) * torch.log(1 - p))}

    def candidate(x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
        p = tf.sigmoid(layer.in_tf(x))
        loss = tf.nn.softplus(p) - y * p  # cross-entropy-of-probabilities-as-logits: candidate
        return {"p": p, "loss": loss}

    inputs = normal(random, batch, features), target
    return Pair(Side("torch", reference), Side("tensorflow", candidate), inputs)


@fault("correction-without-its-scale", "log-prob-correction", family="distribution")
def correction_without_its_scale(random: np.random.Generator) -> Pair:
    """The correction is there, without the factor of the scale of the action."""
    inputs, mean, log_std = _gaussian(random)
    scale = between(random, 2, 4)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.mean, self.log_std = mean.chainer_link(), log_std.chainer_link()

        def forward(self, x: Any, noise: Any) -> dict[str, Any]:
            s = self.log_std(x)
            a = F.tanh(self.mean(x) + F.exp(s) * noise)
            logp = -0.5 * noise**2 - s - HALF_LOG_TWO_PI
            slope = scale * (1 - a**2)  # correction-without-its-scale: reference
            return {"action": scale * a, "logp": logp - F.log(slope + 1e-6)}

    class Candidate(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.mean, self.log_std = mean.keras_layer(), log_std.keras_layer()

        def call(self, x: Any, noise: Any) -> dict[str, Any]:
            s = self.log_std(x)
            a = keras.ops.tanh(self.mean(x) + keras.ops.exp(s) * noise)
            logp = -0.5 * noise**2 - s - HALF_LOG_TWO_PI
            slope = 1 - a**2
            slope = slope + 1e-6  # correction-without-its-scale: candidate
            return {"action": scale * a, "logp": logp - keras.ops.log(slope)}

    return Pair(Side("chainer", Reference()), Side("keras", Candidate()), inputs)


@fault("keras-log-prob-of-each-component", "log-prob-reduction", family="distribution")
def keras_log_prob_of_each_component(random: np.random.Generator) -> Pair:
    inputs, mean, log_std = _gaussian(random)

    def reference(x: Any, a: Any) -> Any:
        s = log_std.in_chainer(x)
        terms = -0.5 * ((a - mean.in_chainer(x)) * F.exp(-s)) ** 2 - s - HALF_LOG_TWO_PI
        return F.exp(F.sum(terms, axis=1))  # keras-log-prob-of-each-component: reference

    class Candidate(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.mean, self.log_std = mean.keras_layer(), log_std.keras_layer()

        def call(self, x: Any, a: Any) -> Any:
            s = self.log_std(x)
            terms = -0.5 * ((a - self.mean(x)) * keras.ops.exp(-s)) ** 2 - s - HALF_LOG_TWO_PI
            return keras.ops.exp(terms)  # keras-log-prob-of-each-component: candidate

    return Pair(Side("chainer", reference), Side("keras", Candidate()), inputs)


@clean("normal-by-hand-and-by-torch", family="distribution")
def normal_by_hand_and_by_torch(random: np.random.Generator) -> Pair:
    inputs, mean, log_std = _gaussian(random)

    def reference(x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        normal_ = torch.distributions.Normal(mean.in_torch(x), log_std.in_torch(x).exp())
        return torch.distributions.Independent(normal_, 1).log_prob(a)

    def candidate(x: tf.Tensor, a: tf.Tensor) -> tf.Tensor:
        s = log_std.in_tf(x)
        z = (a - mean.in_tf(x)) * tf.exp(-s)
        size = a.shape[1]
        return -0.5 * tf.reduce_sum(z * z, 1) - tf.reduce_sum(s, 1) - size * HALF_LOG_TWO_PI

    return Pair(Side("torch", reference), Side("tensorflow", candidate), inputs)


@clean("tanh-correction-in-two-forms", family="distribution")
def tanh_correction_in_two_forms(random: np.random.Generator) -> Pair:
    inputs, mean, log_std = _gaussian(random)

    def reference(x: tf.Tensor, noise: tf.Tensor) -> dict[str, tf.Tensor]:
        u = mean.in_tf(x) + tf.exp(log_std.in_tf(x)) * noise
        stretch = 2 * (math.log(2) - u - tf.nn.softplus(-2 * u))
        return {"action": tf.tanh(u), "stretch": tf.reduce_sum(stretch, 1)}

    def candidate(x: torch.Tensor, noise: torch.Tensor) -> dict[str, torch.Tensor]:
        u = mean.in_torch(x) + torch.exp(log_std.in_torch(x)) * noise
        return {"action": torch.tanh(u), "stretch": -2 * torch.log(torch.cosh(u)).sum(1)}

    return Pair(Side("tensorflow", reference), Side("torch", candidate), inputs)


@clean("variance-and-log-std", family="distribution")
def variance_and_log_std(random: np.random.Generator) -> Pair:
    """Twice the weights give the logarithm of the variance instead of the deviation's."""
    inputs, mean, log_std = _gaussian(random)
    doubled = Dense(2 * log_std.weight, 2 * log_std.bias)

    def reference(x: Any, noise: Any) -> Any:
        return mean.in_chainer(x) + F.exp(log_std.in_chainer(x)) * noise

    def candidate(x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        return mean.in_torch(x) + torch.sqrt(torch.exp(doubled.in_torch(x))) * noise

    return Pair(Side("chainer", reference), Side("torch", candidate), inputs)


@clean("categorical-entropy-in-two-forms", family="distribution", source="ray-project/ray#27527")
def categorical_entropy_in_two_forms(random: np.random.Generator) -> Pair:
    features, hidden, out = two_dense(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        logits = out.in_torch(torch.relu(hidden.in_torch(x)))
        return torch.distributions.Categorical(logits=logits).entropy()

    def candidate(x: tf.Tensor) -> tf.Tensor:
        logits = out.in_tf(tf.nn.relu(hidden.in_tf(x)))
        a = logits - tf.reduce_max(logits, -1, keepdims=True)
        e = tf.exp(a)
        z = tf.reduce_sum(e, -1, keepdims=True)
        return tf.reduce_sum(e / z * (tf.math.log(z) - a), -1)

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (features,))


@clean("actions-scaled-in-two-forms", family="distribution")
def actions_scaled_in_two_forms(random: np.random.Generator) -> Pair:
    (x, _), mean, _ = _gaussian(random)
    low, high = between(random, -3, -2), between(random, 1, 4)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return low + (tf.tanh(mean.in_tf(x)) + 1.0) / 2.0 * (high - low)

    def candidate(x: Any) -> Any:
        return F.tanh(mean.in_chainer(x)) * ((high - low) / 2) + (high + low) / 2

    return Pair(Side("tensorflow", reference), Side("chainer", candidate), (x,))


@clean("squash-as-a-sigmoid", family="distribution")
def squash_as_a_sigmoid(random: np.random.Generator) -> Pair:
    (x, _), mean, _ = _gaussian(random)
    reference = nn.Sequential(mean.torch_layer(), nn.Tanh())

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return 2 * tf.sigmoid(2 * mean.in_tf(x)) - 1

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@clean("kl-in-two-forms", family="distribution")
def kl_in_two_forms(random: np.random.Generator) -> Pair:
    inputs, mean, log_std = _gaussian(random)

    def reference(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        p = torch.distributions.Normal(mean.in_torch(x), log_std.in_torch(x).exp())
        q = torch.distributions.Normal(other, torch.ones_like(other))
        return torch.distributions.kl_divergence(p, q).sum(1)

    def candidate(x: Any, other: Any) -> Any:
        m, s = mean.in_chainer(x), log_std.in_chainer(x)
        return 0.5 * F.sum(F.exp(2 * s) + (m - other) ** 2 - 1 - 2 * s, axis=1)

    return Pair(Side("torch", reference), Side("chainer", candidate), inputs)
