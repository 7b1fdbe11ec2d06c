"""What was traced, compiled or cached, and what the tape runs: not always the same program."""

from __future__ import annotations

import functools

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, tf_, torch_
from benchmarks.attacks.heads import W, X

RULE = "stale-traces"


def reference(x):
    return 2 * torch.tanh(x @ torch.from_numpy(W))


class TracedLayer(keras.layers.Layer):
    """A layer whose call is compiled, as for speed, with a scale that is a Python number."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    @tf.function
    def call(self, x):
        return self.scale * tf.tanh(tf.matmul(x, W))


@attack(RULE, "a layer's tf.function was traced before its scale was changed")
def stale_layer() -> Case:
    stale = TracedLayer(1.0)
    stale(tf.constant(X))
    stale.scale = 2.0
    return Case(torch_(reference), tf_(stale), tf_(TracedLayer(2.0)), X)


@attack(RULE, "a model's layer is stale, the model itself is not a tf.function")
def stale_layer_in_model() -> Case:
    stale, fresh = TracedLayer(1.0), TracedLayer(2.0)
    stale(tf.constant(X))
    stale.scale = 2.0
    nets = [keras.Sequential([keras.Input((5,)), one]) for one in (stale, fresh)]
    return Case(torch_(reference), tf_(nets[0]), tf_(nets[1]), X)


def _module(scale):
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.scale = scale

        @tf.function
        def head(self, x):
            return self.scale * tf.tanh(tf.matmul(x, W))

        def __call__(self, x):
            return self.head(x)

    return Net()


@attack(RULE, "a tf.Module's method is a stale tf.function")
def stale_module_method() -> Case:
    stale = _module(1.0)
    stale(tf.constant(X))
    stale.scale = 2.0
    return Case(torch_(reference), tf_(stale), tf_(_module(2.0)), X)


def _scaled(first, later):
    """A tf.function that was traced with one scale, and given another."""
    config = {"scale": first}

    @tf.function
    def head(x):
        return config["scale"] * tf.tanh(tf.matmul(x, W))

    head(tf.constant(X))
    config["scale"] = later
    return head


@attack(RULE, "a plain function calls a tf.function with a stale closure")
def stale_closure() -> Case:
    stale, fresh = _scaled(1.0, 2.0), _scaled(2.0, 2.0)
    return Case(torch_(reference), tf_(lambda x: stale(x)), tf_(lambda x: fresh(x)), X)


@attack(RULE, "the outermost tf.function itself is stale, by less than its graph may be off")
def stale_by_little() -> Case:
    return Case(torch_(reference), tf_(_scaled(2.0001, 2.0)), tf_(_scaled(2.0, 2.0)), X)


@attack(RULE, "a NumPy table is read while tracing; it was updated since")
def stale_table() -> Case:
    def make(updated):
        table = np.ones(4, np.float32)

        @tf.function
        def head(x):
            return tf.tanh(tf.matmul(x, W)) * tf.constant(table)

        def model(x):
            return head(x)

        if updated:
            table *= 2
            head(tf.constant(X))
        else:
            head(tf.constant(X))
            table *= 2
        return model

    return Case(torch_(reference), tf_(make(False)), tf_(make(True)), X)


@attack(RULE, "a layer asks whether it runs eagerly, and does otherwise in a graph")
def asks_if_eager() -> Case:
    def make(in_graph):
        @tf.function
        def head(x):
            h = tf.tanh(tf.matmul(x, W))
            return 2 * h if tf.executing_eagerly() else in_graph * h

        return lambda x: head(x)

    return Case(torch_(reference), tf_(make(1.5)), tf_(make(2.0)), X)


@attack(RULE, "a tf.function is asked through tf.inside_function, in a layer of a model")
def asks_if_inside() -> Case:
    def make(inside):
        class Head(keras.layers.Layer):
            def call(self, x):
                h = tf.tanh(tf.matmul(x, W))
                return inside * h if tf.inside_function() else 2 * h

        net = keras.Sequential([keras.Input((5,)), Head()])
        compiled = tf.function(net)
        return lambda x: compiled(x)

    return Case(torch_(reference), tf_(make(1.5)), tf_(make(2.0)), X)


@attack(RULE, "a side effect of tracing: the trace counted once, each eager call counts on")
def counts_traces() -> Case:
    def make(step):
        calls = []

        @tf.function
        def head(x):
            calls.append(1)
            return (1 + step * len(calls)) * tf.tanh(tf.matmul(x, W))

        head(tf.constant(X))
        return lambda x: head(x)

    return Case(torch_(reference), tf_(make(0.5)), tf_(make(1.0)), X)


@attack(RULE, "a result is cached by the identity of the configuration, not by its contents")
def cached_kernel() -> Case:
    def make(later):
        config = {"scale": 1.0}

        @functools.lru_cache(maxsize=1)
        def compiled():
            scale = config["scale"]
            return tf.function(lambda x: scale * tf.tanh(tf.matmul(x, W)))

        if later:
            compiled()
        config["scale"] = 2.0
        return lambda x: compiled()(x)

    return Case(torch_(reference), tf_(make(True)), tf_(make(False)), X)


@attack(RULE, "a Keras layer's weights are baked into a traced function as constants")
def baked_weights() -> Case:
    def make(first):
        dense = keras.layers.Dense(4, use_bias=False)
        dense.build((None, 5))
        dense.set_weights([first])
        held = {"kernel": first}

        @tf.function
        def traced(x):
            return 2 * tf.tanh(tf.matmul(x, tf.constant(held["kernel"])))

        traced(tf.constant(X))
        dense.set_weights([W])
        held["kernel"] = dense.get_weights()[0]
        return lambda x: traced(x)

    return Case(torch_(reference), tf_(make(W / 2)), tf_(make(W)), X)


@attack(RULE, "a py_function inside a traced function keeps the first call's threshold")
def stale_py_function() -> Case:
    def make(first, later):
        config = {"most": first}

        @tf.function
        def head(x):
            most = config["most"]
            h = 2 * tf.tanh(tf.matmul(x, W))
            cut = tf.numpy_function(lambda a: np.minimum(a, most), [h], tf.float32)
            return tf.ensure_shape(cut, h.shape)

        head(tf.constant(X))
        config["most"] = later
        return lambda x: head(x)

    ten, half = np.float32(10), np.float32(0.5)
    return Case(torch_(reference), tf_(make(half, ten)), tf_(make(ten, ten)), X)


@attack(RULE, "a Python counter in a loop over tf.range: traced once, counted eagerly")
def counter_in_a_loop() -> Case:
    def make(loop):
        @tf.function
        def head(x):
            h = tf.tanh(tf.matmul(x, W))
            total = tf.zeros_like(h)
            steps = 0
            for _ in tf.range(2):  # in a graph the Python counter is traced once
                steps += 1
                total += h * (steps if loop else 1)
            return total

        return lambda x: head(x)

    def reference(x):
        return 3 * torch.tanh(x @ torch.from_numpy(W))

    def right(x):
        return 3 * tf.tanh(tf.matmul(x, W))

    return Case(torch_(reference), tf_(make(False)), tf_(right), X)


@attack(
    RULE, "a condition on a Python number is decided while tracing, by the first sample's value"
)
def branch_while_tracing() -> Case:
    def make(warm):
        state = {"warm": warm}

        @tf.function
        def head(x):
            h = tf.tanh(tf.matmul(x, W))
            return h if state["warm"] else 2 * h

        head(tf.constant(X))
        state["warm"] = False

        class Net(tf.Module):
            def __call__(self, x):
                return head(x) * 1.0

        return Net()

    return Case(torch_(reference), tf_(make(True)), tf_(make(False)), X)
