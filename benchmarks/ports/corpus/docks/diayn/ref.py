"""DIAYN: a skill-conditioned squashed Gaussian, the skill discriminator and the twin critics' target."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, SKILLS, HID = 9, 3, 5, 16
LOG_STD_MIN, LOG_STD_MAX = -4.0, -0.5


class RunningNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("var", torch.ones(dim))

    def forward(self, x):
        x = (x - self.mean) / torch.sqrt(self.var + 1e-8)
        return torch.clamp(x, -2.0, 2.0)


class SkillPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + SKILLS, HID)
        self.fc2 = nn.Linear(HID, HID)
        self.mu = nn.Linear(HID, ACT)
        self.log_std = nn.Linear(HID, ACT)

    def forward(self, s, z, eps):
        h = torch.cat([s, z], dim=-1)
        h = F.elu(self.fc1(h))
        h = F.elu(self.fc2(h))
        mu = self.mu(h)
        log_std = torch.tanh(self.log_std(h))
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
        u = mu + log_std.exp() * eps
        a = torch.tanh(u)
        logp = -0.5 * eps.pow(2) - log_std - 0.5 * math.log(2 * math.pi)
        logp = logp - torch.log(1 - a.pow(2) + 1e-6)
        return a, logp.sum(-1, keepdim=True)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS, HID)
        self.ln = nn.LayerNorm(HID)
        self.fc2 = nn.Linear(HID, HID)
        self.out = nn.Linear(HID, SKILLS)

    def forward(self, s):
        h = torch.tanh(self.ln(self.fc1(s)))
        h = F.relu(self.fc2(h))
        return F.log_softmax(self.out(h), dim=-1)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + SKILLS + ACT, HID)
        self.fc2 = nn.Linear(HID, HID)
        self.q = nn.Linear(HID, 1)

    def forward(self, s, z, a):
        h = F.relu(self.fc1(torch.cat([s, z, a], -1)))
        h = F.relu(self.fc2(h))
        return self.q(h)


class DIAYN(nn.Module):
    def __init__(self, alpha=0.1, gamma=0.95):
        super().__init__()
        self.norm = RunningNorm(OBS)
        self.policy = SkillPolicy()
        self.disc = Discriminator()
        self.q1, self.q2 = Critic(), Critic()
        self.alpha, self.gamma = alpha, gamma

    def forward(self, obs, z, next_obs, eps):
        s, s_next = self.norm(obs), self.norm(next_obs)
        logq = self.disc(s_next)
        reward = (logq * z).sum(-1, keepdim=True) + math.log(SKILLS)
        a, logp = self.policy(s_next, z, eps)
        q = torch.min(self.q1(s_next, z, a), self.q2(s_next, z, a))
        target = reward + self.gamma * (q - self.alpha * logp)
        current = self.q1(s, z, torch.zeros_like(a))
        return a, reward, target, target - current


def make():
    g = torch.Generator().manual_seed(1)
    m = DIAYN()
    with torch.no_grad():
        for n, p in m.named_parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.27 + (1.0 if n.endswith("ln.weight") else 0.0))
        m.norm.mean.copy_(torch.randn(OBS, generator=g) * 0.3)
        m.norm.var.copy_(torch.rand(OBS, generator=g) * 2 + 0.3)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    z = np.eye(SKILLS, dtype="float32")[r.integers(0, SKILLS, 6)]
    f = lambda *s: r.normal(size=s).astype("float32")
    return f(6, OBS), z, f(6, OBS), f(6, ACT)
