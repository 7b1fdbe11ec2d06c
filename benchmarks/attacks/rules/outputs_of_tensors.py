"""Outputs that are tensors of a special kind: ragged, sparse, arrays of tensors, foreign ones."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_
from benchmarks.attacks.heads import X, tf_q, torch_q
from benchmarks.attacks.rules.outputs import RULE


@attack(RULE, "a ragged tensor beside the Q-values")
def ragged() -> Case:
    def port(k):
        def model(x):
            q = tf_q(x)
            return {"q": q, "parts": tf.RaggedTensor.from_row_lengths(k * q, [1, 2, 3])}

        return model

    def read(thing):
        parts = thing["parts"]
        return [thing["q"], parts.flat_values if hasattr(parts, "flat_values") else parts]

    return Case(tf_(port(1.0)), tf_(port(1.5)), tf_(port(1.0)), X, read)


@attack(RULE, "a sparse tensor beside the Q-values")
def sparse() -> Case:
    def port(k):
        def model(x):
            q = tf_q(x)
            return {"q": q, "sparse": tf.sparse.from_dense(k * q)}

        return model

    def read(thing):
        return [thing["q"], thing["sparse"].values]

    return Case(tf_(port(1.0)), tf_(port(1.5)), tf_(port(1.0)), X, read)


@attack(RULE, "a sparse torch tensor beside the Q-values")
def torch_sparse() -> Case:
    def port(k):
        def model(x):
            q = torch_q(x)
            return {"q": q, "sparse": (k * q).to_sparse()}

        return model

    def read(thing):
        return [thing["q"], thing["sparse"].coalesce().values()]

    return Case(torch_(port(1.0)), torch_(port(1.5)), torch_(port(1.0)), X, read)


@attack(RULE, "an IndexedSlices of an embedding's gradient")
def indexed_slices() -> Case:
    table = tf.Variable(normal(7, 3))
    index = np.array([1, 3, 3, 5])

    def port(k):
        def model(i):
            with tf.GradientTape() as tape:
                y = tf.gather(table, i)
                loss = tf.reduce_sum(k * y * y)
            return {"y": y, "gradient": tape.gradient(loss, table)}

        return model

    def read(thing):
        return [thing["y"], thing["gradient"].values]

    return Case(tf_(port(1.0)), tf_(port(1.5)), tf_(port(1.0)), index, read)


@attack(RULE, "a TensorArray of steps")
def tensor_array() -> Case:
    def port(k):
        def model(x):
            q = tf_q(x)
            steps = tf.TensorArray(tf.float32, 2).unstack([q, k * q])
            return {"q": q, "steps": steps}

        return model

    def read(thing):
        return [thing["q"], thing["steps"].stack()]

    return Case(tf_(port(1.0)), tf_(port(1.5)), tf_(port(1.0)), X, read)


@attack(RULE, "a tensor of another framework beside the model's own")
def foreign_tensor() -> Case:
    def port(k):
        def model(x):
            q = tf_q(x)
            return {"q": q, "value": torch.from_numpy(k * q.numpy()).sum(1)}

        return model

    def reference(x):
        q = torch_q(x)
        return {"q": q, "value": q.sum(1)}

    return Case(torch_(reference), tf_(port(np.float32(1.5))), tf_(port(np.float32(1))), X)
