"""Graphs without Python code, which run in float32 only: SavedModels and concrete functions."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_, uniform
from benchmarks.attacks.heads import X

RULE = "no-float64"


def saved(function: Callable[..., Any], *specs: tf.TensorSpec, holds: Any = None) -> Any:
    """The function, saved and loaded: a graph of which only the results can be seen."""
    module = tf.Module()
    module.holds = holds
    module.call = tf.function(function, input_signature=specs, autograph=False)
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, True)
    tf.saved_model.save(module, folder)
    loaded = tf.saved_model.load(folder)
    return lambda x: loaded.call(x)


def concrete(function: Callable[..., Any], *specs: tf.TensorSpec) -> Any:
    return tf.function(function, autograph=False).get_concrete_function(*specs)


def floats(*shape: int | None) -> tf.TensorSpec:
    return tf.TensorSpec(shape, tf.float32)


def _pair(wrong, right, reference, x, kind=concrete, exact=False):
    spec = tf.TensorSpec(x.shape, tf.as_dtype(x.dtype))
    return Case(torch_(reference), tf_(kind(wrong, spec)), tf_(kind(right, spec)), x, exact=exact)


@attack(RULE, "a SavedModel masks zeros, which random inputs do not have")
def saved_masks_zeros() -> Case:
    x = np.where(normal(6, 5, seed=9) > 0, X, 0).astype(np.float32)

    def wrong(x):
        h = tf.nn.softmax(x)
        return tf.where(x == 0, 0.0, h)

    return _pair(wrong, lambda x: tf.nn.softmax(x), lambda x: torch.softmax(x, -1), x, saved)


def _recurrent(masked):
    inputs = keras.Input((4, 3))
    h = keras.layers.Masking()(inputs) if masked else inputs
    net = keras.Model(inputs, keras.layers.LSTM(5)(h))
    random = np.random.default_rng(0)
    net.set_weights([random.normal(size=w.shape, scale=0.4) for w in net.get_weights()])
    return net


@attack(RULE, "Masking and LSTM, exported, against an LSTM without a mask")
def exported_masking() -> Case:
    x = normal(5, 4, 3)
    x[:, 2:] = 0
    plain, masked = _recurrent(False), _recurrent(True)
    return Case(
        tf_(plain),
        tf_(saved(lambda x: masked(x, training=False), floats(5, 4, 3), holds=masked)),
        tf_(saved(lambda x: plain(x, training=False), floats(5, 4, 3), holds=plain)),
        x,
    )


@attack(
    RULE,
    "a threshold that only the user's inputs pass",
    variants={"far": (9.0,), "further": (40.0,)},
)
def threshold(size) -> Case:
    x = X.copy()
    x[2, 3] = 1.5 * size
    return _pair(
        lambda x: tf.clip_by_value(x, -size, size),
        lambda x: tf.clip_by_value(x, -1000.0, 1000.0),
        lambda x: torch.clamp(x, -1000, 1000),
        x,
    )


@attack(RULE, "whole numbers are rounded the other way: halves occur in the user's inputs alone")
def halves() -> Case:
    x = (np.arange(30).reshape(6, 5) / 2 - 6).astype(np.float32)

    def wrong(x):
        return tf.floor(x + 0.5)

    return _pair(wrong, lambda x: tf.round(x), lambda x: torch.round(x), x, exact=True)


@attack(RULE, "a padding value of -1 is taken for a number")
def padding_value() -> Case:
    x = X.copy()
    x[1:3, 2:] = -1

    def reference(x):
        keep = (x != -1).float()
        return (x * keep).sum(1) / keep.sum(1)

    def right(x):
        keep = tf.cast(x != -1.0, tf.float32)
        return tf.reduce_sum(x * keep, 1) / tf.reduce_sum(keep, 1)

    return _pair(lambda x: tf.reduce_mean(x, 1), right, reference, x, exact=True)


@attack(RULE, "ties: the last of equal numbers wins instead of the first")
def ties() -> Case:
    x = np.round(X)
    x[0, :] = [0, 2, 1, 2, 0]

    def right(x):
        return tf.one_hot(tf.argmax(x, 1), 5) * (x + 1) + tf.tanh(x)

    def wrong(x):
        last = 4 - tf.argmax(tf.reverse(x, [1]), 1)
        return tf.one_hot(last, 5) * (x + 1) + tf.tanh(x)

    def reference(x):
        first = torch.nn.functional.one_hot(torch.argmax(x, 1), 5)
        return first * (x + 1) + torch.tanh(x)

    return _pair(wrong, right, reference, x, exact=True)


@attack(RULE, "one sample's fault: rows with a sum above 12")
def one_row() -> Case:
    x = X.copy()
    x[4] = 4

    def wrong(x):
        h = tf.tanh(x)
        return tf.where(tf.reduce_sum(x, 1, keepdims=True) > 12, 0.9 * h, h)

    return _pair(wrong, lambda x: tf.tanh(x), lambda x: torch.tanh(x), x)


@attack(RULE, "sorted inputs alone show that a cumulative sum runs the other way for equal ones")
def constant_rows() -> Case:
    x = X.copy()
    x[1] = 3.0

    def right(x):
        return x - tf.reduce_mean(x, 1, keepdims=True)

    def wrong(x):
        gap = x - tf.reduce_mean(x, 1, keepdims=True)
        flat = tf.reduce_all(gap == 0, 1, keepdims=True)
        return tf.where(flat, 1.0, gap)

    return _pair(wrong, right, lambda x: x - x.mean(1, keepdim=True), x)


@attack(RULE, "probabilities: inputs that are not in [0, 1] have no logarithm and prove nothing")
def log_of_probability() -> Case:
    x = uniform(6, 5, low=0.01, high=1)
    return _pair(
        lambda x: tf.math.log(x + 1e-4),
        lambda x: tf.math.log(x + 1e-9),
        lambda x: torch.log(x + 1e-9),
        x,
    )


@attack(RULE, "a slope on the negative side; the user's inputs are all negative but for a few")
def mostly_one_side() -> Case:
    x = -np.abs(X)
    x[0, 0] = 0.5
    return _pair(
        lambda x: tf.where(x > 0.4, 1.5 * x, tf.exp(x)),
        lambda x: tf.where(x > 0.4, x, tf.exp(x)),
        lambda x: torch.where(x > 0.4, x, torch.exp(x)),
        x,
    )


@attack(RULE, "a small element beside large ones, in a graph")
def small_in_graph() -> Case:
    scale = np.array([1e5, 1, 1e-3, 1, 1], np.float32)
    other = np.array([1e5, 1, 1.01e-3, 1, 1], np.float32)
    return _pair(
        lambda x: tf.tanh(x) * other,
        lambda x: tf.tanh(x) * scale,
        lambda x: torch.tanh(x) * torch.from_numpy(scale),
        X,
    )


@attack(RULE, "a table is read at its last index, which wraps, by the user's indices alone")
def last_index() -> Case:
    table = normal(9, 4)
    index = np.array([[0, 8], [3, 8], [5, 1]])

    def wrong(i):
        return tf.gather(table, tf.minimum(i, 7))

    return _pair(wrong, lambda i: tf.gather(table, i), lambda i: torch.from_numpy(table)[i], index)


@attack(RULE, "an ill-conditioned column has rounding for all: the others are off by 1e-4")
def noisy_column() -> Case:
    x = X.copy()
    x[:, 0] = 3e4 + np.arange(6)

    def port(factor):
        def model(x):
            noisy = (x[:, :1] ** 2 - 9e8) / 1e4
            return tf.concat([noisy, factor * tf.tanh(x[:, 1:])], 1)

        return model

    def reference(x):
        return torch.cat([(x[:, :1] ** 2 - 9e8) / 1e4, torch.tanh(x[:, 1:])], 1)

    return _pair(port(1.0001), port(1.0), reference, x)


@attack(RULE, "a NaN of the user's is replaced by 0 in the graph, by the mean in the reference")
def nan_replaced() -> Case:
    x = X.copy()
    x[3, 1] = np.nan

    def reference(x):
        return torch.tanh(torch.nan_to_num(x, nan=0.5))

    def port(nan):
        return lambda x: tf.tanh(tf.where(tf.math.is_nan(x), nan, x))

    return _pair(port(0.0), port(0.5), reference, x)


@attack(RULE, "a case of a py_function, which runs in float32 whatever it gets")
def inside_py_function() -> Case:
    x = X.copy()
    x[1, 1] = 0

    def port(at_zero):
        def python(a):
            a = a.numpy()
            return np.where(a == 0, np.float32(at_zero), np.tanh(a)).astype(np.float32)

        return lambda x: tf.ensure_shape(tf.py_function(python, [x], tf.float32), x.shape)

    return Case(torch_(lambda x: torch.tanh(x)), tf_(port(0.25)), tf_(port(0.0)), x)


@attack(RULE, "a kernel that has no float64: fake quantisation with another range")
def fake_quantisation() -> Case:
    x = X.copy()
    x[0, 0] = 5.9

    def port(most):
        def model(x):
            return tf.quantization.fake_quant_with_min_max_args(x, -most, most, 8)

        return model

    return Case(tf_(port(6.0)), tf_(port(5.5)), tf_(lambda x: port(6.0)(x) * 1.0), x)
