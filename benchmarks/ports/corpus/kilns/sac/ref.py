"""Soft actor-critic: squashed Gaussian actor, twin critics with layer norm, the soft target."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

FRAMEWORK = "torch"
LOG_STD_MAX, LOG_STD_MIN = 2.0, -5.0


class SoftQNetwork(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(obs_dim + act_dim, hidden)
        self.ln1 = nn.LayerNorm(hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.ln2 = nn.LayerNorm(hidden)
        self.fc3 = nn.Linear(hidden, 1)

    def forward(self, obs, action):
        x = torch.cat([obs, action], 1)
        x = F.relu(self.ln1(self.fc1(x)))
        x = F.relu(self.ln2(self.fc2(x)))
        return self.fc3(x).squeeze(-1)


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim, low, high, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(obs_dim, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc_mean = nn.Linear(hidden, act_dim)
        self.fc_logstd = nn.Linear(hidden, act_dim)
        self.register_buffer("action_scale", (high - low) / 2.0)
        self.register_buffer("action_bias", (high + low) / 2.0)

    def forward(self, obs):
        x = F.relu(self.fc1(obs))
        x = F.relu(self.fc2(x))
        log_std = torch.tanh(self.fc_logstd(x))
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
        return self.fc_mean(x), log_std

    def sample(self, obs, noise):
        mean, log_std = self(obs)
        std = log_std.exp()
        u = mean + std * noise
        y = torch.tanh(u)
        action = y * self.action_scale + self.action_bias
        log_prob = Normal(mean, std, validate_args=False).log_prob(u)
        log_prob = log_prob - torch.log(self.action_scale * (1 - y.pow(2)) + 1e-6)
        return action, log_prob.sum(1)


class SAC(nn.Module):
    def __init__(self, obs_dim=11, act_dim=3, gamma=0.97):
        super().__init__()
        low, high = torch.tensor([-2.0, -1.0, 0.0]), torch.tensor([2.0, 1.5, 3.0])
        self.actor = Actor(obs_dim, act_dim, low, high)
        self.qf1 = SoftQNetwork(obs_dim, act_dim)
        self.qf2 = SoftQNetwork(obs_dim, act_dim)
        self.log_alpha = nn.Parameter(torch.zeros(1))
        self.gamma = gamma

    def forward(self, obs, action, reward, done, next_obs, noise):
        next_action, next_logp = self.actor.sample(next_obs, noise)
        q1, q2 = self.qf1(next_obs, next_action), self.qf2(next_obs, next_action)
        soft_v = torch.min(q1, q2) - self.log_alpha.exp() * next_logp
        target = reward + (1 - done) * self.gamma * soft_v
        error1 = self.qf1(obs, action) - target
        error2 = self.qf2(obs, action) - target
        return next_action, next_logp, target, error1**2 + error2**2


def make():
    torch.manual_seed(61)
    net = SAC()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(p * 1.5 if p.ndim > 1 else p + 0.2 * torch.randn_like(p))
        net.log_alpha.fill_(-0.7)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b = 8
    return (
        rng.normal(size=(b, 11)).astype("float32"),
        rng.uniform(-1, 1, size=(b, 3)).astype("float32"),
        rng.normal(size=b).astype("float32"),
        (rng.random(b) < 0.4).astype("float32"),
        rng.normal(size=(b, 11)).astype("float32"),
        rng.normal(size=(b, 3)).astype("float32"),
    )
