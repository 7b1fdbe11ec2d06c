"""An actor of SAC.

Interface: a tuple observation, a keyword-only temperature; a distribution out, beside an array.
One side has a layer for the mean and one for the deviation, the other one for both.
"""

import chainer
import chainer.distributions as D
import chainer.functions as F
import chainer.links as L
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

from benchmarks.interfaces.weights import drawn


class TorchActor(nn.Module):
    def __init__(self, pos=4, vel=3, actions=2, hidden=20, *, bounds=(-5.0, 2.0)):
        super().__init__()
        self.pos_enc = nn.Linear(pos, hidden)
        self.vel_enc = nn.Linear(vel, hidden)
        self.trunk = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, actions)
        self.log_std = nn.Linear(hidden, actions)
        self.bounds = bounds

    def forward(self, obs, *, temperature=1.0):
        pos, vel = obs
        h = torch.relu(self.pos_enc(pos) + self.vel_enc(vel))
        h = self.trunk(h)
        low, high = self.bounds
        log_std = low + 0.5 * (high - low) * (torch.tanh(self.log_std(h)) + 1)
        return Normal(self.mu(h), log_std.exp() * temperature), h


class ChainerActor(chainer.Chain):
    def __init__(self, pos=4, vel=3, actions=2, hidden=20, *, bounds=(-5.0, 2.0)):
        super().__init__()
        self.bounds = bounds
        with self.init_scope():
            self.out = L.Linear(hidden, 2 * actions)
            self.enc_vel = L.Linear(vel, hidden)
            self.enc_pos = L.Linear(pos, hidden)
            self.fc = L.Linear(hidden, hidden)

    def forward(self, obs, *, temperature=1.0):
        pos, vel = obs
        h = F.relu(self.enc_pos(pos) + self.enc_vel(vel))
        h = F.relu(self.fc(h))
        mu, raw = F.split_axis(self.out(h), 2, axis=1)
        low, high = self.bounds
        log_std = low + 0.5 * (high - low) * (F.tanh(raw) + 1)
        return D.Normal(mu, log_scale=log_std + np.float32(np.log(temperature))), h


def inputs(seed=0, n=6):
    r = np.random.default_rng(seed)
    return ((r.normal(size=(n, 4)).astype("float32"), r.normal(size=(n, 3)).astype("float32")),)


SIDES = {
    "torch": lambda: drawn(TorchActor()),
    "chainer": lambda: drawn(ChainerActor()),
}
