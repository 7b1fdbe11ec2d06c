"""The C51 dueling DQN in Keras, NHWC, with the fault of the example: the axis of its softmax."""

import keras
from keras import layers, ops


class C51DuelingDQN(keras.Model):
    """Q-values (batch, actions) of stacked frames (batch, 84, 84, 4)."""

    def __init__(self, actions=6, atoms=51, v_min=-10.0, v_max=10.0):
        super().__init__()
        self.actions = actions
        self.atoms = atoms
        self.conv1 = layers.Conv2D(32, 8, strides=4, activation="relu")
        self.conv2 = layers.Conv2D(64, 4, strides=2, activation="relu")
        self.conv3 = layers.Conv2D(64, 3, strides=1, activation="relu")
        self.flatten = layers.Flatten()
        self.advantage_hidden = layers.Dense(512, activation="relu")
        self.advantage_out = layers.Dense(actions * atoms)
        self.value_hidden = layers.Dense(512, activation="relu")
        self.value_out = layers.Dense(atoms)
        self.support = ops.linspace(v_min, v_max, atoms, dtype="float32")

    def call(self, observations):
        x = self.conv1(observations)
        x = self.conv2(x)
        x = self.conv3(x)
        features = self.flatten(x)

        advantage = self.advantage_hidden(features)
        advantage = self.advantage_out(advantage)
        advantage = ops.reshape(advantage, (-1, self.actions, self.atoms))

        value = self.value_hidden(features)
        value = self.value_out(value)
        value = ops.reshape(value, (-1, 1, self.atoms))

        advantage_mean = ops.mean(advantage, axis=1, keepdims=True)
        advantage_centred = advantage - advantage_mean
        logits = value + advantage_centred
        probabilities = ops.softmax(logits, axis=1)
        weighted = probabilities * self.support
        return ops.sum(weighted, axis=-1)
