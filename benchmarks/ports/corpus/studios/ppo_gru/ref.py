"""Recurrent PPO: encoder, GRU whose state is cleared where an episode began, policy and value heads."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
H = 24


class TorchRecurrentPPO(nn.Module):
    def __init__(self, obs=10, actions=5):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.gru = nn.GRU(32, H)
        self.pi = nn.Linear(H, actions)
        self.v = nn.Linear(H, 1)

    def forward(self, obs, dones, state):
        """obs (T, B, F), dones (T, B), state (B, H)."""
        x = self.encoder(obs)
        h = state.unsqueeze(0)
        outs = []
        for t in range(x.shape[0]):
            h = h * (1.0 - dones[t]).view(1, -1, 1)
            y, h = self.gru(x[t : t + 1], h)
            outs.append(y)
        y = torch.cat(outs)
        return torch.softmax(self.pi(y), dim=-1), self.v(y)[..., 0], h[0]


def make():
    torch.manual_seed(2)
    return TorchRecurrentPPO().eval()


def inputs(seed):
    rng = np.random.default_rng(seed + 2)
    obs = rng.normal(size=(6, 4, 10)).astype("float32")
    dones = (rng.random((6, 4)) < 0.3).astype("float32")
    state = rng.normal(size=(4, H)).astype("float32") * 0.5
    return obs, dones, state
