"""A policy with a critic of costs.

Interface: a NamedTuple observation; a tuple out of a distribution, which is a class of its own on
one side, a dict and a None.
"""

from typing import Any, NamedTuple

import keras
import numpy as np
import torch
from keras import layers, ops
from torch import nn
from torch.distributions import Independent, Normal

from benchmarks.interfaces.weights import drawn


class SafeObs(NamedTuple):
    lidar: Any
    body: Any
    hazard: Any


class TorchSafe(nn.Module):
    def __init__(self, n_act=3):
        super().__init__()
        self.lidar = nn.Conv1d(1, 6, 5, stride=2, padding=2)
        self.fc = nn.Linear(6 * 8 + 5, 32)
        self.mu = nn.Linear(32, n_act)
        self.log_std = nn.Parameter(torch.linspace(-0.9, -0.1, n_act))
        self.reward_v = nn.Linear(32, 1)
        self.cost_v = nn.Sequential(
            nn.Linear(32 + 2, 16), nn.Tanh(), nn.Linear(16, 1), nn.Softplus()
        )

    def forward(self, obs):
        z = torch.relu(self.lidar(obs.lidar.unsqueeze(1))).flatten(1)
        z = torch.tanh(self.fc(torch.cat([z, obs.body], -1)))
        mu = self.mu(z)
        dist = Independent(Normal(mu, self.log_std.exp().expand_as(mu)), 1)
        cost = self.cost_v(torch.cat([z, obs.hazard], -1))
        return dist, {"reward": self.reward_v(z), "cost": cost}, None


class DiagGaussian:
    """Keras has no distributions; the little that PPO needs."""

    def __init__(self, loc, scale):
        self.loc, self.scale = loc, scale

    def log_prob(self, x):
        z = (x - self.loc) / self.scale
        return ops.sum(-0.5 * z * z - ops.log(self.scale) - 0.5 * np.log(2 * np.pi), -1)

    def entropy(self):
        return ops.sum(0.5 + 0.5 * np.log(2 * np.pi) + ops.log(self.scale), -1)


class KerasSafe(keras.Model):
    def __init__(self, n_act=3):
        super().__init__()
        self.conv = layers.Conv1D(6, 5, strides=2)
        self.fc = layers.Dense(32, activation="tanh")
        self.mu = layers.Dense(n_act)
        self.cost_hidden = layers.Dense(16, activation="tanh")
        self.cost_out = layers.Dense(1, activation="softplus")
        self.reward_v = layers.Dense(1)
        self.log_std = self.add_weight(shape=(n_act,), initializer="random_normal", name="log_std")

    def call(self, obs):
        x = ops.pad(ops.expand_dims(obs.lidar, -1), [[0, 0], [2, 2], [0, 0]])
        z = ops.relu(self.conv(x))
        z = ops.reshape(ops.transpose(z, (0, 2, 1)), (-1, 48))
        z = self.fc(ops.concatenate([z, obs.body], -1))
        mu = self.mu(z)
        std = ops.broadcast_to(ops.exp(self.log_std), ops.shape(mu))
        cost = self.cost_out(self.cost_hidden(ops.concatenate([z, obs.hazard], -1)))
        return DiagGaussian(mu, std), {"reward": self.reward_v(z), "cost": cost}, None


def inputs():
    r = np.random.default_rng(6)
    f = lambda *s: r.normal(size=s).astype("float32")
    return SafeObs(np.abs(f(7, 16)), f(7, 5), f(7, 2))


def keras_side():
    model = KerasSafe()
    model(inputs())
    return drawn(model)


SIDES = {
    "torch": lambda: drawn(TorchSafe()),
    "keras": keras_side,
}
