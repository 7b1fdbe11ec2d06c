"""Action distributions as users write them, over the operations of any framework.

What `OPS` lends is all that they know of a framework. A fault is a method in place of one of these.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import tensorflow as tf
import torch

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
OPS = {
    "torch": SimpleNamespace(
        log=torch.log, exp=torch.exp, tanh=torch.tanh, sigmoid=torch.sigmoid,
        softplus=torch.nn.functional.softplus, lgamma=torch.lgamma, clip=torch.clamp,
        sum=lambda x, axis=-1: x.sum(axis), log_softmax=lambda x: torch.log_softmax(x, -1),
        argmax=lambda x: x.argmax(-1), pick=lambda x, i: x.gather(-1, i[..., None])[..., 0],
        floats=lambda x: x.to(torch.get_default_dtype()),
    ),
    "tensorflow": SimpleNamespace(
        log=tf.math.log, exp=tf.exp, tanh=tf.tanh, sigmoid=tf.sigmoid,
        softplus=tf.nn.softplus, lgamma=tf.math.lgamma, clip=tf.clip_by_value,
        sum=lambda x, axis=-1: tf.reduce_sum(x, axis), log_softmax=tf.nn.log_softmax,
        argmax=lambda x: tf.argmax(x, -1), pick=lambda x, i: tf.gather(x, i, batch_dims=1),
        floats=lambda x: tf.cast(x, tf.float32),
    ),
}  # fmt: skip


class Gaussian:
    """Independent Gaussians."""

    def __init__(self, ops: Any, mean: Any, std: Any) -> None:
        self.ops, self.mean, self.std = ops, mean, std

    def each(self, action: Any) -> Any:
        far = (action - self.mean) / self.std
        return -0.5 * far * far - self.ops.log(self.std) - HALF_LOG_2PI

    def log_prob(self, action: Any) -> Any:
        return self.ops.sum(self.each(action))

    def entropy(self) -> Any:
        return self.ops.sum(self.ops.log(self.std) + (HALF_LOG_2PI + 0.5))

    def kl(self, other: Any) -> Any:
        far = (self.mean - other.mean) / other.std
        ratio = self.std / other.std
        return self.ops.sum(0.5 * (ratio * ratio + far * far - 1) - self.ops.log(ratio))

    def mode(self) -> Any:
        return self.mean

    def sample(self, noise: Any) -> Any:
        return self.mean + self.std * noise


class Squashed(Gaussian):
    """tanh of Gaussians; the action is kept off its bounds by what float32 resolves."""

    def before(self, action: Any) -> Any:
        action = self.ops.clip(action, -1 + 1e-6, 1 - 1e-6)
        return 0.5 * (self.ops.log(1 + action) - self.ops.log(1 - action))

    def correction(self, before: Any, action: Any) -> Any:
        return 2 * (math.log(2) - before - self.ops.softplus(-2 * before))

    def log_prob(self, action: Any) -> Any:
        before = self.before(action)
        return self.ops.sum(self.each(before) - self.correction(before, action))

    def entropy(self) -> Any:
        raise NotImplementedError

    def mode(self) -> Any:
        return self.ops.tanh(self.mean)

    def sample(self, noise: Any) -> Any:
        return self.ops.tanh(self.mean + self.std * noise)


class Categorical:
    """One of several choices; its noise is uniform, one number for each choice (Gumbel)."""

    def __init__(self, ops: Any, logits: Any) -> None:
        self.ops, self.logits, self.logs = ops, logits, ops.log_softmax(logits)

    def log_prob(self, action: Any) -> Any:
        return self.ops.pick(self.logs, action)

    def entropy(self) -> Any:
        return -self.ops.sum(self.ops.exp(self.logs) * self.logs)

    def kl(self, other: Any) -> Any:
        return self.ops.sum(self.ops.exp(self.logs) * (self.logs - other.logs))

    def mode(self) -> Any:
        return self.ops.argmax(self.logits)

    def sample(self, noise: Any) -> Any:
        return self.ops.argmax(self.logits - self.ops.log(-self.ops.log(noise)))


class Bernoulli:
    """Independent yes-or-no choices."""

    def __init__(self, ops: Any, logits: Any) -> None:
        self.ops, self.logits = ops, logits

    def log_prob(self, action: Any) -> Any:
        chosen = self.ops.floats(action)
        return self.ops.sum(chosen * self.logits - self.ops.softplus(self.logits))

    def entropy(self) -> Any:
        yes = self.ops.sigmoid(self.logits)
        return self.ops.sum(self.ops.softplus(self.logits) - yes * self.logits)


class Beta:
    """Independent beta distributions."""

    def __init__(self, ops: Any, alpha: Any, beta: Any) -> None:
        self.ops, self.alpha, self.beta = ops, alpha, beta

    def log_prob(self, action: Any) -> Any:
        a, b, ops = self.alpha, self.beta, self.ops
        constant = ops.lgamma(a + b) - ops.lgamma(a) - ops.lgamma(b)
        action = ops.clip(action, 1e-4, 1 - 1e-4)
        return ops.sum(constant + (a - 1) * ops.log(action) + (b - 1) * ops.log(1 - action))
