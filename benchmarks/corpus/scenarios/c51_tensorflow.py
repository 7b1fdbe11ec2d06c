"""The C51 dueling DQN as plain TensorFlow functions; `faults` switches single lines."""

from __future__ import annotations

import tensorflow as tf

from .c51_sizes import ACTIONS, ATOMS, Weights, support_for


def head(faults):
    support = tf.constant(support_for(faults))

    def dueling_head(advantage, value):
        value = tf.reshape(value, (-1, 1, ATOMS))
        if "reshape" in faults:
            by_atom = tf.reshape(advantage, (-1, ATOMS, ACTIONS))  # fault: reshape
            advantage = tf.transpose(by_atom, (0, 2, 1))  # fault: reshape
        else:
            advantage = tf.reshape(advantage, (-1, ACTIONS, ATOMS))  # stage: reshape
        if "not-centred" in faults:
            logits = value + advantage  # fault: not-centred
        elif "value-centred" in faults:
            value = value - tf.reduce_mean(value, 2, keepdims=True)  # fault: value-centred
            logits = value + advantage
        else:
            if "mean-atoms" in faults:
                mean = tf.reduce_mean(advantage, 2, keepdims=True)  # fault: mean-atoms
            elif "mean-batch" in faults:
                mean = tf.reduce_mean(advantage, 0, keepdims=True)  # fault: mean-batch
            elif "mean-all" in faults:
                mean = tf.reduce_mean(advantage, (1, 2), keepdims=True)  # fault: mean-all
            elif "max" in faults:
                mean = tf.reduce_max(advantage, 1, keepdims=True)  # fault: max
            else:
                mean = tf.reduce_mean(advantage, 1, keepdims=True)  # stage: mean
            centred = advantage - mean  # stage: centre
            logits = value + centred  # stage: combine
        if "softmax-axis-0" in faults:
            probabilities = tf.nn.softmax(logits, 0)  # fault: softmax-axis-0
        elif "softmax-axis-1" in faults:
            probabilities = tf.nn.softmax(logits, 1)  # fault: softmax-axis-1
        else:
            probabilities = tf.nn.softmax(logits)  # stage: softmax
        weighted = probabilities * support  # stage: weigh
        if "expectation-axis" in faults:
            return tf.reduce_sum(weighted, 1)  # fault: expectation-axis
        return tf.reduce_sum(weighted, -1)  # stage: expect

    return dueling_head


def network(weights: Weights, faults):
    """Q-values of one branch, or of several by name, on a shared convolutional trunk."""
    stored = weights.channels_last()
    conv1, conv2 = (list(map(tf.Variable, stored.trunk[name])) for name in ("conv1", "conv2"))
    branches = [
        ({name: list(map(tf.Variable, pair)) for name, pair in arrays.items()}, head(f))
        for arrays, f in zip(stored.heads, faults, strict=True)
    ]

    def dense(x, layer):
        kernel, bias = layer
        return tf.matmul(x, kernel) + bias

    def q_values(x):
        x = tf.nn.relu(tf.nn.conv2d(x, conv1[0], 2, "VALID") + conv1[1])
        x = tf.nn.relu(tf.nn.conv2d(x, conv2[0], 1, "VALID") + conv2[1])
        x = tf.reshape(x, (len(x), -1))
        q = {}
        for i, (layer, dueling_head) in enumerate(branches):
            advantage = tf.nn.relu(dense(x, layer["advantage_hidden"]))
            advantage = dense(advantage, layer["advantage"])
            value = tf.nn.relu(dense(x, layer["value_hidden"]))
            value = dense(value, layer["value"])
            q[f"q{i}"] = dueling_head(advantage, value)
        return q if len(q) > 1 else q["q0"]

    return q_values
