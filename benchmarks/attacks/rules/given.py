"""Inputs: a candidate's own, of another dtype, changed by stages; results that are only stored."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, numpy_, tf_, torch_
from benchmarks.attacks.heads import F, W, X, tf_head, torch_head

OWN = "own-inputs"
STORED = "stored-results"


def half_net(dtype):
    """A Keras layer all of whose weights and sums are in half precision."""
    net = keras.layers.Dense(4, activation="tanh", use_bias=False, dtype=dtype)
    net.build((None, 5))
    net.set_weights([W])
    return net


@attack(
    OWN,
    "a model in half precision has inputs of its own that are not the reference's",
    variants={"doubled": (2.0,), "off-10-percent": (1.1,)},
)
def half_model(factor) -> Case:
    x = X.astype(np.float16).astype(np.float32)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(5, 4, bias=False)
            self.layer.weight.data = torch.from_numpy(W.T.astype(np.float16))

        def forward(self, x):
            return torch.tanh(self.layer(x))

    def port(factor):
        return torch_(Net(), "float16", inputs=(x * np.float32(factor)).astype(np.float16))

    return Case(tf_(half_net("float32")), port(factor), port(1.0), x, unit=2.0**-10)


@attack(OWN, "a float32 reference takes integers, its port has floats of its own, 1% off")
def integers_and_floats() -> Case:
    x = np.random.default_rng(0).integers(0, 256, (6, 5)).astype(np.uint8)
    own = x.astype(np.float32)

    def reference(x):
        return torch_head(x.float() / 255)

    def port(x):
        return tf_head(x / 255)

    return Case(
        torch_(reference), tf_(port, inputs=own * np.float32(1.01)), tf_(port, inputs=own), x
    )


@attack(OWN, "a port takes pixels that were normalised before: 1/256 against 1/255")
def normalised_before() -> Case:
    x = np.random.default_rng(0).integers(0, 256, (6, 5)).astype(np.uint8)

    def reference(x):
        return torch_head(x.float() / 255)

    def own(most):
        return (x / most).astype(np.float32)

    return Case(
        torch_(reference), tf_(tf_head, inputs=own(256.0)), tf_(tf_head, inputs=own(255.0)), x
    )


@attack(OWN, "a NumPy port in float64 has float64 inputs of its own, which are off by 1%")
def double_inputs() -> Case:
    def port(x):
        return np.tanh(x @ W.astype(np.float64))

    own = X.astype(np.float64)
    return Case(torch_(torch_head), numpy_(port, inputs=1.01 * own), numpy_(port, inputs=own), X)


@attack(OWN, "indices as int32 of its own are one row further")
def other_indices() -> Case:
    table = normal(9, 4)
    index = np.array([[0, 1], [4, 7]])

    def reference(i):
        return torch.from_numpy(table)[i]

    def port(i):
        return tf.gather(table, i)

    own = index.astype(np.int32)
    return Case(torch_(reference), tf_(port, inputs=own + 1), tf_(port, inputs=own), index)


@attack(OWN, "a dict of inputs where one of the two is the candidate's own and doubled")
def one_of_two() -> Case:
    y = normal(6, 4, seed=1)

    def reference(x, y):
        return torch_head(x) * y

    def port(x, y):
        return F.tanh(F.matmul(x, W)) * y

    def own(factor):
        return {"x": X, "y": (factor * y).astype(np.float32)}

    return Case(
        torch_(reference),
        chainer_(port, inputs=own(2)),
        chainer_(port, inputs=own(1)),
        {"x": X, "y": y},
    )


@attack(OWN, "the candidate's own inputs are another batch, of which the first rows agree")
def other_batch() -> Case:
    own = X.copy()
    own[5] += np.float32(0.01)
    return Case(torch_(torch_head), tf_(tf_head, inputs=own), tf_(tf_head, inputs=X.copy()), X)


@attack(OWN, "images are said to lie channels last, and are square: they are not")
def told_layout() -> Case:
    images = normal(2, 3, 3, 3)
    gain = np.array([1.0, 2.0, 3.0], np.float32)

    def reference(x):
        return (x * torch.from_numpy(gain)[:, None, None]).sum((2, 3))

    def port(x):
        return tf.reduce_sum(x * gain, (1, 2))

    return Case(torch_(reference), tf_(port), tf_(port, input_layout="NHWC"), images)


@attack(OWN, "a stage before the model writes into its input: the other model gets what is left")
def stage_in_place() -> Case:
    def scale(x):
        x *= 2
        return x

    return Case(
        torch_(torch_head, before=(lambda x: 2 * x,)),
        tf_(tf_head, before=(scale, scale)),
        tf_(tf_head, before=(scale,)),
        X,
    )


@attack(OWN, "a stage before the model rounds its input to float16")
def stage_in_half() -> Case:
    def rounded(x):
        return x.astype(np.float16).astype(np.float32)

    return Case(
        torch_(torch_head), tf_(tf_head, before=(rounded,)), tf_(tf_head, before=(np.copy,)), X
    )


@attack(OWN, "a float64 input does not survive float32: 2**24 + 1 as a number of steps")
def integers_as_floats() -> Case:
    steps = np.array([[2**24 + 1], [2**24 + 3]], np.int64)

    def port(dtype):
        return lambda n: tf.cast(n - tf.cast(tf.cast(n, dtype), tf.int64), tf.float32)

    return Case(
        torch_(lambda n: (n - n.double().long()).float()),
        tf_(port(tf.float32)),
        tf_(port(tf.float64)),
        steps,
    )


# --- results that do not depend on what is given --------------------------------------------------


@attack(STORED, "a candidate returns a stored copy of the reference's result")
def stored_copy() -> Case:
    known = np.tanh(X @ W)
    return Case(
        torch_(torch_head),
        tf_(lambda x: tf.constant(known)),
        tf_(tf_head),
        X,
        elsewhere=X + 1,
    )


@attack(STORED, "a stored result is added to zero times the input")
def stored_behind_zero() -> Case:
    known = np.tanh(X @ W)

    def wrong(x):
        return tf.constant(known) + 0.0 * tf.reduce_sum(x, 1, keepdims=True)

    return Case(torch_(torch_head), tf_(wrong), tf_(tf_head), X, elsewhere=X + 1)


@attack(STORED, "a cache of results by shape answers instead of the model")
def cached_by_shape() -> Case:
    def make(broken):
        cache = {}

        def model(x):
            key = x.shape if broken else x.tobytes()
            if key not in cache:
                cache[key] = np.tanh(x @ W)
            return cache[key].copy()

        if broken:
            model(X + np.float32(1))
        return model

    return Case(torch_(torch_head), numpy_(make(True)), numpy_(make(False)), X)


@attack(STORED, "the advantage's mean was computed once, for the first batch")
def frozen_mean() -> Case:
    mean = (X @ W).mean(1, keepdims=True)

    def reference(x):
        h = x @ torch.from_numpy(W)
        return torch.tanh(h - h.mean(1, keepdim=True))

    def port(frozen):
        def model(x):
            h = tf.matmul(x, W)
            return tf.tanh(h - (mean if frozen else tf.reduce_mean(h, 1, keepdims=True)))

        return model

    return Case(torch_(reference), tf_(port(True)), tf_(port(False)), X, elsewhere=X[::-1] * 2)
