"""A recurrent policy of distributions.

Interface: a bound method; a dataclass of bytes and a tuple, the state in and out; a NamedTuple of
two distributions and two arrays out.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import chainer
import chainer.distributions as cd
import chainer.functions as CF
import chainer.links as L
import numpy as np
import torch
from torch import distributions as td
from torch import nn

from benchmarks.interfaces.weights import drawn

HID, ACT = 11, 3


@dataclass
class Obs:
    frame: Any  # (B, T, 5, 5) uint8
    goal: tuple[Any, Any]  # (B, T, 2), (B, T, 1)


class Out(NamedTuple):
    move: Any
    grip: Any
    value: Any
    state: Any = None


class TorchActor(nn.Module):
    def __init__(self, min_std=0.1):
        super().__init__()
        self.min_std = min_std
        self.embed = nn.Linear(25 + 3, 16)
        self.gru = nn.GRU(16, HID, batch_first=True)
        self.mean, self.std = nn.Linear(HID, ACT), nn.Linear(HID, ACT)
        self.grip = nn.Linear(HID, 4)
        self.vf = nn.Linear(HID, 1)

    def policy(self, obs: Obs, state=None):
        x = torch.cat([obs.frame.flatten(2).float() / 255.0, *obs.goal], -1)
        y, h = self.gru(torch.tanh(self.embed(x)), state)
        std = nn.functional.softplus(self.std(y)) + self.min_std
        move = td.Independent(td.Normal(torch.tanh(self.mean(y)), std), 1)
        return Out(move, td.Categorical(logits=self.grip(y)), self.vf(y).squeeze(-1), h)


class ChainerActor(chainer.Chain):
    def __init__(self, min_std=0.1):
        super().__init__()
        self.min_std = min_std
        with self.init_scope():
            self.embed = L.Linear(25 + 3, 16)
            self.gru = L.NStepGRU(1, 16, HID, 0.0)
            self.mean, self.std = L.Linear(HID, ACT), L.Linear(HID, ACT)
            self.grip = L.Linear(HID, 4)
            self.vf = L.Linear(HID, 1)

    def policy(self, obs: Obs, state=None):
        b, t = obs.frame.shape[:2]
        pixels = np.asarray(obs.frame, "float32").reshape(b, t, -1) / np.float32(255)
        x = CF.concat([pixels, *obs.goal], axis=2)
        x = CF.tanh(self.embed(x, n_batch_axes=2))
        h, ys = self.gru(state, [x[i] for i in range(b)])
        y = CF.stack(ys)
        std = CF.softplus(self.std(y, n_batch_axes=2)) + self.min_std
        move = cd.Independent(cd.Normal(CF.tanh(self.mean(y, n_batch_axes=2)), std), 1)
        grip = cd.Categorical(logit=self.grip(y, n_batch_axes=2))
        return Out(move, grip, CF.squeeze(self.vf(y, n_batch_axes=2), 2), h)


def inputs(seed=0, n=4, t=5):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    return (
        Obs(r.integers(0, 256, (n, t, 5, 5)).astype("uint8"), (f(n, t, 2), f(n, t, 1))),
        f(1, n, HID),
    )


SIDES = {
    "torch": lambda: drawn(TorchActor()).policy,
    "chainer": lambda: drawn(ChainerActor()).policy,
}
