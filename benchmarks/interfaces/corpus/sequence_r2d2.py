"""R2D2 over sequences.

Interface: a bound method; a dict observation with a nested dict, keyword-only state and boolean
mask, both optional; a dict out that holds the state, with infinities.
"""

import keras
import numpy as np
import torch
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn


class TorchR2D2(nn.Module):
    def __init__(self, n_actions=4, hidden=12):
        super().__init__()
        self.n_actions, self.hidden = n_actions, hidden
        self.vision = nn.Sequential(nn.Linear(14, 20), nn.ReLU())
        self.goal = nn.Linear(3, 6)
        self.lstm = nn.LSTM(20 + 6 + n_actions + 1, hidden, batch_first=True)
        self.adv = nn.Sequential(nn.Linear(hidden, 16), nn.ReLU(), nn.Linear(16, n_actions))
        self.val = nn.Sequential(nn.Linear(hidden, 16), nn.ReLU(), nn.Linear(16, 1))

    def features(self, obs, last_action, last_reward):
        v = self.vision(obs["sensors"]["lidar"])
        g = torch.tanh(self.goal(obs["goal"]))
        a = nn.functional.one_hot(last_action, self.n_actions).to(v.dtype)
        return torch.cat([v, g, a, last_reward.unsqueeze(-1)], dim=-1)

    def q_values(self, obs, last_action, last_reward, *, state=None, mask=None):
        x = self.features(obs, last_action, last_reward)
        if state is None:
            z = x.new_zeros(1, x.shape[0], self.hidden)
            state = (z, z)
        else:
            state = tuple(s.unsqueeze(0) for s in state)
        y, (h, c) = self.lstm(x, state)
        a = self.adv(y)
        q = self.val(y) + a - a.mean(dim=-1, keepdim=True)
        if mask is not None:
            q = q.masked_fill(mask == 0, float("-inf"))
        return {"q": q, "state": (h[0], c[0])}

    forward = q_values


class KerasR2D2(keras.Model):
    def __init__(self, n_actions=4, hidden=12):
        super().__init__()
        self.n_actions = n_actions
        self.lidar = layers.Dense(20, activation="relu")
        self.goal = layers.Dense(6, activation="tanh")
        self.core = layers.LSTM(hidden, return_sequences=True, return_state=True)
        self.a1, self.a2 = layers.Dense(16, activation="relu"), layers.Dense(n_actions)
        self.v1, self.v2 = layers.Dense(16, activation="relu"), layers.Dense(1)

    def call(self, obs, last_action, last_reward, state=None, mask=None):
        x = ops.concatenate(
            [
                self.lidar(obs["sensors"]["lidar"]),
                self.goal(obs["goal"]),
                ops.one_hot(last_action, self.n_actions),
                ops.expand_dims(last_reward, -1),
            ],
            axis=-1,
        )
        y, h, c = self.core(x, initial_state=None if state is None else list(state))
        a = self.a2(self.a1(y))
        q = self.v2(self.v1(y)) + (a - ops.mean(a, axis=-1, keepdims=True))
        if mask is not None:
            q = ops.where(mask, q, -np.inf)
        return {"q": q, "state": (h, c)}

    def q_values(self, obs, last_action, last_reward, *, state=None, mask=None):
        return self(obs, last_action, last_reward, state=state, mask=mask)


def inputs():
    r = np.random.default_rng(0)
    f = lambda *s: r.normal(size=s).astype("f")
    m = r.random((4, 5, 4)) < 0.7
    m[..., 0] = True
    return dict(
        obs={"sensors": {"lidar": f(4, 5, 14)}, "goal": f(4, 5, 3)},
        last_action=r.integers(0, 4, (4, 5)),
        last_reward=f(4, 5),
        state=(f(4, 12), f(4, 12)),
        mask=m,
    )


def keras_side():
    model = KerasR2D2()
    model(**inputs())
    return drawn(model).q_values


SIDES = {
    "torch": lambda: drawn(TorchR2D2()).q_values,
    "keras": keras_side,
}
