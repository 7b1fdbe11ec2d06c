"""IQN: cosine embedding of sampled quantile fractions, multiplied into the state features, dueling head."""
import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
N_COS, N_TAU, D, A = 16, 12, 32, 5


class TorchIQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(9, D), nn.Linear(D, D)
        self.phi = nn.Linear(N_COS, D)
        self.register_buffer("pis", torch.arange(0, N_COS).float() * math.pi)
        self.adv, self.val = nn.Linear(D, A), nn.Linear(D, 1)
        self.h = nn.Linear(D, D)

    def forward(self, obs):
        b = obs.shape[0]
        psi = F.relu(self.fc2(F.relu(self.fc1(obs))))
        taus = torch.rand(b, N_TAU)
        cos = torch.cos(taus.unsqueeze(-1) * self.pis)
        phi = F.relu(self.phi(cos))
        x = psi.unsqueeze(1) * phi
        x = F.leaky_relu(self.h(x))
        adv, val = self.adv(x), self.val(x)
        q = val + adv - adv.mean(dim=2, keepdim=True)
        return q, q.mean(1), taus


def make():
    torch.manual_seed(4)
    return TorchIQN().eval()


def inputs(seed):
    return np.random.default_rng(seed + 4).normal(size=(6, 9)).astype("float32")
