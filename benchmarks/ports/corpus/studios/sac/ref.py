"""SAC: squashed Gaussian actor, sampled by rsample, with twin critics and the soft value."""
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

FRAMEWORK = "torch"
LOW, HIGH, ALPHA = -5.0, 2.0, 0.2


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, o))


class TorchSAC(nn.Module):
    def __init__(self, obs=8, act=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.mean = nn.Linear(32, act)
        self.log_std = nn.Linear(32, act)
        self.q1, self.q2 = mlp(obs + act, 1), mlp(obs + act, 1)
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 0.5]))
        self.register_buffer("shift", torch.tensor([0.0, 0.5, -0.25]))

    def forward(self, obs):
        x = self.body(obs)
        mean, log_std = self.mean(x), torch.tanh(self.log_std(x))
        log_std = LOW + 0.5 * (HIGH - LOW) * (log_std + 1)
        normal = Normal(mean, log_std.exp())
        u = normal.rsample()
        y = torch.tanh(u)
        action = y * self.scale + self.shift
        log_prob = normal.log_prob(u)
        log_prob -= torch.log(self.scale * (1 - y.pow(2)) + 1e-6)
        log_prob = log_prob.sum(1, keepdim=True)
        oa = torch.cat([obs, action], 1)
        q = torch.min(self.q1(oa), self.q2(oa))
        return action, log_prob, q - ALPHA * log_prob


def make():
    torch.manual_seed(3)
    return TorchSAC().eval()


def inputs(seed):
    return np.random.default_rng(seed + 3).normal(size=(7, 8)).astype("float32")
