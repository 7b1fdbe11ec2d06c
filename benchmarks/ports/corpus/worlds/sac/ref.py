"""SAC: squashed Gaussian actor and twin critics. torch."""
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

FRAMEWORK = "torch"
OBS, ACT, HID = 10, 3, 32
LOG_STD_MIN, LOG_STD_MAX, SCALE = -5.0, 2.0, 2.0


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS, HID)
        self.fc2 = nn.Linear(HID, HID)
        self.mean = nn.Linear(HID, ACT)
        self.log_std = nn.Linear(HID, ACT)

    def forward(self, obs):
        h = torch.relu(self.fc2(torch.relu(self.fc1(obs))))
        mean = self.mean(h)
        log_std = torch.clamp(self.log_std(h), LOG_STD_MIN, LOG_STD_MAX)
        dist = Normal(mean, log_std.exp())
        u = dist.rsample()
        y = torch.tanh(u)
        log_prob = dist.log_prob(u) - torch.log(SCALE * (1 - y.pow(2)) + 1e-6)
        return SCALE * y, log_prob.sum(-1), SCALE * torch.tanh(mean)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + ACT, HID)
        self.fc2 = nn.Linear(HID, HID)
        self.q = nn.Linear(HID, 1)

    def forward(self, obs, action):
        h = torch.relu(self.fc1(torch.cat([obs, action], dim=-1)))
        return self.q(torch.relu(self.fc2(h))).squeeze(-1)


class SAC(nn.Module):
    """The actor's loss and what it is made of."""

    def __init__(self):
        super().__init__()
        self.actor = Actor()
        self.critic1, self.critic2 = Critic(), Critic()
        self.log_alpha = nn.Parameter(torch.tensor(-1.3))

    def forward(self, obs):
        action, log_prob, greedy = self.actor(obs)
        q = torch.min(self.critic1(obs, action), self.critic2(obs, action))
        loss = (self.log_alpha.exp() * log_prob - q).mean()
        return {"action": action, "log_prob": log_prob, "greedy": greedy, "q": q, "loss": loss}


def rough(module, seed=7, size=0.1):
    """Moves all vectors (biases, norms) off their trivial defaults, as training would."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(size * torch.randn(p.shape, generator=gen))
    return module


def make():
    torch.manual_seed(6)
    net = rough(SAC())
    with torch.no_grad():
        net.actor.log_std.weight.mul_(6)
    return net


def inputs(seed):
    return np.random.default_rng(seed + 6).normal(size=(8, OBS)).astype("float32")
