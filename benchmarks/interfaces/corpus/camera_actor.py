"""An actor of SAC that sees with a camera.

Interface: a dict observation with a nested dict and an image of bytes in the layout of torch, a
flag that draws no noise; a NamedTuple out, with a field left at None.
"""

from typing import Any, NamedTuple

import keras
import numpy as np
import torch
import torch.nn.functional as F
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn


class ActorOut(NamedTuple):
    action: Any
    mean: Any
    log_std: Any
    extras: Any = None


# ---------------------------------------------------------------- torch
class TorchActor(nn.Module):
    def __init__(self, n_act=4):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 4, stride=2)
        self.conv2 = nn.Conv2d(8, 12, 3, stride=1)
        self.cam_fc = nn.Linear(12 * 5 * 5, 24)
        self.cam_ln = nn.LayerNorm(24)
        self.joint_fc = nn.Linear(7, 16)
        self.grip_fc = nn.Linear(2, 8)
        self.goal_fc = nn.Linear(3, 8)
        self.trunk = nn.Sequential(nn.Linear(56, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.mu = nn.Linear(32, n_act)
        self.ls = nn.Linear(32, n_act)

    def forward(self, obs, deterministic=True):
        x = obs["camera"].float() / 255.0
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = torch.tanh(self.cam_ln(self.cam_fc(x.flatten(1))))
        j = F.elu(self.joint_fc(obs["proprio"]["joints"]))
        g = F.elu(self.grip_fc(obs["proprio"]["gripper"]))
        goal = F.elu(self.goal_fc(obs["goal"] - obs["proprio"]["ee_pos"]))
        h = self.trunk(torch.cat([x, j, g, goal], dim=-1))
        mean = self.mu(h)
        log_std = torch.tanh(self.ls(h))
        log_std = -5.0 + 0.5 * (2.0 + 5.0) * (log_std + 1.0)
        if deterministic:
            pre = mean
        else:
            pre = mean + log_std.exp() * torch.randn_like(mean)
        return ActorOut(torch.tanh(pre), mean, log_std)


# ---------------------------------------------------------------- keras
class KerasActor(keras.Model):
    def __init__(self, n_act=4):
        super().__init__()
        self.goal_enc = layers.Dense(8, activation="elu")
        self.conv1 = layers.Conv2D(8, 4, strides=2, activation="relu")
        self.conv2 = layers.Conv2D(12, 3, activation="relu")
        self.flat = layers.Flatten()
        self.cam_fc = layers.Dense(24)
        self.cam_ln = layers.LayerNormalization(epsilon=1e-5)
        self.joint_enc = layers.Dense(16, activation="elu")
        self.grip_enc = layers.Dense(8, activation="elu")
        self.trunk = keras.Sequential(
            [layers.Dense(32, activation="relu"), layers.Dense(32, activation="relu")]
        )
        self.mu_head = layers.Dense(n_act)
        self.std_head = layers.Dense(n_act, activation="tanh")
        self.seed_gen = keras.random.SeedGenerator(3)

    def call(self, obs, deterministic=True):
        x = ops.cast(obs["camera"], "float32") / 255.0
        x = ops.transpose(x, (0, 2, 3, 1))
        x = self.conv2(self.conv1(x))
        x = ops.tanh(self.cam_ln(self.cam_fc(self.flat(x))))
        prop = obs["proprio"]
        delta = obs["goal"] - prop["ee_pos"]
        h = ops.concatenate(
            [
                x,
                self.joint_enc(prop["joints"]),
                self.grip_enc(prop["gripper"]),
                self.goal_enc(delta),
            ],
            axis=-1,
        )
        h = self.trunk(h)
        mean = self.mu_head(h)
        log_std = -5.0 + 3.5 * (self.std_head(h) + 1.0)
        pre = mean
        if not deterministic:
            pre = mean + ops.exp(log_std) * keras.random.normal(ops.shape(mean), seed=self.seed_gen)
        return ActorOut(action=ops.tanh(pre), mean=mean, log_std=log_std)


def inputs():
    r = np.random.default_rng(1)
    f = lambda *s: r.normal(size=s).astype("float32")
    return (
        {
            "camera": r.integers(0, 256, size=(5, 3, 16, 16)).astype("uint8"),
            "proprio": {"joints": f(5, 7), "gripper": f(5, 2), "ee_pos": f(5, 3)},
            "goal": f(5, 3),
        },
    )


def keras_side():
    model = KerasActor()
    model(*inputs())
    return drawn(model)


SIDES = {
    "torch": lambda: drawn(TorchActor()),
    "keras": keras_side,
}
