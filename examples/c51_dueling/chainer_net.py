"""The C51 dueling DQN in Chainer, NCHW."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class C51DuelingDQN(chainer.Chain):
    """Q-values (batch, actions) of stacked frames (batch, 4, 84, 84)."""

    def __init__(self, actions=6, atoms=51, v_min=-10.0, v_max=10.0):
        super().__init__()
        self.actions = actions
        self.atoms = atoms
        self.support = np.linspace(v_min, v_max, atoms, dtype=np.float32)
        with self.init_scope():
            self.conv1 = L.Convolution2D(4, 32, ksize=8, stride=4)
            self.conv2 = L.Convolution2D(32, 64, ksize=4, stride=2)
            self.conv3 = L.Convolution2D(64, 64, ksize=3, stride=1)
            self.advantage_hidden = L.Linear(64 * 7 * 7, 512)
            self.advantage_out = L.Linear(512, actions * atoms)
            self.value_hidden = L.Linear(64 * 7 * 7, 512)
            self.value_out = L.Linear(512, atoms)

    def forward(self, observations):
        x = F.relu(self.conv1(observations))
        x = F.relu(self.conv2(x))
        features = F.relu(self.conv3(x))

        advantage = F.relu(self.advantage_hidden(features))
        advantage = self.advantage_out(advantage)
        advantage = F.reshape(advantage, (-1, self.actions, self.atoms))

        value = F.relu(self.value_hidden(features))
        value = self.value_out(value)
        value = F.reshape(value, (-1, 1, self.atoms))

        advantage_mean = F.mean(advantage, axis=1, keepdims=True)
        advantage_centred = advantage - advantage_mean
        logits = value + advantage_centred
        probabilities = F.softmax(logits, axis=-1)
        weighted = probabilities * self.support
        return F.sum(weighted, axis=-1)
