"""An actor-critic of PPO.

Interface: a NamedTuple observation with an image of bytes and an integer action, a keyword-only
boolean mask; a dataclass out, with a field left at None.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.interfaces.weights import drawn


class Observation(NamedTuple):
    image: Any
    proprio: Any
    last_action: Any


@dataclasses.dataclass
class PolicyOutput:
    logits: Any
    value: Any
    entropy: Any
    aux: Any = None


class TorchPPO(nn.Module):
    def __init__(self, actions=4):
        super().__init__()
        self.actions = actions
        self.conv1 = nn.Conv2d(3, 6, 3, stride=2)
        self.conv2 = nn.Conv2d(6, 8, 3)
        self.prop = nn.Linear(5, 10)
        self.fc = nn.Linear(8 * 5 * 5 + 10 + actions, 32)
        self.pi = nn.Linear(32, actions)
        self.v = nn.Linear(32, 1)

    def forward(self, obs, *, action_mask=None):
        x = obs.image.float().permute(0, 3, 1, 2) / 255.0
        x = torch.relu(self.conv2(torch.relu(self.conv1(x)))).flatten(1)
        p = torch.tanh(self.prop(obs.proprio))
        a = nn.functional.one_hot(obs.last_action.long(), self.actions).float()
        h = torch.relu(self.fc(torch.cat([x, p, a], 1)))
        logits = self.pi(h)
        if action_mask is not None:
            logits = torch.where(action_mask, logits, torch.full_like(logits, -1e9))
        logp = torch.log_softmax(logits, -1)
        ent = -(logp.exp() * logp).sum(-1)
        return PolicyOutput(logits, self.v(h).squeeze(-1), ent)


class TFPPO(tf.Module):
    def __init__(self, actions=4):
        super().__init__()
        self.actions = actions
        w = lambda *s: tf.Variable(tf.random.normal(s, stddev=0.1))
        self.pi_w, self.pi_b = w(32, actions), w(actions)
        self.v_w, self.v_b = w(32, 1), w(1)
        self.k1, self.b1 = w(3, 3, 3, 6), w(6)
        self.k2, self.b2 = w(3, 3, 6, 8), w(8)
        self.prop_w, self.prop_b = w(5, 10), w(10)
        self.fc_w, self.fc_b = w(200 + 10 + actions, 32), w(32)

    def __call__(self, obs, *, action_mask=None):
        logits, value, entropy = self._apply(obs, action_mask=action_mask)
        return PolicyOutput(logits, value, entropy)

    @tf.function
    def _apply(self, obs, *, action_mask=None):
        x = tf.cast(obs.image, tf.float32) / 255.0
        x = tf.nn.relu(tf.nn.conv2d(x, self.k1, 2, "VALID") + self.b1)
        x = tf.nn.relu(tf.nn.conv2d(x, self.k2, 1, "VALID") + self.b2)
        x = tf.reshape(x, (tf.shape(x)[0], -1))
        p = tf.tanh(obs.proprio @ self.prop_w + self.prop_b)
        a = tf.one_hot(obs.last_action, self.actions)
        h = tf.nn.relu(tf.concat([x, p, a], 1) @ self.fc_w + self.fc_b)
        logits = h @ self.pi_w + self.pi_b
        if action_mask is not None:
            logits = tf.where(action_mask, logits, -1e9)
        logp = tf.nn.log_softmax(logits)
        ent = -tf.reduce_sum(tf.exp(logp) * logp, -1)
        return logits, tf.squeeze(h @ self.v_w + self.v_b, -1), ent


def inputs(seed=0, n=5):
    r = np.random.default_rng(seed)
    mask = r.random((n, 4)) < 0.7
    mask[:, 1] = True
    obs = Observation(
        r.integers(0, 256, (n, 15, 15, 3)).astype("uint8"),
        r.normal(size=(n, 5)).astype("float32"),
        r.integers(0, 4, n),
    )
    return {"obs": obs, "action_mask": mask}


SIDES = {
    "torch": lambda: drawn(TorchPPO()),
    "tensorflow": lambda: drawn(TFPPO()),
}
