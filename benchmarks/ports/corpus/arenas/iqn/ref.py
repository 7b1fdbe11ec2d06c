"""Dopamine-like implicit quantile network; draws its own quantiles."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
A, D, S = 5, 32, 8


class TorchIQN(nn.Module):
    def __init__(self, obs=10):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(obs, 64), nn.ReLU(), nn.Linear(64, 48), nn.ReLU())
        self.phi = nn.Linear(D, 48)
        self.fc1 = nn.Linear(48, 64)
        self.fc2 = nn.Linear(64, A)

    def forward(self, state):
        batch = state.shape[0]
        x = self.torso(state)
        quantiles = torch.rand(S * batch, 1)
        net = torch.arange(1, D + 1, dtype=torch.float32) * math.pi * quantiles.repeat(1, D)
        net = torch.relu(self.phi(torch.cos(net)))
        x = x.repeat(S, 1) * net
        x = torch.relu(self.fc1(x))
        values = self.fc2(x)
        q = values.reshape(S, batch, A).mean(dim=0)
        return values, q


def make():
    torch.manual_seed(4)
    return TorchIQN().eval()


def inputs(seed):
    return np.random.default_rng(seed + 14).normal(size=(6, 10)).astype("float32")
