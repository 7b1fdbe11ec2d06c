"""Soft actor-critic: squashed Gaussian actor, twin critics, the soft target."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
OBS, ACT = 11, 3
LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0


class Actor(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(OBS, hidden)
        self.ln = nn.LayerNorm(hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.mean = nn.Linear(hidden, ACT)
        self.log_std = nn.Linear(hidden, ACT)
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 0.5]))
        self.register_buffer("offset", torch.tensor([0.0, 0.5, -0.25]))

    def forward(self, obs, noise):
        x = torch.tanh(self.ln(self.fc1(obs)))
        x = F.elu(self.fc2(x))
        mean, log_std = self.mean(x), torch.tanh(self.log_std(x))
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
        std = log_std.exp()
        u = mean + std * noise
        logp = -0.5 * ((u - mean) / std) ** 2 - log_std - 0.5 * math.log(2 * math.pi)
        squash = 2.0 * (math.log(2.0) - u - F.softplus(-2.0 * u))
        logp = (logp - squash - self.scale.log()).sum(dim=-1)
        return torch.tanh(u) * self.scale + self.offset, logp


class Critic(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(OBS + ACT, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1)
        )

    def forward(self, obs, action):
        return self.net(torch.cat([obs, action], dim=1)).squeeze(-1)


class SAC(nn.Module):
    def __init__(self, gamma=0.97):
        super().__init__()
        self.gamma = gamma
        self.actor = Actor()
        self.q1, self.q2 = Critic(), Critic()
        self.log_alpha = nn.Parameter(torch.tensor([-0.7]))

    def forward(self, next_obs, noise, reward, done):
        action, logp = self.actor(next_obs, noise)
        q = torch.min(self.q1(next_obs, action), self.q2(next_obs, action))
        soft = q - self.log_alpha.exp() * logp
        target = reward + self.gamma * (1.0 - done) * soft
        return action, logp, target


def make():
    torch.manual_seed(21)
    net = SAC()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if name == "log_alpha":
                continue
            if name == "actor.ln.weight":
                p.uniform_(0.6, 1.5)
            elif p.dim() > 1:
                p.normal_(0, 1.2 / math.sqrt(p.shape[1]))
            else:
                p.normal_(0, 0.3)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 6
    obs = rng.normal(size=(b, OBS)).astype("float32")
    noise = rng.normal(size=(b, ACT)).astype("float32")
    reward = rng.normal(size=(b,)).astype("float32")
    done = np.array([0, 1, 0, 0, 1, 0], "float32")
    return obs, noise, reward, done
