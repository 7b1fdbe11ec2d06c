"""Round 11: matching: values that are one but for their order, and lists of other lengths."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, weights
from benchmarks.attacks.heads import W, X, as_array, tf_head, torch_head

ALIKE = "as-many-look-alikes"
LISTS = "lists-of-other-lengths"

GATES = [tuple(np.random.default_rng([3, i]).permutation(6)[:2]) for i in range(150)]


def _register(flip, where, gates, like):
    controls = [np.indices((2,) * 6)[axis] == 1 for axis in range(6)]

    def model(x):
        state = x
        for control, target in gates:
            state = where(like(controls[control]), flip(state, target), state)
        return state

    return model


@attack(ALIKE, "a register of six bits: 150 controlled inversions, of which one is left out", 11)
def register_of_six() -> Case:
    x = normal(2, 2, 2, 2, 2, 2)

    def port(gates):
        return _register(
            lambda a, axis: torch.flip(a, [int(axis)]), torch.where, gates, torch.from_numpy
        )

    reference = _register(lambda a, axis: tf.reverse(a, [int(axis)]), tf.where, GATES, tf.constant)
    missing = [*GATES[:70], *GATES[71:]]
    return Case(tf_(reference), torch_(port(missing)), torch_(port(GATES)), x)


def _edge_torch(x):
    return (1 + 0 * x) * torch.tensor(0.1) * torch.tensor(10.0) - 1


def _edge_tf(x):
    return (1 + 0 * x) * tf.constant(0.1) * tf.constant(10.0) - 1


@attack(
    LISTS, "scores above nothing are listed, scaled by the largest: that of the first batch", 11
)
def listed_and_kept() -> Case:
    kept = float(np.abs(np.tanh(X @ W)).max())

    def port(stored):
        def model(x):
            h = torch_head(x)
            h = h / (kept if stored else h.abs().amax())
            found = torch.cat([h[:, 0], _edge_torch(x[:, 0])])
            return found[found > 0]

        return model

    def reference(x):
        h = tf_head(x)
        h = h / tf.reduce_max(tf.abs(h))
        found = tf.concat([h[:, 0], _edge_tf(x[:, 0])], 0)
        return tf.boolean_mask(found, found > 0)

    other = normal(6, 5, seed=9)
    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), X, elsewhere=other)


@attack(LISTS, "scores above nothing are listed and raised to a power, which is another", 11)
def listed_and_raised() -> Case:
    def port(power):
        def model(x):
            found = torch.cat([torch_head(x)[:, 0], _edge_torch(x[:, 0])])
            return found[found > 0] ** power

        return model

    def reference(x):
        found = tf.concat([tf_head(x)[:, 0], _edge_tf(x[:, 0])], 0)
        return tf.boolean_mask(found, found > 0) ** 1.3

    return Case(tf_(reference), torch_(port(1.34)), torch_(port(1.3)), X)


@attack(ALIKE, "a stack of cards is cut and dealt 60 times; one cut is of another size", 11)
def cards_cut_and_dealt() -> Case:
    x = normal(52, 3)
    cuts = np.random.default_rng(5).integers(8, 44, 60)

    def deal(like, roll, concat):
        def shuffle(cuts):
            def model(x):
                for cut in cuts:
                    x = roll(x, int(cut), 0)
                    x = concat([x[0::2], x[1::2]])
                return x

            return model

        return shuffle

    port = deal(None, torch.roll, torch.cat)
    reference = deal(None, tf.roll, lambda parts: tf.concat(parts, 0))
    other = cuts.copy()
    other[33] += 1
    return Case(tf_(reference(cuts)), torch_(port(other)), torch_(port(cuts)), x)


@attack(ALIKE, "a covariance and what is whitened by its root: by a factor that is transposed", 11)
def whitened_by_a_transpose() -> Case:
    x = normal(40, 5) @ weights(5, 5, seed=7)
    x = x.astype(np.float32)

    def port(turned):
        def model(x):
            rest = x - x.mean(0)
            factor = torch.linalg.cholesky(rest.T @ rest / 40)
            inverse = torch.linalg.inv(factor)
            return {
                "covariance": factor @ factor.T,
                "white": rest @ (inverse if turned else inverse.T),
            }

        return model

    def reference(x):
        rest = x - x.mean(0)
        covariance = rest.T @ rest / 40
        factor = np.linalg.cholesky(covariance)
        return {"covariance": covariance, "white": np.linalg.solve(factor, rest.T).T}

    def read(found):
        return [as_array(found["covariance"]), as_array(found["white"])]

    return Case(numpy_(reference), torch_(port(True)), torch_(port(False)), x, read)


# --- the channels of images, and other axes -------------------------------------------------------


@attack(
    "channels-of-what-is-no-image",
    "a detector's boxes: their fields come first of all axes, instead of last",
    11,
    {"in-a-map": (False,), "in-a-list": (True,)},
)
def fields_of_boxes(flat) -> Case:
    kernel = weights(27, 15, seed=2).reshape(3, 3, 3, 15)
    other = torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy())
    shape = (2, 42, 3, 5) if flat else (2, 6, 7, 3, 5)

    def port(first):
        def model(x):
            found = tf.reshape(tf.nn.conv2d(x, kernel, 1, "VALID"), shape)
            last = len(shape) - 1
            return tf.transpose(found, [0, last, *range(1, last)]) if first else found

        return model

    def reference(x):
        found = torch.nn.functional.conv2d(x, other)
        return found.permute(0, 2, 3, 1).reshape(shape)

    faulty, twin = (tf_(port(one), input_layout="NHWC") for one in (True, False))
    return Case(torch_(reference), faulty, twin, normal(2, 3, 8, 9))


@attack(LISTS, "what is far above is listed beside scores: here there is nothing", 11)
def nothing_listed() -> Case:
    def port(scale):
        def model(x):
            h = torch_head(x)
            return {"scores": scale * h, "listed": h[h > 5], "rows": h[:, :0]}

        return model

    def reference(x):
        h = tf_head(x)
        return {"scores": h, "listed": tf.boolean_mask(h, h > 5), "rows": h[:, :0]}

    return Case(tf_(reference), torch_(port(1.0001)), torch_(port(1.0)), X)
