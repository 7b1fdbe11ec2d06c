"""Twin critics with goals.

Interface: a bound method; a dict observation, a keyword-only goal that is optional, a string that
picks the reduction; a tuple out. Constants are kept beside the weights.
"""

import chainer
import chainer.functions as CF
import chainer.links as L
import numpy as np
import torch
from torch import nn

from benchmarks.interfaces.weights import drawn


class TorchTwin(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.ModuleDict({"pos": nn.Linear(6, 16), "vel": nn.Linear(6, 16)})
        self.q1 = nn.Sequential(nn.Linear(16 * 2 + 3 + 4, 32), nn.ReLU(), nn.Linear(32, 1))
        self.q2 = nn.Sequential(nn.Linear(16 * 2 + 3 + 4, 32), nn.ReLU(), nn.Linear(32, 1))
        self.register_buffer("goal_mean", torch.tensor([0.1, -0.2, 0.3]))
        self.register_buffer("goal_std", torch.tensor([0.5, 1.5, 0.7]))

    def _features(self, obs, action, goal):
        z = [torch.tanh(self.enc["pos"](obs["pos"])), torch.tanh(self.enc["vel"](obs["vel"]))]
        if goal is None:
            goal = obs["achieved"]
        goal = torch.clamp((goal - self.goal_mean) / self.goal_std, -2.0, 2.0)
        return torch.cat(z + [goal, action], dim=1)

    def q_values(self, obs, action, *, goal=None, reduce="none"):
        x = self._features(obs, action, goal)
        q1, q2 = self.q1(x).squeeze(-1), self.q2(x).squeeze(-1)
        if reduce == "min":
            return torch.min(q1, q2)
        return q1, q2

    def forward(self, obs, action):
        return self.q_values(obs, action, reduce="min")


class MLP(chainer.Chain):
    def __init__(self, n_in):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(n_in, 32)
            self.l2 = L.Linear(32, 1)

    def forward(self, x):
        return CF.squeeze(self.l2(CF.relu(self.l1(x))), axis=1)


class ChainerTwin(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.vel_enc = L.Linear(6, 16)
            self.pos_enc = L.Linear(6, 16)
            self.qa = MLP(39)
            self.qb = MLP(39)
        self.add_persistent("goal_mean", np.array([0.1, -0.2, 0.3], dtype="f"))
        self.add_persistent("goal_std", np.array([0.5, 1.5, 0.7], dtype="f"))

    def q_values(self, obs, action, *, goal=None, reduce="none"):
        if goal is None:
            goal = obs["achieved"]
        pos = CF.tanh(self.pos_enc(obs["pos"]))
        vel = CF.tanh(self.vel_enc(obs["vel"]))
        g = CF.clip((goal - self.goal_mean) / self.goal_std, -2.0, 2.0)
        x = CF.concat([pos, vel, g, action], axis=1)
        qa = self.qa(x)
        qb = self.qb(x)
        if reduce == "min":
            return CF.minimum(qa, qb)
        return qa, qb

    def forward(self, obs, action):
        return self.q_values(obs, action, reduce="min")


def inputs():
    r = np.random.default_rng(2)
    f = lambda *s: r.normal(size=s).astype("float32")
    return {
        "obs": {"pos": f(6, 6), "vel": f(6, 6), "achieved": f(6, 3)},
        "action": f(6, 4),
        "goal": f(6, 3),
    }


SIDES = {
    "torch": lambda: drawn(TorchTwin()).q_values,
    "chainer": lambda: drawn(ChainerTwin()).q_values,
}
