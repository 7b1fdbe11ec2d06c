"""Rainbow: noisy, dueling, categorical."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
ACTIONS, ATOMS, VMIN, VMAX = 4, 21, -5.0, 5.0


class NoisyLinear(nn.Module):
    def __init__(self, n_in, n_out, sigma0=0.5):
        super().__init__()
        bound = 1 / math.sqrt(n_in)
        self.mu_w = nn.Parameter(torch.empty(n_out, n_in).uniform_(-bound, bound))
        self.mu_b = nn.Parameter(torch.empty(n_out).uniform_(-bound, bound))
        self.sigma_w = nn.Parameter(torch.rand(n_out, n_in) * sigma0 * bound + 0.01)
        self.sigma_b = nn.Parameter(torch.rand(n_out) * sigma0 * bound + 0.01)

    @staticmethod
    def squash(x):
        return x.sign() * x.abs().sqrt()

    def forward(self, x):
        eps_in = self.squash(torch.randn(self.mu_w.shape[1]))
        eps_out = self.squash(torch.randn(self.mu_w.shape[0]))
        weight = self.mu_w + self.sigma_w * torch.outer(eps_out, eps_in)
        bias = self.mu_b + self.sigma_b * eps_out
        return nn.functional.linear(x, weight, bias)


class Rainbow(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.value1, self.value2 = NoisyLinear(32, 32), NoisyLinear(32, ATOMS)
        self.adv1, self.adv2 = NoisyLinear(32, 32), NoisyLinear(32, ACTIONS * ATOMS)
        self.register_buffer("support", torch.linspace(VMIN, VMAX, ATOMS))

    def forward(self, x):
        h = self.trunk(x)
        v = self.value2(torch.relu(self.value1(h))).view(-1, 1, ATOMS)
        a = self.adv2(torch.relu(self.adv1(h))).view(-1, ACTIONS, ATOMS)
        logits = v + a - a.mean(1, keepdim=True)
        p = torch.softmax(logits, dim=-1)
        return (p * self.support).sum(-1)


def make():
    torch.manual_seed(1)
    return Rainbow()


def inputs(seed):
    return np.random.default_rng(seed + 1).normal(size=(5, 12)).astype("float32")
