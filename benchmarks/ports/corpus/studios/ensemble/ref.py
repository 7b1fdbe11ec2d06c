"""PETS / MBPO dynamics ensemble: batched linear layers, log variance bounds, sampled next state."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
E, S, U, HID = 4, 6, 2, 24


class EnsembleLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(E, i, o).normal_(0, 1 / (2 * i**0.5)))
        self.bias = nn.Parameter(torch.randn(E, 1, o) * 0.1)

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class TorchEnsemble(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = EnsembleLinear(S + U, HID), EnsembleLinear(HID, HID)
        self.out = EnsembleLinear(HID, 2 * (S + 1))
        self.max_logvar = nn.Parameter(torch.full((S + 1,), 0.5) + 0.1 * torch.randn(S + 1))
        self.min_logvar = nn.Parameter(torch.full((S + 1,), -4.0) + 0.1 * torch.randn(S + 1))
        self.register_buffer("mu", torch.randn(S + U) * 0.3)
        self.register_buffer("sigma", torch.rand(S + U) + 0.5)

    def forward(self, state, action):
        x = (torch.cat([state, action], -1) - self.mu) / self.sigma
        x = x.unsqueeze(0).expand(E, -1, -1)
        h = F.silu(self.l1(x))
        h = F.silu(self.l2(h))
        mean, logvar = self.out(h).chunk(2, dim=-1)
        logvar = self.max_logvar - F.softplus(self.max_logvar - logvar)
        logvar = self.min_logvar + F.softplus(logvar - self.min_logvar)
        std = torch.exp(0.5 * logvar)
        pred = mean + std * torch.randn_like(std)
        next_state = state + pred[..., :-1]
        return next_state, pred[..., -1], logvar, mean.std(dim=0)


def make():
    torch.manual_seed(6)
    return TorchEnsemble().eval()


def inputs(seed):
    rng = np.random.default_rng(seed + 6)
    return rng.normal(size=(5, S)).astype("float32"), rng.uniform(-1, 1, (5, U)).astype("float32")
