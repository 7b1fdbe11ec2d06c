"""RLPD: SAC from prior data with a layer-normed critic ensemble (REDQ subset targets)."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
OBS, ACT, HIDDEN, ENSEMBLE, N_STEP = 9, 3, 16, 5, 3


class EnsembleLinear(nn.Module):
    def __init__(self, members, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(members, n_in, n_out) / math.sqrt(n_in))
        self.bias = nn.Parameter(0.1 * torch.randn(members, 1, n_out))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class EnsembleNorm(nn.Module):
    """A layer norm with a scale and shift for each member."""

    def __init__(self, members, n, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(1 + 0.2 * torch.randn(members, 1, n))
        self.shift = nn.Parameter(0.1 * torch.randn(members, 1, n))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return (x - mean) / torch.sqrt(var + self.eps) * self.scale + self.shift


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = EnsembleLinear(ENSEMBLE, OBS + ACT, HIDDEN)
        self.norm1 = EnsembleNorm(ENSEMBLE, HIDDEN)
        self.fc2 = EnsembleLinear(ENSEMBLE, HIDDEN, HIDDEN)
        self.norm2 = EnsembleNorm(ENSEMBLE, HIDDEN)
        self.out = EnsembleLinear(ENSEMBLE, HIDDEN, 1)

    def forward(self, obs, action):
        x = torch.cat([obs, action], dim=-1)
        x = x.unsqueeze(0).expand(ENSEMBLE, -1, -1)
        x = F.relu(self.norm1(self.fc1(x)))
        x = F.relu(self.norm2(self.fc2(x)))
        return self.out(x).squeeze(-1)


class Actor(nn.Module):
    LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(OBS, HIDDEN), nn.LayerNorm(HIDDEN), nn.ReLU(),
            nn.Linear(HIDDEN, HIDDEN), nn.LayerNorm(HIDDEN), nn.ReLU(),
        )
        self.mean = nn.Linear(HIDDEN, ACT)
        self.log_std = nn.Linear(HIDDEN, ACT)

    def forward(self, obs):
        h = self.trunk(obs)
        log_std = torch.tanh(self.log_std(h))
        log_std = self.LOG_STD_MIN + 0.5 * (self.LOG_STD_MAX - self.LOG_STD_MIN) * (log_std + 1)
        return self.mean(h), log_std

    def sample(self, obs, noise):
        mean, log_std = self(obs)
        pre = mean + log_std.exp() * noise
        log_prob = -0.5 * noise.pow(2) - log_std - 0.5 * math.log(2 * math.pi)
        log_prob = log_prob - 2 * (math.log(2) - pre - F.softplus(-2 * pre))
        return torch.tanh(pre), log_prob.sum(-1)


class RLPD(nn.Module):
    GAMMA = 0.97
    SUBSET = (0, 2)

    def __init__(self):
        super().__init__()
        self.actor = Actor()
        self.critic = Critic()
        self.target = Critic()
        self.log_alpha = nn.Parameter(torch.tensor(-0.7))

    def n_step(self, rewards, masks):
        total, live = 0.0, 1.0
        for k in range(N_STEP):
            total = total + live * rewards[:, k]
            live = live * self.GAMMA * masks[:, k]
        return total, live

    def forward(self, obs, action, rewards, masks, next_obs, noise):
        next_action, next_log_prob = self.actor.sample(next_obs, noise)
        next_q = self.target(next_obs, next_action)[list(self.SUBSET)].min(dim=0).values
        returns, live = self.n_step(rewards, masks)
        soft = next_q - self.log_alpha.exp() * next_log_prob
        target = returns + live * soft
        q = self.critic(obs, action)
        loss = (q - target.unsqueeze(0)).pow(2).mean(dim=0)
        return next_action, next_log_prob, q, target, loss


def make():
    torch.manual_seed(11)
    net = RLPD()
    for module in net.modules():
        if isinstance(module, nn.LayerNorm):
            nn.init.normal_(module.weight, 1.0, 0.2)
            nn.init.normal_(module.bias, 0.0, 0.1)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 6
    return tuple(a.astype("float32") for a in (
        rng.normal(size=(b, OBS)),
        np.tanh(rng.normal(size=(b, ACT))),
        rng.normal(size=(b, N_STEP)),
        (rng.random((b, N_STEP)) > 0.15),
        rng.normal(size=(b, OBS)),
        rng.normal(size=(b, ACT)),
    ))
