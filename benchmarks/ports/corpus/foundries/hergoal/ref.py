"""DDPG with hindsight goals (Fetch-like arms): normalisers, actor, critic and the bootstrapped target."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
OBS, GOAL, ACT, MAX_U, GAMMA = 10, 3, 4, 2.0, 0.98


class RunningNormalizer(nn.Module):
    def __init__(self, size, eps=1e-2, clip=5.0):
        super().__init__()
        self.eps, self.clip = eps, clip
        self.register_buffer("total", torch.zeros(size))
        self.register_buffer("total_sq", torch.zeros(size))
        self.register_buffer("count", torch.ones(1))

    def forward(self, x):
        mean = self.total / self.count
        variance = self.total_sq / self.count - mean**2
        std = torch.sqrt(torch.clamp(variance, min=self.eps**2))
        return torch.clamp((x - mean) / std, -self.clip, self.clip)


def mlp(n_in, hidden, n_out):
    return nn.Sequential(
        nn.Linear(n_in, hidden), nn.ReLU(),
        nn.Linear(hidden, hidden), nn.ReLU(),
        nn.Linear(hidden, hidden), nn.ReLU(),
        nn.Linear(hidden, n_out),
    )


class HerAgent(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.o_stats = RunningNormalizer(OBS)
        self.g_stats = RunningNormalizer(GOAL)
        self.pi = mlp(OBS + GOAL, hidden, ACT)
        self.q = mlp(OBS + GOAL + ACT, hidden, 1)

    def preprocess(self, o, ag, g):
        relative = g - ag
        o = torch.clamp(o, -200.0, 200.0)
        relative = torch.clamp(relative, -200.0, 200.0)
        return self.o_stats(o), self.g_stats(relative)

    def critic(self, o, g, u):
        return self.q(torch.cat([o, g, u / MAX_U], dim=1))

    def forward(self, o, ag, g, u):
        no, ng = self.preprocess(o, ag, g)
        pi = MAX_U * torch.tanh(self.pi(torch.cat([no, ng], dim=1)))
        q_pi = self.critic(no, ng, pi)
        q_u = self.critic(no, ng, u)
        distance = torch.linalg.norm(ag - g, dim=-1)
        reward = -(distance > 0.9).float()
        target = reward[:, None] + GAMMA * q_pi
        target = torch.clamp(target, -1.0 / (1.0 - GAMMA), 0.0)
        pi_loss = -q_pi.mean() + ((pi / MAX_U) ** 2).mean()
        return {"pi": pi, "q_pi": q_pi, "q_u": q_u, "target": target, "td": q_u - target, "pi_loss": pi_loss}


def make(seed=11):
    gen = torch.Generator().manual_seed(seed)
    net = HerAgent()
    with torch.no_grad():
        for name, p in net.named_parameters():
            scale = 0.2 if p.ndim == 1 else 1.3 / p.shape[1] ** 0.5
            p.copy_(torch.randn(p.shape, generator=gen) * scale)
        for stats in (net.o_stats, net.g_stats):
            samples = torch.randn(500, stats.total.shape[0], generator=gen) * 0.8
            samples = samples + torch.randn(stats.total.shape[0], generator=gen)
            stats.total.copy_(samples.sum(0))
            stats.total_sq.copy_((samples**2).sum(0))
            stats.count.fill_(500.0)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    o = rng.normal(0.3, 1.1, size=(6, OBS))
    ag = rng.normal(size=(6, GOAL))
    g = ag + rng.normal(size=(6, GOAL)) * 0.7
    u = rng.uniform(-MAX_U, MAX_U, size=(6, ACT))
    return tuple(a.astype("float32") for a in (o, ag, g, u))
