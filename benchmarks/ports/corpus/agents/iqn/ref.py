"""Implicit quantile network with a dueling head (Dabney et al. 2018; Wang et al. 2016)."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
ACTIONS = 5
COSINES = 16


class DuelingIQN(nn.Module):
    def __init__(self, channels=4, actions=ACTIONS, n_cos=COSINES, hidden=32):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(channels, 8, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.phi = nn.Linear(n_cos, 144)
        self.advantage = nn.Sequential(nn.Linear(144, hidden), nn.ReLU(), nn.Linear(hidden, actions))
        self.value = nn.Sequential(nn.Linear(144, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.register_buffer("freq", math.pi * torch.arange(n_cos, dtype=torch.float32))

    def forward(self, frames, taus):
        state = self.trunk(frames.float() / 255.0)
        cosines = torch.cos(taus.unsqueeze(-1) * self.freq)
        embedding = torch.relu(self.phi(cosines))
        z = state.unsqueeze(1) * embedding
        advantage = self.advantage(z)
        quantiles = self.value(z) + advantage - advantage.mean(dim=-1, keepdim=True)
        return quantiles, quantiles.mean(dim=1)


def make():
    torch.manual_seed(11)
    model = DuelingIQN()
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.uniform_(parameter, -0.3, 0.3)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, size=(4, 4, 16, 16), dtype=np.uint8)
    taus = rng.uniform(size=(4, 8)).astype(np.float32)
    return frames, taus
