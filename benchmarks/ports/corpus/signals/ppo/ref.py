"""PPO's actor and critic for continuous actions: running normaliser, squashed samples. torch."""

import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
OBS, ACT, HIDDEN = 11, 3, 32


class RunningNorm(nn.Module):
    """Standardises observations by statistics that were gathered in training."""

    def __init__(self, size, eps=1e-4, clip=5.0):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("m2", torch.ones(size))
        self.register_buffer("count", torch.tensor(1.0))
        self.eps, self.clip = eps, clip

    def forward(self, x):
        var = self.m2 / (self.count - 1)
        return ((x - self.mean) / torch.sqrt(var + self.eps)).clamp(-self.clip, self.clip)


def mlp(*sizes, gain=math.sqrt(2)):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        linear = nn.Linear(a, b)
        nn.init.orthogonal_(linear.weight, gain)
        nn.init.normal_(linear.bias, 0, 0.1)
        layers += [linear, nn.Tanh()]
    return nn.Sequential(*layers)


class ActorCritic(nn.Module):
    def __init__(self, low=-2.0, high=1.0):
        super().__init__()
        self.normaliser = RunningNorm(OBS)
        self.actor = mlp(OBS, HIDDEN, HIDDEN)
        self.mean = nn.Linear(HIDDEN, ACT)
        self.log_std = nn.Parameter(torch.zeros(ACT))
        self.critic = mlp(OBS, HIDDEN, HIDDEN)
        self.value = nn.Linear(HIDDEN, 1)
        self.low, self.high = low, high
        self.return_std = 3.7

    def forward(self, observation):
        x = self.normaliser(observation)
        mean = self.mean(self.actor(x))
        log_std = self.log_std.clamp(-5, 2).expand_as(mean)
        std = log_std.exp()
        noise = torch.randn_like(mean)
        raw = mean + std * noise
        squashed = torch.tanh(raw)
        log_prob = -0.5 * ((raw - mean) / std) ** 2 - log_std - 0.5 * math.log(2 * math.pi)
        correction = torch.log(1 - squashed**2 + 1e-6)
        log_prob = (log_prob - correction).sum(dim=-1)
        entropy = (0.5 + 0.5 * math.log(2 * math.pi) + log_std).sum(dim=-1)
        action = self.low + (squashed + 1) * 0.5 * (self.high - self.low)
        value = self.value(self.critic(x)).squeeze(-1) * self.return_std
        return action, log_prob, entropy, value


def make():
    torch.manual_seed(13)
    model = ActorCritic()
    with torch.no_grad():
        model.log_std.copy_(torch.tensor([-0.4, 0.1, -0.9]))
        model.normaliser.mean.normal_(0, 1)
        model.normaliser.count.fill_(50.0)
        model.normaliser.m2.uniform_(5, 200)
    return model.eval()


def inputs(seed):
    return (np.random.default_rng(seed).normal(size=(16, OBS)) * 2).astype("float32")
