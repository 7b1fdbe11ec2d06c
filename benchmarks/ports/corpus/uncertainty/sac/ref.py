"""SAC, as CleanRL and Spinning Up write it: squashed Gaussian actor, twin critics, one forward of the policy loss."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

FRAMEWORK = "torch"
OBS, ACT, HIDDEN = 11, 3, 32
LOG_STD_MAX, LOG_STD_MIN = 2, -5


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, HIDDEN)
        self.fc_mean = nn.Linear(HIDDEN, ACT)
        self.fc_logstd = nn.Linear(HIDDEN, ACT)
        high = np.array([1.0, 2.0, 0.4], dtype=np.float32)
        low = np.array([-1.0, -1.0, -0.4], dtype=np.float32)
        self.register_buffer("action_scale", torch.tensor((high - low) / 2.0))
        self.register_buffer("action_bias", torch.tensor((high + low) / 2.0))

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        mean = self.fc_mean(x)
        log_std = torch.tanh(self.fc_logstd(x))
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
        return mean, log_std

    def get_action(self, x):
        mean, log_std = self(x)
        normal = Normal(mean, log_std.exp())
        x_t = normal.rsample()
        y_t = torch.tanh(x_t)
        action = y_t * self.action_scale + self.action_bias
        log_prob = normal.log_prob(x_t)
        # Enforcing action bounds
        log_prob -= torch.log(self.action_scale * (1 - y_t.pow(2)) + 1e-6)
        log_prob = log_prob.sum(1, keepdim=True)
        mean = torch.tanh(mean) * self.action_scale + self.action_bias
        return action, log_prob, mean


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + ACT, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, HIDDEN)
        self.fc3 = nn.Linear(HIDDEN, 1)

    def forward(self, x, a):
        x = torch.cat([x, a], 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class SAC(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = Actor()
        self.qf1 = Critic()
        self.qf2 = Critic()
        self.log_alpha = nn.Parameter(torch.tensor([-1.2]))

    def forward(self, obs):
        action, log_pi, mean = self.actor.get_action(obs)
        min_q = torch.min(self.qf1(obs, action), self.qf2(obs, action))
        alpha = self.log_alpha.exp()
        actor_loss = ((alpha * log_pi) - min_q).mean()
        return action, log_pi, mean, min_q, actor_loss


def make():
    torch.manual_seed(3)
    return SAC()


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(8, OBS)).astype("float32")
