"""Mixture density network: spectrally normalised trunk, straight-through Gumbel sample, likelihood."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class SpectralLinear(nn.Module):
    """W over an estimate of its largest singular value, one power iteration from a stored u."""

    def __init__(self, inputs, outputs, bound=2.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(0.1 * torch.randn(outputs))
        self.register_buffer("u", F.normalize(torch.randn(outputs), dim=0))
        self.bound = bound

    def forward(self, x):
        v = F.normalize(torch.mv(self.weight.t(), self.u), dim=0, eps=1e-12)
        u = F.normalize(torch.mv(self.weight, v), dim=0, eps=1e-12)
        sigma = torch.dot(u, torch.mv(self.weight, v))
        return F.linear(x, self.bound * self.weight / sigma, self.bias)


class MDN(nn.Module):
    def __init__(self, inputs=6, hidden=20, components=5, targets=2, temperature=0.7):
        super().__init__()
        self.k, self.d, self.temperature = components, targets, temperature
        self.one = SpectralLinear(inputs, hidden)
        self.two = SpectralLinear(hidden, hidden)
        self.logits = nn.Linear(hidden, components)
        self.means = nn.Linear(hidden, components * targets)
        self.scales = nn.Linear(hidden, components * targets)

    def forward(self, x, y):
        h = F.elu(self.one(x))
        h = h + F.elu(self.two(h))
        log_pi = F.log_softmax(self.logits(h), dim=-1)
        mu = self.means(h).view(-1, self.k, self.d)
        sigma = F.softplus(self.scales(h)).view(-1, self.k, self.d) + 1e-3

        z = (y.unsqueeze(1) - mu) / sigma
        log_normal = -0.5 * z.pow(2) - sigma.log() - 0.5 * math.log(2 * math.pi)
        nll = -torch.logsumexp(log_pi + log_normal.sum(-1), dim=-1)

        uniform = torch.rand_like(log_pi).clamp(1e-6, 1 - 1e-6)
        gumbel = -torch.log(-torch.log(uniform))
        soft = F.softmax((log_pi + gumbel) / self.temperature, dim=-1)
        noise = torch.randn_like(y)
        picked_mu = (soft.unsqueeze(-1) * mu).sum(1)
        picked_sigma = (soft.unsqueeze(-1) * sigma).sum(1)
        sample = picked_mu + picked_sigma * noise

        expected = (log_pi.exp().unsqueeze(-1) * mu).sum(1)
        second = (log_pi.exp().unsqueeze(-1) * (sigma**2 + mu**2)).sum(1)
        return nll, sample, expected, second - expected**2


def make():
    torch.manual_seed(6)
    net = MDN()
    for head in (net.logits, net.means, net.scales):
        head.weight.data *= 2
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(7, 6)).astype("float32"), rng.normal(size=(7, 2)).astype("float32")
