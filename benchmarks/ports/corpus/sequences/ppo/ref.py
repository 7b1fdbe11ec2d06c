"""PPO's actor critic for continuous actions with an observation normaliser.

It samples an action, and gives its log-probability, the entropy and the value.
"""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
O, A, B = 9, 3, 8


class RunningNorm(nn.Module):
    def __init__(self, n, clip=3.0, eps=1e-3):
        super().__init__()
        self.register_buffer("mean", torch.zeros(n))
        self.register_buffer("var", torch.ones(n))
        self.clip, self.eps = clip, eps

    def forward(self, x):
        return torch.clamp((x - self.mean) / torch.sqrt(self.var + self.eps), -self.clip, self.clip)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = RunningNorm(O)
        self.actor = nn.Sequential(
            nn.Linear(O, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, A)
        )
        self.critic = nn.Sequential(
            nn.Linear(O, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
        )
        self.log_std = nn.Parameter(torch.tensor([-0.5, 0.1, -0.9]))

    def forward(self, obs):
        x = self.norm(obs)
        mean = self.actor(x)
        dist = torch.distributions.Normal(mean, self.log_std.exp().expand_as(mean))
        action = dist.sample()
        return (
            action,
            dist.log_prob(action).sum(-1),
            dist.entropy().sum(-1) + 0 * mean.sum(-1),
            self.critic(x).squeeze(-1),
        )


def make():
    torch.manual_seed(4)
    g = np.random.default_rng(4)
    t = ActorCritic().eval()
    t.norm.mean.copy_(torch.from_numpy(g.normal(size=O).astype("float32")))
    t.norm.var.copy_(torch.from_numpy((g.uniform(0.2, 3, size=O)).astype("float32")))
    return t


def inputs(seed):
    g = np.random.default_rng(seed + 4)
    mean = g.normal(size=O).astype("float32")
    g.uniform(0.2, 3, size=O)
    return (mean + 2.2 * g.normal(size=(B, O))).astype("float32")
