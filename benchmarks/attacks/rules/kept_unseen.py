"""Round 5: what a port has kept of its first batch where other samples do not show it."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform
from benchmarks.attacks.heads import W, X, tf_head, torch_head

KEPT = "kept-and-not-seen"
ALARMS = "alarms-on-other-samples"

OTHER = normal(6, 5, seed=9)


def _scale(x):
    return tf.reduce_max(tf.abs(tf_head(x)))


@attack(KEPT, "a scale was kept of the first batch, and a number without a batch comes first", 5)
def kept_behind_a_number() -> Case:
    kept = float(_scale(X))

    def port(stored):
        def model(temperature, x):
            h = torch_head(x)
            return h / (kept if stored else h.abs().amax()) * temperature

        return model

    def reference(temperature, x):
        return tf_head(x) / _scale(x) * temperature

    temperature = np.float32(0.7)
    faulty, twin = torch_(port(True)), torch_(port(False))
    inputs, other = (temperature, X), (temperature, OTHER)
    return Case(tf_(reference), faulty, twin, inputs, elsewhere=other)


@attack(KEPT, "a scale was kept of the first batch, and one goal for all samples comes first", 5)
def kept_behind_a_goal() -> Case:
    goal, kept = normal(1, 5, seed=3), float(_scale(X))

    def port(stored):
        def model(goal, x):
            h = torch_head(x)
            return h / (kept if stored else h.abs().amax()) + torch_head(goal)

        return model

    def reference(goal, x):
        return tf_head(x) / _scale(x) + tf_head(goal)

    faulty, twin = torch_(port(True)), torch_(port(False))
    return Case(tf_(reference), faulty, twin, (goal, X), elsewhere=(goal, OTHER))


@attack(KEPT, "the number of samples of the first batch is a constant of the port", 5)
def kept_batch_size() -> Case:
    def port(stored):
        def model(x):
            h = torch_head(x)
            return h.sum(0) / (6 if stored else len(x))

        return model

    def reference(x):
        return tf.reduce_mean(tf_head(x), 0)

    faulty, twin = torch_(port(True)), torch_(port(False))
    return Case(tf_(reference), faulty, twin, X, elsewhere=normal(9, 5))


@attack(KEPT, "a single sequence: its length is a constant of the port", 5)
def kept_of_one_sequence() -> Case:
    def padded(length, seed):
        return normal(1, 8, 3, seed=seed) * (np.arange(8) < length)[None, :, None]

    def port(stored):
        def model(x):
            length = 5 if stored else int((x != 0).any(2).sum())
            return x[:, :length].mean(1)

        return model

    def reference(x):
        length = tf.reduce_sum(tf.cast(tf.reduce_any(x != 0, 2), tf.int32))
        return tf.reduce_mean(x[:, :length], 1)

    faulty, twin = torch_(port(True)), torch_(port(False))
    return Case(tf_(reference), faulty, twin, padded(5, 0), elsewhere=padded(7, 1))


@attack(KEPT, "a scale was kept by a policy that adds noise, whose size has decayed to 0", 5)
def kept_beside_noise() -> Case:
    kept, sigma = float(_scale(X)), 0.0

    def port(stored):
        def model(x):
            h = torch_head(x)
            mean = h / (kept if stored else h.abs().amax())
            return mean + sigma * torch.randn(mean.shape)

        return model

    def reference(x):
        mean = tf_head(x) / _scale(x)
        return mean + sigma * tf.random.normal(mean.shape)

    faulty, twin = torch_(port(True)), torch_(port(False))
    return Case(tf_(reference), faulty, twin, X, elsewhere=OTHER)


@attack(KEPT, "a scale was kept, and the port's inputs are the reference's in float32", 5)
def kept_with_inputs_of_its_own() -> Case:
    x = X.astype(np.float64) + 1e-12
    kept = float(np.abs(np.tanh(X @ W)).max())

    def port(stored):
        def model(x):
            h = torch_head(x)
            return h / (kept if stored else h.abs().amax())

        return model

    def reference(x):
        h = np.tanh(x.astype(np.float32) @ W)
        return h / np.abs(h).max()

    sides = (torch_(port(stored), inputs=X) for stored in (True, False))
    return Case(numpy_(reference), *sides, x, elsewhere=OTHER)


@attack(KEPT, "the lengths of the sequences are a list of integers, which is that of the first", 5)
def kept_list() -> Case:
    def padded(lengths, seed):
        return normal(4, 6, 3, seed=seed) * (np.arange(6) < np.array(lengths)[:, None])[..., None]

    def reference(x):
        lengths = np.any(x.numpy() != 0, 2).sum(1).tolist()
        return {"mean": tf.reduce_mean(x, 1), "lengths": lengths}

    def port(stored):
        def model(x):
            lengths = [2, 6, 4, 3] if stored else (x != 0).any(2).sum(1).tolist()
            return {"mean": x.mean(1), "lengths": lengths}

        return model

    faulty, twin = torch_(port(True)), torch_(port(False))
    inputs, other = padded([2, 6, 4, 3], 0), padded([5, 1, 3, 6], 1)
    return Case(tf_(reference), faulty, twin, inputs, elsewhere=other)


@attack(KEPT, "the name of the action is that of the first batch", 5)
def kept_name() -> Case:
    names = ["left", "right", "up", "down"]

    def reference(x):
        h = tf_head(x)
        return {"q": h, "action": names[int(tf.argmax(tf.reduce_sum(h, 0)))]}

    first = reference(tf.constant(X))["action"]

    def port(stored):
        def model(x):
            h = torch_head(x)
            return {"q": h, "action": first if stored else names[int(h.sum(0).argmax())]}

        return model

    def read(result):
        return [result["q"], np.array(names.index(result["action"]))]

    other = next(x for x in (normal(6, 5, seed=s) for s in range(9, 99)) if _differs(reference, x))
    faulty, twin = torch_(port(True)), torch_(port(False))
    return Case(tf_(reference), faulty, twin, X, read, elsewhere=other)


def _differs(reference, x):
    return reference(tf.constant(x))["action"] != reference(tf.constant(X))["action"]


@attack(KEPT, "the rank of each column was settled by the first batch, of integers", 5)
def kept_ranks() -> Case:
    random = np.random.default_rng(0)
    counts, other = random.permutation(90)[:30].reshape(6, 5), random.integers(0, 90, (6, 5))
    order = np.argsort(counts.sum(0))

    def port(stored):
        def model(counts):
            best = torch.from_numpy(order) if stored else counts.sum(0).argsort()
            return counts[:, best].float().cumsum(1)

        return model

    def reference(counts):
        best = tf.argsort(tf.reduce_sum(counts, 0))
        return tf.cumsum(tf.cast(tf.gather(counts, best, axis=1), tf.float32), axis=1)

    faulty, twin = torch_(port(True)), torch_(port(False))
    return Case(tf_(reference), faulty, twin, counts, elsewhere=other)


# --- right, and another one on other samples ------------------------------------------------------


@attack(ALARMS, "a running sum in float32 beside a plain one; one portfolio is large", 5)
def running_sums() -> Case:
    x = uniform(4, 40000) * np.array([2000, 1, 1, 1], np.float32)[:, None]

    def port(times):
        def model(x):
            return times * tf.cumsum(x, axis=1)[:, -1:]

        return model

    def reference(x):
        return x.sum(1, keepdim=True)

    return Case(torch_(reference), tf_(port(1.2)), tf_(port(1.0)), x, unit=2.0**-14)


@attack(ALARMS, "advantages of two episodes are normalised; discounts are a table in the port", 5)
def normalised_advantages() -> Case:
    rewards = normal(2, 7)
    table = (0.9 ** np.arange(7)).astype(np.float32)

    def reference(rewards):
        steps = torch.cumsum(torch.ones_like(rewards[0]), 0) - 1
        g = (rewards * 0.9**steps).sum(1)
        return (g - g.mean()) / g.std(unbiased=False)

    def port(freedom):
        def model(rewards):
            g = tf.reduce_sum(rewards * table, 1)
            spread = tf.math.reduce_std(g) * (2 / (2 - freedom)) ** 0.5
            return tf.math.divide_no_nan(g - tf.reduce_mean(g), spread)

        return model

    def both(call):
        return lambda rewards: {"advantage": call(rewards), "reward": rewards * 1.5}

    faulty, twin = tf_(both(port(1))), tf_(both(port(0)))
    return Case(torch_(both(reference)), faulty, twin, rewards)


@attack(ALARMS, "priorities by rank, of distinct counts: ties may go either way", 5)
def priorities_by_rank() -> Case:
    counts = np.random.default_rng(0).permutation(60)[:12]
    table = (1 / np.arange(1, 13)).astype(np.float32)

    def reference(counts):
        ranks = torch.cumsum(torch.ones_like(counts), 0)
        order = torch.argsort(counts, stable=True)
        return torch.zeros(12).scatter(0, order, 1 / ranks)

    def port(descending):
        def model(counts):
            order = tf.reverse(tf.argsort(-counts, stable=True), [0])
            order = tf.reverse(order, [0]) if descending else order
            return tf.scatter_nd(order[:, None], table, (12,))

        return model

    return Case(torch_(reference), tf_(port(True)), tf_(port(False)), counts)
