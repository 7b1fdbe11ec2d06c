"""Implicit quantile network with a dueling head (Atari style), PyTorch."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
N_ACTIONS, N_COS, N_TAU = 6, 32, 8


class DuelingIQN(nn.Module):
    def __init__(self, n_actions=N_ACTIONS, n_cos=N_COS, hidden=96):
        super().__init__()
        self.torso = nn.Sequential(
            nn.Conv2d(4, 16, 8, stride=4), nn.ReLU(),
            nn.Conv2d(16, 32, 4, stride=2), nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=1), nn.ReLU(),
        )
        self.phi = nn.Linear(n_cos, 512)
        self.value = nn.Sequential(nn.Linear(512, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.advantage = nn.Sequential(
            nn.Linear(512, hidden), nn.ReLU(), nn.Linear(hidden, n_actions)
        )
        freqs = math.pi * torch.arange(1, n_cos + 1, dtype=torch.float32)
        self.register_buffer("freqs", freqs)

    def embed_tau(self, taus):
        cos = torch.cos(taus.unsqueeze(-1) * self.freqs)
        return torch.relu(self.phi(cos))

    def forward(self, frames, taus):
        x = frames.float() / 255.0
        psi = self.torso(x).flatten(1)
        phi = self.embed_tau(taus)
        h = psi.unsqueeze(1) * phi                      # (B, N, 512)
        v = self.value(h)
        a = self.advantage(h)
        quantiles = v + a - a.mean(dim=-1, keepdim=True)
        q = quantiles.mean(dim=1)
        return quantiles, q


def _draw(model, seed):
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                fan_in = p[0].numel()
                p.copy_(torch.randn(p.shape, generator=g) * math.sqrt(2.0 / fan_in))
            else:
                p.copy_(torch.randn(p.shape, generator=g) * 0.1)


def make():
    net = DuelingIQN()
    _draw(net, 11)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, size=(5, 4, 60, 60)).astype(np.uint8)
    taus = rng.uniform(size=(5, N_TAU)).astype(np.float32)
    return frames, taus
