"""Bayes by backprop: layers that draw their weights by the reparameterisation trick."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
I, HID, O, B = 7, 12, 4, 6
PRIOR = 0.3


class BayesLinear(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.w_mu = nn.Parameter(0.4 * torch.randn(m, n))
        self.w_rho = nn.Parameter(-1 + 0.5 * torch.randn(m, n))
        self.b_mu = nn.Parameter(0.2 * torch.randn(m))
        self.b_rho = nn.Parameter(-1 + 0.5 * torch.randn(m))

    def forward(self, x):
        w_sigma, b_sigma = F.softplus(self.w_rho), F.softplus(self.b_rho)
        w = self.w_mu + w_sigma * torch.randn_like(w_sigma)
        b = self.b_mu + b_sigma * torch.randn_like(b_sigma)
        kl = self.kl(self.w_mu, w_sigma) + self.kl(self.b_mu, b_sigma)
        return F.linear(x, w, b), kl

    @staticmethod
    def kl(mu, sigma):
        return (math.log(PRIOR) - sigma.log() + (sigma**2 + mu**2) / (2 * PRIOR**2) - 0.5).sum()


class BayesNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = BayesLinear(I, HID), BayesLinear(HID, O)

    def forward(self, x):
        h, kl1 = self.l1(x)
        y, kl2 = self.l2(F.relu(h))
        return F.log_softmax(y, dim=-1), kl1 + kl2


def make():
    torch.manual_seed(5)
    return BayesNet().eval()


def inputs(seed):
    return np.random.default_rng(seed + 5).normal(size=(B, I)).astype("float32")
