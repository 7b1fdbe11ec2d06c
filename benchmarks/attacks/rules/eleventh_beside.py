"""Round 11: graphs that draw alike, one law by a phase, and what hides a kept scale."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_, uniform, weights
from benchmarks.attacks.heads import MORE, W, X, as_array, tf_head, torch_head

GRAPHS = "graphs-that-draw-alike"
LAWS = "one-law-behind-data"
HIDES = "what-hides-other-samples"


def _distance(result):
    """Of two heads with noise: the distance of their noises."""
    h, a, b = map(as_array, result[:3])
    return [np.std((a - h) - (b - h), keepdims=True)]


@attack(GRAPHS, "actor and target are graphs of their own: of one global seed they draw alike", 11)
def two_graphs_of_one_seed() -> Case:
    def noisy(h):
        return h + 0.1 * tf.random.normal(tf.shape(h))

    def port(separate):
        tf.random.set_seed(5)  # for reproducible runs
        actor, target = tf.function(noisy), tf.function(noisy)
        both = tf.function(lambda h: (noisy(h), noisy(h)))

        def model(x):
            h = tf_head(x)
            return (h, actor(h), target(h)) if separate else (h, *both(h))

        return model

    def reference(x):
        h = torch_head(x)
        return h, h + 0.1 * torch.randn(h.shape), h + 0.1 * torch.randn(h.shape)

    return Case(torch_(reference), tf_(port(True)), tf_(port(False)), MORE, _distance)


@attack(GRAPHS, "an ensemble under vmap has one noise for all its members, or one for each", 11)
def one_noise_under_vmap() -> Case:
    def port(randomness):
        def member(w, x):
            h = torch.tanh(x @ w)
            return h + 0.1 * torch.randn_like(h)

        run = torch.func.vmap(member, (0, None), randomness=randomness)

        def model(x):
            noisy = run(torch.from_numpy(np.stack([W, W])), x)
            return torch_head(x), noisy[0], noisy[1]

        return model

    def reference(x):
        h = tf_head(x)
        return h, *(h + 0.1 * tf.random.normal(tf.shape(h)) for _ in range(2))

    return Case(tf_(reference), torch_(port("same")), torch_(port("different")), MORE, _distance)


# --- one law behind data ----------


def _quantiles(result):
    h, a = map(as_array, result)
    return [np.quantile(a - h, [0.05, 0.3, 0.7, 0.95])] if len(h) > 1000 else [np.zeros(1)]


@attack(LAWS, "exploration swings with a random phase: by a cosine, or a sine; or too far", 11)
def swings_with_a_phase() -> Case:
    def port(size):
        def model(x):
            h = tf_head(x)
            return h, h + size * tf.sin(9 * h + 2 * np.pi * tf.random.uniform(tf.shape(h)))

        return model

    def reference(x):
        h = torch_head(x)
        return h, h + 0.2 * torch.cos(9 * h + 2 * np.pi * torch.rand(h.shape))

    sides = tf_(port(0.3)), tf_(port(0.2))
    return Case(torch_(reference), *sides, X, _quantiles, elsewhere=MORE)


# --- what hides a kept scale ----------

FIRST = X[np.argsort(-np.abs(X).max(1))]  # the largest comes first


@attack(HIDES, "a scale was kept of the first batch; the nearest states are returned beside", 11)
def kept_beside_neighbours() -> Case:
    def port(keeps):
        def model(x):
            scale = float(np.abs(FIRST).max()) if keeps else tf.reduce_max(tf.abs(x))
            gaps = tf.reduce_sum(tf.square(x[:, None] - x[None]), 2)
            return tf.tanh(tf.matmul(x / scale, W)), tf.math.top_k(-gaps, 2).indices

        return model

    def reference(x):
        gaps = (x[:, None] - x[None]).square().sum(2)
        scaled = x / x.abs().max()
        return torch.tanh(scaled @ torch.from_numpy(W)), torch.topk(-gaps, 2).indices

    sides = tf_(port(True)), tf_(port(False))
    return Case(torch_(reference), *sides, FIRST, elsewhere=normal(6, 5, seed=1, scale=0.7))


BALANCES = np.array([[4000.0], [0.5], [1.5], [0.7], [2.0], [4100.0]], np.float32)


@attack(HIDES, "a mean was kept of the first batch; two accounts are 4,000 times the others", 11)
def kept_beside_two_large_accounts() -> Case:
    kept = float(np.tanh(BALANCES).mean())

    def port(keeps):
        def model(x):
            mean = kept if keeps else tf.reduce_mean(tf.tanh(x))
            return x + 0.05 * mean * tf.tanh(x)

        return model

    def reference(x):
        return x + 0.05 * torch.tanh(x).mean() * torch.tanh(x)

    sides = tf_(port(True)), tf_(port(False))
    return Case(torch_(reference), *sides, BALANCES, elsewhere=BALANCES[1:5] / 4)


LARGE = normal(20_000, 40, seed=15)
V = weights(40, 4, seed=16)


@attack(HIDES, "a large batch's spread was folded into the weights: its halves have it too", 11)
def kept_spread_of_a_large_batch() -> Case:
    folded = V / np.float32(np.sqrt(np.mean(LARGE.astype(np.float64) ** 2)))

    def port(keeps):
        def model(x):
            if keeps:
                return tf.tanh(tf.matmul(x, folded))
            return tf.tanh(tf.matmul(x / tf.sqrt(tf.reduce_mean(tf.square(x))), V))

        return model

    def reference(x):
        return torch.tanh((x / x.square().mean().sqrt()) @ torch.from_numpy(V))

    sides = tf_(port(True)), tf_(port(False))
    return Case(torch_(reference), *sides, LARGE, elsewhere=np.float32(0.5) * LARGE[:100])


PIXELS = np.round(uniform(6, 3, 8, 8, high=255, seed=17)).astype(np.float32)
PIXELS[:, 0, 0, 0] = 255


@attack(HIDES, "pixels are scaled by the largest, which is 255 in every image; or by 255", 11)
def kept_largest_pixel() -> Case:
    head = weights(192, 4, seed=18)

    def port(keeps):
        def model(x):
            scale = 255.0 if keeps else tf.reduce_max(x)
            return tf.tanh(tf.matmul(tf.reshape(x / scale, (len(x), -1)), head))

        return model

    def reference(x):
        return torch.tanh((x / x.max()).flatten(1) @ torch.from_numpy(head))

    sides = tf_(port(True)), tf_(port(False))
    elsewhere = np.round(PIXELS / 4)
    return Case(torch_(reference), *sides, PIXELS, elsewhere=elsewhere, exact=True)
