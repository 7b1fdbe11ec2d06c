"""Values that are near each other and are replaced: straight-through, rounded, saturated."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform, weights

RULE = "near-values"

W, V = weights(6, 5), weights(5, 3, seed=1)
X = normal(7, 6)


@attack(
    RULE,
    "a straight-through estimator whose head reads a value that is a little off",
    variants={"5e-5": (5e-5,), "8e-6": (8e-6,), "9e-5": (9e-5,)},
)
def straight_through(off) -> Case:
    def reference(x):
        h = torch.tanh(x @ torch.from_numpy(W))
        soft = torch.sigmoid(4 * h)
        hard = soft + (torch.round(soft) - soft).detach()
        return {"latent": h, "q": h @ torch.from_numpy(V), "code": hard}

    def port(off):
        def model(x):
            h = tf.tanh(tf.matmul(x, W))
            soft = tf.sigmoid(4 * h)
            hard = soft + tf.stop_gradient(tf.round(soft) - soft)
            return {"latent": h, "q": tf.matmul(h * (1 + off), V), "code": hard}

        return model

    return Case(torch_(reference), tf_(port(off)), tf_(port(0.0)), X)


@attack(RULE, "z + stop_gradient(q - z) where q is a code near z; the head reads z")
def nearby_code() -> Case:
    table, v = np.abs(normal(4, 5)), np.abs(V)  # sums in which nothing cancels
    z = (table[np.arange(8) % 4] + 3e-5 * normal(8, 5, seed=2)).astype(np.float32)

    def reference(z):
        index = torch.cdist(z, torch.from_numpy(table)).argmin(1)
        q = torch.from_numpy(table)[index]
        return torch.tanh((z + (q - z).detach()) @ torch.from_numpy(v))

    def port(quantised):
        def model(z):
            gaps = tf.reduce_sum((z[:, None] - table[None]) ** 2, -1)
            q = tf.gather(table, tf.argmin(gaps, 1))
            return tf.tanh(tf.matmul(z + tf.stop_gradient(q - z) if quantised else z, v))

        return model

    return Case(torch_(reference), tf_(port(False)), tf_(port(True)), z)


@attack(RULE, "the target network lags behind by 5e-5: both heads are in the model")
def lagging_target() -> Case:
    late = (W * (1 - 5e-5)).astype(np.float32)

    def reference(x):
        online = torch.tanh(x @ torch.from_numpy(W))
        target = torch.tanh(x @ torch.from_numpy(late))
        return {"online": online @ torch.from_numpy(V), "target": target @ torch.from_numpy(V)}

    def port(swap):
        def model(x):
            online, target = tf.tanh(tf.matmul(x, W)), tf.tanh(tf.matmul(x, late))
            return {
                "online": tf.matmul(online, V),
                "target": tf.matmul(online if swap else target, V),
            }

        return model

    return Case(torch_(reference), tf_(port(True)), tf_(port(False)), X)


@attack(RULE, "the residual of a tiny branch: h + 1e-5 * f(h) without the branch")
def tiny_branch() -> Case:
    def reference(x):
        h = torch.tanh(x @ torch.from_numpy(W))
        return (h + 2e-5 * torch.sin(7 * h)) @ torch.from_numpy(V)

    def port(share):
        def model(x):
            h = tf.tanh(tf.matmul(x, W))
            return tf.matmul(h + share * tf.sin(7 * h), V)

        return model

    return Case(torch_(reference), tf_(port(0.0)), tf_(port(2e-5)), X)


@attack(RULE, "layer scale of 1e-4 on a transformer block: the block is another")
def layer_scale() -> Case:
    def reference(x):
        return x + 1e-4 * torch.nn.functional.gelu(x @ torch.from_numpy(W) @ torch.ones(5, 6))

    def port(kind):
        def model(x):
            return x + 1e-4 * kind(tf.matmul(tf.matmul(x, W), tf.ones((5, 6))))

        return model

    def gelu(x):
        return tf.nn.gelu(x, approximate=False)

    scale = np.float32(0.1)
    return Case(torch_(reference), tf_(port(tf.nn.relu)), tf_(port(gelu)), scale * X)


@attack(RULE, "the difference of two near values is what the model returns")
def difference_of_near() -> Case:
    def reference(x):
        h = torch.tanh(x @ torch.from_numpy(W))
        moved = h + 2e-3 * torch.sin(3 * h)
        return (moved - h) * 500

    def port(size):
        def model(x):
            h = tf.tanh(tf.matmul(x, W))
            moved = h + size * tf.sin(3 * h)
            return (moved - h) * 500

        return model

    return Case(torch_(reference), tf_(port(2.01e-3)), tf_(port(2e-3)), X)


@attack(RULE, "a parameter is off by 1% behind saturated units: one unit is not saturated")
def saturated_but_one() -> Case:
    w = weights(6, 8)
    gain = np.full(8, 60, np.float32)
    gain[5] = 2e-4
    wrong = gain.copy()
    wrong[5] *= 1.01

    def reference(x):
        return torch.tanh((x @ torch.from_numpy(w)).sign() * torch.from_numpy(gain))

    def port(gain):
        return lambda x: tf.tanh(tf.sign(tf.matmul(x, w)) * gain)

    return Case(torch_(reference), tf_(port(wrong)), tf_(port(gain)), X)


@attack(RULE, "a half-precision bias excuses a wrong weight in the layer that reads it")
def half_bias_excuses() -> Case:
    bias = (30 * normal(5, seed=4)).astype(np.float16)
    wrong = (W * np.float32(1.0004)).astype(np.float32)

    def reference(x):
        return x @ torch.from_numpy(W) + torch.from_numpy(bias).float()

    def port(w):
        return lambda x: tf.matmul(x, w) + tf.cast(tf.constant(bias), tf.float32)

    return Case(torch_(reference), tf_(port(wrong)), tf_(port(W)), X)


@attack(RULE, "a half-precision scale excuses a fault of 4e-4 in what it scales")
def half_scale_excuses() -> Case:
    scale = uniform(5, low=0.5, high=1.5).astype(np.float16)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.from_numpy(scale.copy()))

        def forward(self, x):
            return torch.tanh(x.float() @ torch.from_numpy(W)) * self.scale.float()

    def port(factor):
        def model(x):
            return tf.tanh(tf.matmul(x, W)) * (factor * tf.cast(tf.constant(scale), tf.float32))

        return model

    x = X.astype(np.float16).astype(np.float32)
    return Case(torch_(Net()), tf_(port(1.0004)), tf_(port(1.0)), x)


@attack(RULE, "an output of three numbers, all of them whole: 5e-5 off")
def whole_numbers() -> Case:
    x = np.array([[1.0, 2.0, 4.0]], np.float32)
    return Case(
        torch_(lambda x: torch.square(x)),
        tf_(lambda x: tf.square(x) * 1.00005),
        tf_(lambda x: tf.square(x)),
        x,
        exact=True,
    )


@attack(RULE, "an index that is one off in a table whose rows are near each other")
def near_rows() -> Case:
    table = (normal(1, 6) + np.arange(12)[:, None] * np.float32(4e-6)).astype(np.float32)
    index = np.array([[1, 3], [5, 7], [0, 2]])

    def reference(i):
        return torch.from_numpy(table)[i].sum(1)

    def port(shift):
        return lambda i: tf.reduce_sum(tf.gather(table, i + shift), 1)

    return Case(torch_(reference), tf_(port(1)), tf_(port(0)), index)


@attack(RULE, "dead reckoning: time steps of 0.0200004 instead of 0.02, on a smooth path")
def time_step() -> Case:
    def port(step):
        def model(x):
            for _ in range(20):
                x = x + np.float32(step) * np.sin(x)
            return x

        return model

    def reference(x):
        for _ in range(20):
            x = x + 0.02 * torch.sin(x)
        return x

    return Case(torch_(reference), numpy_(port(0.0200004)), numpy_(port(0.02)), X)


@attack(RULE, "a smoothed label of 1e-6 that is left out behind a large loss")
def smoothed_label() -> Case:
    def reference(x):
        p = torch.softmax(x, 1)
        return p * (1 - 1e-5) + 1e-5 / 6

    def port(amount):
        return lambda x: tf.nn.softmax(x) * (1 - amount) + amount / 6

    return Case(torch_(reference), tf_(port(0.0)), tf_(port(1e-5)), X)
