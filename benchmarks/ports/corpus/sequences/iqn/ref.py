"""An implicit quantile network that draws its taus."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
S, D, A, N, C = 12, 32, 4, 8, 16


class IQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(S, 24), nn.ReLU(), nn.Linear(24, D), nn.ReLU())
        self.phi = nn.Linear(C, D)
        self.fc = nn.Linear(D, 32)
        self.out = nn.Linear(32, A)
        self.register_buffer("pis", torch.pi * torch.arange(1, C + 1).float())

    def forward(self, state):
        b = state.shape[0]
        psi = self.body(state)
        taus = torch.rand(b, N, device=state.device)
        cos = torch.cos(taus.reshape(b * N, 1) * self.pis)
        phi = F.relu(self.phi(cos))
        h = psi.repeat_interleave(N, dim=0) * phi
        z = self.out(F.relu(self.fc(h))).view(b, N, A)
        return z, taus, z.mean(dim=1)


def make():
    torch.manual_seed(3)
    return IQN().eval()


def inputs(seed):
    return np.random.default_rng(seed + 3).normal(size=(4, S)).astype("float32")
