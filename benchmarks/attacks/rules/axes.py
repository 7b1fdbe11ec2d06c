"""Outputs whose axes are exchanged, merged or split: taken for a layout."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, weights

RULE = "output-axes"


@attack(
    RULE,
    "a head's two axes are exchanged",
    variants={
        "distances": (2, 3),
        "c51": (4, 51),
        "quantiles": (6, 32),
        "steps": (5, 7),
        "one-agent": (1, 4),
    },
)
def exchanged_axes(rows, columns) -> Case:
    w = weights(5, rows * columns)
    x = normal(8, 5)

    def reference(x):
        return (x @ torch.from_numpy(w)).reshape(-1, rows, columns)

    def right(x):
        return tf.reshape(x @ w, (-1, rows, columns))

    def wrong(x):
        return tf.transpose(right(x), (0, 2, 1))

    return Case(torch_(reference), tf_(wrong), tf_(right), x)


@attack(RULE, "probabilities of atoms, with the softmax over the right axis, returned transposed")
def c51_probabilities() -> Case:
    w = weights(6, 4 * 11)
    x = normal(8, 6)

    def reference(x):
        return torch.softmax((x @ torch.from_numpy(w)).reshape(-1, 4, 11), -1)

    dense = keras.layers.Dense(44, use_bias=False)
    dense.build((None, 6))
    dense.set_weights([w])

    def right(x):
        return keras.ops.softmax(keras.ops.reshape(dense(x), (-1, 4, 11)), -1)

    def wrong(x):
        return keras.ops.swapaxes(right(x), 1, 2)

    return Case(torch_(reference), tf_(wrong), tf_(right), x)


@attack(RULE, "attention heads stay on axis 1 instead of going back behind the time axis")
def heads_and_time() -> Case:
    w = weights(8, 12)
    x = normal(2, 5, 8)

    def reference(x):
        return (x @ torch.from_numpy(w)).reshape(2, 5, 3, 4)

    def right(x):
        return tf.reshape(tf.matmul(x, tf.tile(w[None], (2, 1, 1))), (2, 5, 3, 4))

    def wrong(x):
        return tf.transpose(right(x), (0, 2, 1, 3))

    return Case(torch_(reference), tf_(wrong), tf_(right), x)


@attack(RULE, "a model without images moves its last axis to the second place, in rank 4")
def last_axis_second() -> Case:
    x = normal(3, 2, 4, 5)

    def wrong(x):
        return tf.transpose(tf.tanh(x), (0, 3, 1, 2))

    return Case(torch_(lambda x: torch.tanh(x)), tf_(wrong), tf_(lambda x: tf.tanh(x)), x)


@attack(RULE, "a recurrent layer's output: time and features exchanged")
def time_and_features() -> Case:
    w = weights(4, 6)
    x = normal(3, 9, 4)

    def right(x):
        return np.tanh(x @ w)

    def wrong(x):
        return np.moveaxis(np.tanh(x @ w), 1, -1)

    def reference(x):
        return torch.tanh(x @ torch.from_numpy(w))

    return Case(torch_(reference), numpy_(wrong), numpy_(right), x)


@attack(RULE, "time first instead of batch first")
def time_first() -> Case:
    x = normal(3, 9, 4)

    def reference(x):
        return torch.sigmoid(x)

    def wrong(x):
        return tf.transpose(tf.sigmoid(x), (1, 0, 2))

    return Case(torch_(reference), tf_(wrong), tf_(lambda x: tf.sigmoid(x)), x)


@attack(RULE, "a square map of features is transposed: axes of one length")
def square_map() -> Case:
    x = normal(3, 5, 5)

    def wrong(x):
        return tf.transpose(tf.tanh(x), (0, 2, 1))

    return Case(torch_(lambda x: torch.tanh(x)), tf_(wrong), tf_(lambda x: tf.tanh(x)), x)


@attack(RULE, "(action, atom) merged into one axis the other way round")
def merged_otherwise() -> Case:
    x = normal(4, 3, 5)

    def right(x):
        return tf.reshape(tf.tanh(x), (4, 15))

    def wrong(x):
        return tf.reshape(tf.transpose(tf.tanh(x), (0, 2, 1)), (4, 15))

    return Case(torch_(lambda x: torch.tanh(x).reshape(4, 15)), tf_(wrong), tf_(right), x)


@attack(
    RULE,
    "an axis of length one is dropped, added or elsewhere",
    variants={
        "dropped": ((6,),),
        "row": ((1, 6),),
        "behind": ((6, 1, 1),),
    },
)
def lone_axis(shape) -> Case:
    w = weights(5, 1)
    x = normal(6, 5)

    def right(x):
        return tf.tanh(x @ w)

    def wrong(x):
        return tf.reshape(right(x), shape)

    return Case(torch_(lambda x: torch.tanh(x @ torch.from_numpy(w))), tf_(wrong), tf_(right), x)


@attack(RULE, "channels last in an output that is read as channels first, of two convolutions")
def images_out() -> Case:
    kernel = normal(3, 3, 2, 4, scale=0.2)
    x = normal(2, 2, 7, 6)

    def reference(x):
        w = torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy())
        return torch.relu(torch.nn.functional.conv2d(x, w)).sum(1)

    def port(axis):
        def model(x):
            y = tf.nn.conv2d(tf.transpose(x, (0, 2, 3, 1)), kernel, 1, "VALID")
            return tf.reduce_sum(tf.nn.relu(y), axis)

        return model

    return Case(torch_(reference), tf_(port(1)), tf_(port(3)), x)


@attack(RULE, "the samples of the batch come out in another order")
def samples_reversed() -> Case:
    x = normal(6, 4)

    def wrong(x):
        return tf.reverse(tf.tanh(x), [0])

    return Case(torch_(lambda x: torch.tanh(x)), tf_(wrong), tf_(lambda x: tf.tanh(x)), x)
