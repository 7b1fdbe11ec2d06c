"""Truncated quantile critics (Kuznetsov et al. 2020): action, target and per-sample critic loss."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

FRAMEWORK = "torch"
OBS, ACT, NETS, QUANTILES, DROP = 8, 3, 2, 8, 4
LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0


class Actor(nn.Module):
    def __init__(self, scale=0.4, hidden=24):
        super().__init__()
        self.l1 = nn.Linear(OBS, hidden)
        self.ln = nn.LayerNorm(hidden)
        self.l2 = nn.Linear(hidden, hidden)
        self.mu = nn.Linear(hidden, ACT)
        self.log_std = nn.Linear(hidden, ACT)
        self.scale = scale

    def forward(self, obs, noise):
        x = torch.tanh(self.ln(self.l1(obs)))
        x = F.relu(self.l2(x))
        mean = self.mu(x)
        log_std = torch.tanh(self.log_std(x))
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
        pre = mean + log_std.exp() * noise
        squashed = torch.tanh(pre)
        log_prob = Normal(mean, log_std.exp()).log_prob(pre)
        log_prob = log_prob - torch.log(self.scale * (1 - squashed.pow(2)) + 1e-6)
        return squashed * self.scale, log_prob.sum(1, keepdim=True)


class Critics(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.nets = nn.ModuleList(
            nn.Sequential(
                nn.Linear(OBS + ACT, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, QUANTILES)
            )
            for _ in range(NETS)
        )

    def forward(self, obs, action):
        x = torch.cat([obs, action], dim=1)
        return torch.stack([net(x) for net in self.nets], dim=1)


class TQC(nn.Module):
    def __init__(self, gamma=0.97, alpha=0.2):
        super().__init__()
        self.actor = Actor()
        self.critics = Critics()
        self.targets = Critics()
        self.gamma, self.alpha = gamma, alpha

    def forward(self, obs, action, reward, done, next_obs, noise):
        next_action, log_prob = self.actor(next_obs, noise)
        pooled = self.targets(next_obs, next_action).flatten(1)
        atoms = pooled.sort(dim=1).values[:, : NETS * (QUANTILES - DROP)]
        target = reward[:, None] + (1 - done[:, None]) * self.gamma * (atoms - self.alpha * log_prob)

        current = self.critics(obs, action)
        delta = target[:, None, None, :] - current[:, :, :, None]
        size = delta.abs()
        huber = torch.where(size > 1, size - 0.5, delta**2 * 0.5)
        tau = (torch.arange(QUANTILES).float() + 0.5) / QUANTILES
        weight = torch.abs(tau[None, None, :, None] - (delta < 0).float())
        loss = (weight * huber).mean(dim=(1, 2, 3))
        return {"action": next_action, "log_prob": log_prob, "target": target, "loss": loss}


def make():
    torch.manual_seed(40)
    net = TQC()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if name == "actor.ln.weight":
                p.uniform_(0.7, 1.3)
            else:
                p.uniform_(-0.4, 0.4)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    rows = 6
    f = lambda *shape: rng.normal(size=shape).astype(np.float32)
    done = np.zeros(rows, np.float32)
    done[rng.integers(rows)] = 1
    return f(rows, OBS), np.tanh(f(rows, ACT)) * np.float32(0.4), f(rows), done, f(rows, OBS), f(rows, ACT)
