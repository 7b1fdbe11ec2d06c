"""Small elements beside large ones: a root mean square over the tensor does not see them."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import (
    Case,
    attack,
    chainer_,
    normal,
    numpy_,
    tf_,
    torch_,
    uniform,
    weights,
)
from benchmarks.attacks.heads import F

RULE = "small-elements"


def _probabilities() -> np.ndarray:
    """Rows of probabilities, some of which are next to nothing."""
    p = np.exp(3 * normal(6, 8)).astype(np.float32)
    p[:, 2] = 1e-9
    p[1, 5] = 3e-10
    return (p / p.sum(1, keepdims=True)).astype(np.float32)


@attack(RULE, "the epsilon in the log of a probability, behind a mask of legal actions")
def log_epsilon_behind_mask() -> Case:
    p = _probabilities()
    legal = np.ones(8, np.float32)
    legal[4:] = 0

    def reference(x):
        return torch.log(x * torch.from_numpy(legal) + 1e-20)

    def port(epsilon):
        return lambda x: tf.math.log(x * legal + epsilon)

    return Case(torch_(reference), tf_(port(1e-10)), tf_(port(1e-20)), p)


@attack(RULE, "the epsilon in the log of tail probabilities, as an entropy's terms")
def entropy_terms() -> Case:
    def reference(x):
        return -x * torch.log(x + 1e-12)

    def port(epsilon):
        return lambda x: -x * tf.math.log(x + epsilon)

    return Case(torch_(reference), tf_(port(1e-8)), tf_(port(1e-12)), _probabilities())


@attack(RULE, "the epsilon of a batch norm whose running variance has a dead channel")
def batch_norm_dead_channel() -> Case:
    mean, gain = normal(6), normal(6, seed=1)
    variance = np.array([0.7, 1.3, 0.9, 1e-11, 2.0, 0.4], np.float32)
    bias = normal(6, seed=2)
    x = normal(5, 6, seed=3)
    mean[3] = 0
    x[:, 3] = 1e-5 * normal(5)

    class Norm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(6, eps=1e-12)
            held = (self.norm.weight, self.norm.bias, self.norm.running_mean, self.norm.running_var)
            for tensor, array in zip(held, (gain, bias, mean, variance), strict=True):
                tensor.data = torch.from_numpy(array.copy())

        def forward(self, x):
            return self.norm(x)

    def port(epsilon):
        return lambda x: (x - mean) * tf.math.rsqrt(variance + epsilon) * gain + bias

    return Case(torch_(Norm()), tf_(port(1e-11)), tf_(port(1e-12)), x)


@attack(RULE, "columns of 1 beside columns of 1e12")
def money_beside_shares() -> Case:
    x = uniform(7, 6, low=0.5, high=1.5)
    units = np.array([1e12, 1, 1, 1e12, 1, 1], np.float32)

    def reference(x):
        return x * torch.from_numpy(units)

    def port(share):
        factors = units * np.where(units == 1, share, 1).astype(np.float32)
        return lambda x: x * factors

    return Case(torch_(reference), tf_(port(1.005)), tf_(port(1.0)), x)


@attack(
    RULE,
    "every column but the first is off where the first is huge, in a tensor that is sampled in "
    "steps of the number of columns",
    variants={"half": (0.5,), "tenth": (0.9,)},
)
def sampled_columns(factor) -> Case:
    x = uniform(1024, 4, low=0.5, high=1.5)
    scale = np.array([1e12, 1, 1, 1], np.float32)
    other = np.array([1e12, factor, factor, factor], np.float32)
    return Case(
        torch_(lambda x: x * torch.from_numpy(scale)),
        tf_(lambda x: x * other),
        tf_(lambda x: x * scale),
        x,
    )


@attack(RULE, "logits are clipped before the softmax: the small probabilities are not the same")
def clipped_logits() -> Case:
    logits = 9 * normal(6, 5)
    logits[0, 1] = -40
    return Case(
        torch_(lambda x: torch.softmax(x, -1)),
        tf_(lambda x: tf.nn.softmax(tf.maximum(x, -25.0))),
        tf_(lambda x: tf.nn.softmax(tf.maximum(x, -60.0))),
        logits,
    )


@attack(RULE, "a softmax that keeps every probability above 1e-8")
def floored_probabilities() -> Case:
    logits = normal(6, 5)
    logits[:, 0] -= 30

    def port(least):
        def policy(x):
            return F.maximum(F.softmax(x), np.full((6, 5), least, np.float32))

        return policy

    return Case(
        torch_(lambda x: torch.softmax(x, -1)), chainer_(port(1e-8)), chainer_(port(0.0)), logits
    )


@attack(RULE, "the gain of the slow units of a layer that also has fast ones")
def slow_units() -> Case:
    w = weights(5, 8)
    w[:, 6:] *= 1e-6
    wrong = w.copy()
    wrong[:, 6:] *= 1.02
    x = normal(9, 5)
    layer = torch.nn.Linear(5, 8, bias=False)
    layer.weight.data = torch.from_numpy(w.T.copy())
    return Case(torch_(layer), tf_(lambda x: x @ wrong), tf_(lambda x: x @ w), x)


@attack(RULE, "a leak where the ReLU cuts off, far below the other activations")
def tiny_leak() -> Case:
    x = 100 * normal(6, 7)
    return Case(
        torch_(lambda x: torch.relu(x)),
        tf_(lambda x: tf.maximum(x, 1e-12 * x)),
        tf_(lambda x: tf.maximum(x, 0.0)),
        x,
    )


@attack(RULE, "discounts decay with another rate; the late ones are small")
def late_discounts() -> Case:
    rewards = uniform(4, 64, low=0.5, high=1)

    def port(kink):
        steps = np.arange(64)
        rate = np.where(steps < 50, 0.7**steps, 0.7**50 * kink ** (steps - 50.0))
        return lambda x: x * rate.astype(np.float32)

    discounts = (0.7 ** np.arange(64)).astype(np.float32)

    def reference(x):
        return x * torch.from_numpy(discounts)

    return Case(torch_(reference), numpy_(port(0.6)), numpy_(port(0.7)), rewards)


@attack(RULE, "an attention row that sees one near and many far keys; far weights off by 30%")
def far_attention() -> Case:
    q, k = normal(2, 5, 8), normal(2, 5, 8, seed=1)
    far = np.linspace(0, 24, 5, dtype=np.float32)
    bias = -np.abs(far[:, None] - far[None])

    def reference(q, k):
        scores = q @ k.transpose(1, 2) / 8**0.5 + torch.from_numpy(bias)
        return torch.softmax(scores, -1)

    def port(off):
        wrong = np.where(bias < -17, bias + off, bias).astype(np.float32)

        def attend(q, k):
            return tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 8**0.5 + wrong)

        return attend

    return Case(torch_(reference), tf_(port(-0.3)), tf_(port(0.0)), (q, k))


@attack(RULE, "the smallest eigen-feature of a whitening is scaled otherwise")
def whitening_tail() -> Case:
    scale = np.array([1e4, 1e2, 1, 1e-2, 1e-5], np.float32)
    other = scale.copy()
    other[-1] *= 1.5
    x = normal(8, 5)
    return Case(
        torch_(lambda x: torch.tanh(x) * torch.from_numpy(scale)),
        tf_(lambda x: tf.tanh(x) * other),
        tf_(lambda x: tf.tanh(x) * scale),
        x,
    )


@attack(RULE, "a sigmoid that saturates early: its small values are cut at 1e-7")
def sigmoid_floor() -> Case:
    x = 8 * normal(5, 6)
    x[2, 2] = -21
    x[4, 1] = -19

    def port(least):
        return lambda x: tf.clip_by_value(tf.sigmoid(x), least, 1.0)

    return Case(torch_(lambda x: torch.sigmoid(x)), tf_(port(1e-7)), tf_(port(0.0)), x)


@attack(RULE, "two outputs in one tensor: a return of thousands, a probability of 1e-5")
def return_and_probability() -> Case:
    w = weights(6, 3)
    x = normal(7, 6)

    def reference(x):
        h = x @ torch.from_numpy(w)
        return torch.cat([4e4 * h[:, :2], 1e-5 * torch.sigmoid(h[:, 2:])], 1)

    def port(temperature):
        def model(x):
            h = tf.matmul(x, w)
            return tf.concat([4e4 * h[:, :2], 1e-5 * tf.sigmoid(temperature * h[:, 2:])], 1)

        return model

    return Case(torch_(reference), tf_(port(1.01)), tf_(port(1.0)), x)


@attack(RULE, "the derivative part of a Huber loss near zero, where its values are small")
def huber_near_zero() -> Case:
    x = normal(40) * np.geomspace(1e-5, 30, 40).astype(np.float32)

    def port(tiny):
        def loss(x):
            a = np.abs(x)
            small = 0.5 * a * a * np.where(a < 1e-3, np.float32(tiny), np.float32(1))
            return np.where(a < 1, small, a - np.float32(0.5))

        return loss

    def reference(x):
        return torch.nn.functional.smooth_l1_loss(x, torch.zeros_like(x), reduction="none")

    return Case(torch_(reference), numpy_(port(0.9)), numpy_(port(1.0)), x)
