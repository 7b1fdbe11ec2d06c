"""Rainbow's network for MinAtar: noisy layers, dueling streams, a distribution of returns."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
MODE = "train"
ACTIONS, ATOMS = 6, 31


def scale_noise(size):
    x = torch.randn(size)
    return x.sign() * x.abs().sqrt()


class NoisyLinear(nn.Module):
    def __init__(self, fan_in, fan_out, sigma=0.5):
        super().__init__()
        self.fan_in, self.fan_out = fan_in, fan_out
        bound = 1 / math.sqrt(fan_in)
        self.weight_mu = nn.Parameter(torch.empty(fan_out, fan_in).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(torch.rand(fan_out, fan_in) * sigma * bound)
        self.bias_mu = nn.Parameter(torch.empty(fan_out).uniform_(-bound, bound))
        self.bias_sigma = nn.Parameter(torch.rand(fan_out) * sigma * bound)

    def forward(self, x):
        if not self.training:
            return F.linear(x, self.weight_mu, self.bias_mu)
        eps_in = scale_noise(self.fan_in)
        eps_out = scale_noise(self.fan_out)
        weight = self.weight_mu + self.weight_sigma * torch.outer(eps_out, eps_in)
        bias = self.bias_mu + self.bias_sigma * eps_out
        return F.linear(x, weight, bias)


class Rainbow(nn.Module):
    def __init__(self, v_min=-5.0, v_max=10.0):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 16, 3)
        self.conv2 = nn.Conv2d(16, 16, 3, stride=2)
        self.value1, self.value2 = NoisyLinear(144, 32), NoisyLinear(32, ATOMS)
        self.adv1, self.adv2 = NoisyLinear(144, 32), NoisyLinear(32, ACTIONS * ATOMS)
        self.register_buffer("support", torch.linspace(v_min, v_max, ATOMS))

    def forward(self, frames):
        x = F.relu(self.conv1(frames))
        x = F.relu(self.conv2(x))
        x = x.flatten(1)
        value = self.value2(F.relu(self.value1(x))).view(-1, 1, ATOMS)
        advantage = self.adv2(F.relu(self.adv1(x))).view(-1, ACTIONS, ATOMS)
        logits = value + advantage - advantage.mean(1, keepdim=True)
        probabilities = F.softmax(logits, dim=2).clamp(min=1e-3)
        q = (probabilities * self.support).sum(2)
        return q, probabilities.log()


def make():
    torch.manual_seed(2)
    net = Rainbow()
    with torch.no_grad():
        for layer in (net.value2, net.adv2):
            layer.weight_mu.mul_(6)
    return net


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(5, 4, 10, 10)).astype("float32")
