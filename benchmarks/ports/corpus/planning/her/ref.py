"""Goal-conditioned SAC with hindsight relabelling: tanh Gaussian actor, twin critics, population of heads."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, GOAL, ACT, HEADS = 9, 3, 3, 4


class GoalNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("std", torch.ones(size))

    def forward(self, x):
        return torch.clamp((x - self.mean) / self.std, -5, 5)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(OBS + GOAL, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.mu = nn.Linear(32, ACT)
        self.log_std = nn.Linear(32, ACT)

    def forward(self, x):
        h = self.body(x)
        log_std = torch.clamp(self.log_std(h), -1.5, 0.5)
        dist = torch.distributions.Normal(self.mu(h), log_std.exp())
        u = dist.rsample()
        action = torch.tanh(u)
        log_prob = dist.log_prob(u).sum(-1)
        log_prob = log_prob - (2 * (math.log(2) - u - F.softplus(-2 * u))).sum(-1)
        return action, log_prob


class Critic(nn.Module):
    """A population of Q heads over one body, all with layer norm."""

    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(OBS + GOAL + ACT, 48)
        self.ln1 = nn.LayerNorm(48)
        self.l2 = nn.Linear(48, 48)
        self.ln2 = nn.LayerNorm(48)
        self.heads = nn.ModuleList(nn.Linear(48, 1) for _ in range(HEADS))

    def forward(self, x, a):
        h = F.selu(self.ln1(self.l1(torch.cat([x, a], -1))))
        h = F.selu(self.ln2(self.l2(h)))
        return torch.cat([head(h) for head in self.heads], -1)


class HerSac(nn.Module):
    def __init__(self):
        super().__init__()
        self.o_norm, self.g_norm = GoalNorm(OBS), GoalNorm(GOAL)
        self.actor, self.critic = Actor(), Critic()
        self.log_alpha = nn.Parameter(torch.tensor(-1.2))

    def forward(self, obs, achieved, desired, future, relabel):
        goal = torch.where(relabel.unsqueeze(-1) > 0.5, future, desired)
        reward = -(torch.norm(achieved - goal, dim=-1) > 1.2).float()
        x = torch.cat([self.o_norm(obs), self.g_norm(goal)], dim=-1)
        action, log_prob = self.actor(x)
        q = self.critic(x, action)
        low = q.topk(2, dim=-1, largest=False).values.mean(-1)
        alpha = self.log_alpha.exp()
        target = torch.clamp(reward + 0.98 * (low - alpha * log_prob), -50.0, 0.0)
        disagreement = q.std(dim=-1, unbiased=False)
        return action, log_prob, q, target - 0.1 * disagreement


def make():
    torch.manual_seed(10)
    net = HerSac()
    with torch.no_grad():
        for norm in (net.o_norm, net.g_norm):
            norm.mean.normal_(0, 0.4), norm.std.uniform_(0.15, 1.5)
        for head in net.critic.heads:
            head.bias.sub_(1.0)
        net.actor.mu.weight.mul_(3)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    f = lambda *s: rng.normal(size=s).astype("float32")
    return f(8, OBS), f(8, GOAL), f(8, GOAL), f(8, GOAL), (rng.uniform(size=8) < 0.6).astype("float32")
