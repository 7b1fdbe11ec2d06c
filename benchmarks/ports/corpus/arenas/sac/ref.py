"""CleanRL-like SAC: squashed Gaussian actor, twin soft Q."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
OBS, ACT = 7, 3
LOG_STD_MAX, LOG_STD_MIN = 2, -5
HIGH = np.array([2.0, 1.0, 0.5], "float32")
LOW = np.array([-2.0, -0.5, -0.5], "float32")


class SoftQNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + ACT, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 1)

    def forward(self, x, a):
        x = torch.cat([x, a], 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc_mean = nn.Linear(64, ACT)
        self.fc_logstd = nn.Linear(64, ACT)
        self.register_buffer("action_scale", torch.tensor((HIGH - LOW) / 2.0))
        self.register_buffer("action_bias", torch.tensor((HIGH + LOW) / 2.0))

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        mean = self.fc_mean(x)
        log_std = torch.tanh(self.fc_logstd(x))
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
        return mean, log_std

    def get_action(self, x):
        mean, log_std = self(x)
        normal = torch.distributions.Normal(mean, log_std.exp())
        x_t = normal.rsample()
        y_t = torch.tanh(x_t)
        action = y_t * self.action_scale + self.action_bias
        log_prob = normal.log_prob(x_t)
        log_prob -= torch.log(self.action_scale * (1 - y_t.pow(2)) + 1e-6)
        log_prob = log_prob.sum(1, keepdim=True)
        mean = torch.tanh(mean) * self.action_scale + self.action_bias
        return action, log_prob, mean


class SACLoss(nn.Module):
    def __init__(self, alpha=0.2):
        super().__init__()
        self.actor, self.qf1, self.qf2, self.alpha = Actor(), SoftQNetwork(), SoftQNetwork(), alpha

    def forward(self, obs):
        pi, log_pi, mean = self.actor.get_action(obs)
        min_q = torch.min(self.qf1(obs, pi), self.qf2(obs, pi))
        return pi, log_pi, mean, self.alpha * log_pi - min_q


def make():
    torch.manual_seed(2)
    return SACLoss().eval()


def inputs(seed):
    return np.random.default_rng(seed + 12).normal(size=(8, OBS)).astype("float32")
