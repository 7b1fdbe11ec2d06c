"""A policy that reads.

Interface: a bound method; padded tokens with optional lengths, a state in and out, a flag that
draws no noise; a NamedTuple out with a distribution, which is a class of its own on one side.
"""

from typing import Any, NamedTuple

import keras
import numpy as np
import torch
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn


class Step(NamedTuple):
    action: Any
    dist: Any
    value: Any
    state: Any
    attention: Any | None


V, W, H, F, A = 20, 8, 10, 9, 4


class TorchLang(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(V, W, padding_idx=0)
        self.reader = nn.GRU(W, H, batch_first=True)
        self.film = nn.Linear(H, 2 * 16)
        self.see = nn.Linear(F, 16)
        self.memory = nn.GRU(16, H, batch_first=True)
        self.mu = nn.Linear(H, A)
        self.log_std = nn.Parameter(torch.zeros(A) - 0.5)
        self.critic = nn.Linear(H, 1)

    def read(self, tokens, lengths=None):
        if lengths is None:
            lengths = (tokens != 0).sum(1)
        y, _ = self.reader(self.words(tokens))
        return y[torch.arange(len(tokens)), lengths - 1]

    def act(self, image, tokens, state, lengths=None, deterministic=True):
        gamma, beta = self.film(self.read(tokens, lengths)).chunk(2, dim=-1)
        x = torch.relu((1 + gamma) * self.see(image) + beta)
        y, h = self.memory(x[:, None], state[None])
        y = y[:, 0]
        dist = torch.distributions.Normal(self.mu(y), self.log_std.exp())
        action = torch.tanh(dist.mean if deterministic else dist.sample())
        return Step(action, dist, self.critic(y), h[0], None)


class Gaussian:
    def __init__(self, mean, stddev):
        self.mean, self.stddev = mean, stddev


class KerasLang(keras.Model):
    def __init__(self):
        super().__init__()
        self.words = layers.Embedding(V, W, mask_zero=True)
        self.reader = layers.GRU(H)
        self.film = layers.Dense(32)
        self.see = layers.Dense(16)
        self.memory = layers.GRUCell(H)
        self.mu, self.critic = layers.Dense(A), layers.Dense(1)
        self.log_std = self.add_weight(shape=(A,), initializer="zeros", name="log_std")

    def act(self, image, tokens, state, lengths=None, deterministic=True):
        if lengths is not None:
            tokens = ops.where(ops.arange(tokens.shape[1])[None] < lengths[:, None], tokens, 0)
        gamma, beta = ops.split(self.film(self.reader(self.words(tokens))), 2, axis=-1)
        x = ops.relu(self.see(image) * (gamma + 1) + beta)
        y, h = self.memory(x, state)
        h = h[0] if isinstance(h, (list, tuple)) else h
        mean = self.mu(y)
        std = ops.broadcast_to(ops.exp(self.log_std), ops.shape(mean))
        if deterministic:
            action = ops.tanh(mean)
        else:
            action = ops.tanh(mean + std * keras.random.normal(ops.shape(mean)))
        return Step(action, Gaussian(mean, std), self.critic(y), h, None)

    call = act


def inputs():
    r = np.random.default_rng(0)
    f = lambda *s: r.normal(size=s).astype("f")
    n = np.array([7, 4, 3, 6, 5])
    tokens = r.integers(1, V, (5, 7)) * (np.arange(7) < n[:, None])
    return (f(5, F), tokens, f(5, H))


def keras_side():
    model = KerasLang()
    model(*inputs())
    return drawn(model).act


SIDES = {
    "torch": lambda: drawn(TorchLang().eval()).act,
    "keras": keras_side,
}
