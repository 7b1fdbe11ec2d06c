"""Implicit quantile network with its quantile Huber loss."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
OBS, ACTIONS, N, COS = 10, 4, 8, 16


class CosineEmbedding(nn.Module):
    def __init__(self, n_cos, width):
        super().__init__()
        self.register_buffer("freq", math.pi * torch.arange(1, n_cos + 1, dtype=torch.float32))
        self.linear = nn.Linear(n_cos, width)

    def forward(self, taus):
        return F.relu(self.linear(torch.cos(taus.unsqueeze(-1) * self.freq)))


class IQN(nn.Module):
    def __init__(self, width=32, kappa=1.0):
        super().__init__()
        self.kappa = kappa
        self.body = nn.Sequential(nn.Linear(OBS, 24), nn.SiLU(), nn.Linear(24, width), nn.ReLU())
        self.phi = CosineEmbedding(COS, width)
        self.hidden = nn.Linear(width, 20)
        self.norm = nn.LayerNorm(20)
        self.out = nn.Linear(20, ACTIONS)

    def quantiles(self, obs, taus):
        psi = self.body(obs)
        x = psi.unsqueeze(1) * self.phi(taus)
        x = F.relu(self.norm(self.hidden(x)))
        return self.out(x)

    def forward(self, obs, taus, actions, targets):
        z = self.quantiles(obs, taus)
        q = z.mean(dim=1)
        index = actions.view(-1, 1, 1).expand(-1, z.shape[1], 1)
        chosen = z.gather(2, index)
        td = targets.unsqueeze(1) - chosen
        absolute = td.abs()
        huber = torch.where(absolute <= self.kappa, 0.5 * td**2, self.kappa * (absolute - 0.5 * self.kappa))
        weight = (taus.unsqueeze(2) - (td < 0).float()).abs()
        loss = (weight * huber / self.kappa).mean(dim=2).sum(dim=1)
        return q, loss


def make():
    torch.manual_seed(3)
    net = IQN()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if name == "norm.weight":
                p.uniform_(0.6, 1.5)
            elif p.dim() > 1:
                p.normal_(0, 1.3 / math.sqrt(p.shape[1]))
            else:
                p.normal_(0, 0.3)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 5
    obs = rng.normal(size=(b, OBS)).astype("float32")
    taus = rng.uniform(0.02, 0.98, size=(b, N)).astype("float32")
    actions = rng.integers(0, ACTIONS, size=(b,)).astype("int64")
    targets = (rng.normal(size=(b, N)) * 1.5).astype("float32")
    return obs, taus, actions, targets
