"""The C51 dueling DQN in Keras 3, as a user writes it; `faults` switches single lines."""

from __future__ import annotations

import keras
import numpy as np
from keras import layers, ops

from .c51_sizes import ACTIONS, ATOMS, HEAD_SHAPES, SHAPES, Weights, support_for


class DuelingHead(keras.Model):
    """Advantages (batch, actions * atoms) and values (batch, atoms) to Q (batch, actions)."""

    def __init__(self, faults, **kwargs):
        super().__init__(**kwargs)
        self.faults = faults
        self.support = ops.convert_to_tensor(support_for(faults))

    def call(self, advantage, value):
        faults = self.faults
        value = ops.reshape(value, (-1, 1, ATOMS))
        if "reshape" in faults:
            by_atom = ops.reshape(advantage, (-1, ATOMS, ACTIONS))  # fault: reshape
            advantage = ops.transpose(by_atom, (0, 2, 1))  # fault: reshape
        else:
            advantage = ops.reshape(advantage, (-1, ACTIONS, ATOMS))  # stage: reshape
        if "not-centred" in faults:
            logits = value + advantage  # fault: not-centred
        elif "value-centred" in faults:
            value = value - ops.mean(value, axis=2, keepdims=True)  # fault: value-centred
            logits = value + advantage
        else:
            if "mean-atoms" in faults:
                mean = ops.mean(advantage, axis=2, keepdims=True)  # fault: mean-atoms
            elif "mean-batch" in faults:
                mean = ops.mean(advantage, axis=0, keepdims=True)  # fault: mean-batch
            elif "mean-all" in faults:
                mean = ops.mean(advantage, axis=(1, 2), keepdims=True)  # fault: mean-all
            elif "max" in faults:
                mean = ops.max(advantage, axis=1, keepdims=True)  # fault: max
            else:
                mean = ops.mean(advantage, axis=1, keepdims=True)  # stage: mean
            centred = advantage - mean  # stage: centre
            logits = value + centred  # stage: combine
        if "softmax-axis-0" in faults:
            probabilities = ops.softmax(logits, axis=0)  # fault: softmax-axis-0
        elif "softmax-axis-1" in faults:
            probabilities = ops.softmax(logits, axis=1)  # fault: softmax-axis-1
        else:
            probabilities = ops.softmax(logits, axis=-1)  # stage: softmax
        weighted = probabilities * self.support  # stage: weigh
        if "expectation-axis" in faults:
            return ops.sum(weighted, axis=1)  # fault: expectation-axis
        return ops.sum(weighted, axis=-1)  # stage: expect


class Branch(keras.Model):
    """Two dense streams and the dueling head on the flattened image."""

    def __init__(self, faults, **kwargs):
        super().__init__(**kwargs)
        self.advantage_hidden = layers.Dense(HEAD_SHAPES["advantage_hidden"][0], "relu")
        self.advantage = layers.Dense(ACTIONS * ATOMS)
        self.value_hidden = layers.Dense(HEAD_SHAPES["value_hidden"][0], "relu")
        self.value = layers.Dense(ATOMS)
        self.head = DuelingHead(faults)

    def call(self, x):
        advantage = self.advantage(self.advantage_hidden(x))
        value = self.value(self.value_hidden(x))
        return self.head(advantage, value)


class Network(keras.Model):
    """Q-values of one branch, or of several by name, on a shared convolutional trunk."""

    def __init__(self, faults, **kwargs):
        super().__init__(**kwargs)
        self.conv1 = layers.Conv2D(12, SHAPES["conv1"][2:], strides=2, activation="relu")
        self.conv2 = layers.Conv2D(9, SHAPES["conv2"][2:], activation="relu")
        self.flatten = layers.Flatten()
        self.branches = [Branch(f, name=f"branch{i}") for i, f in enumerate(faults)]

    def call(self, x):
        x = self.conv1(x)
        x = self.conv2(x)
        x = self.flatten(x)
        if len(self.branches) == 1:
            return self.branches[0](x)
        return {f"q{i}": branch(x) for i, branch in enumerate(self.branches)}


def head(faults):
    return DuelingHead(faults)


def network(weights: Weights, faults):
    net = Network(faults)
    net(np.zeros((1, 20, 22, 4), np.float32))
    stored = weights.channels_last()
    for model, arrays in [(net, stored.trunk), *zip(net.branches, stored.heads, strict=True)]:
        for name, (kernel, bias) in arrays.items():
            getattr(model, name).set_weights([kernel, bias])
    return net
