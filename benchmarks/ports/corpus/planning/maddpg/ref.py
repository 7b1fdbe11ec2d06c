"""MADDPG with Gumbel-softmax actors and an attentive central critic (after MAAC)."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
OBS_DIMS = (9, 7, 8)
N_ACT, ENC, HEADS = 5, 24, 3
TAU = 0.7


class Actor(nn.Module):
    def __init__(self, obs_dim):
        super().__init__()
        self.norm = nn.LayerNorm(obs_dim)
        self.fc1 = nn.Linear(obs_dim, 32)
        self.fc2 = nn.Linear(32, N_ACT)

    def forward(self, obs):
        return self.fc2(F.leaky_relu(self.fc1(self.norm(obs))))


class AttentionCritic(nn.Module):
    def __init__(self):
        super().__init__()
        n, dim = len(OBS_DIMS), ENC // HEADS
        self.sa_encoders = nn.ModuleList(nn.Linear(o + N_ACT, ENC) for o in OBS_DIMS)
        self.s_encoders = nn.ModuleList(nn.Linear(o, ENC) for o in OBS_DIMS)
        self.keys = nn.ModuleList(nn.Linear(ENC, dim, bias=False) for _ in range(HEADS))
        self.queries = nn.ModuleList(nn.Linear(ENC, dim, bias=False) for _ in range(HEADS))
        self.values = nn.ModuleList(nn.Linear(ENC, dim) for _ in range(HEADS))
        self.heads = nn.ModuleList(
            nn.Sequential(nn.Linear(2 * ENC, ENC), nn.LeakyReLU(), nn.Linear(ENC, 1)) for _ in range(n)
        )

    def forward(self, obs, acts):
        sa = [F.leaky_relu(e(torch.cat([o, a], 1))) for e, o, a in zip(self.sa_encoders, obs, acts)]
        s = [F.leaky_relu(e(o)) for e, o in zip(self.s_encoders, obs)]
        qs, reg = [], 0.0
        for i in range(len(obs)):
            others = [j for j in range(len(obs)) if j != i]
            gathered = []
            for key, query, value in zip(self.keys, self.queries, self.values):
                k = torch.stack([key(sa[j]) for j in others], dim=2)  # B, d, n-1
                v = torch.stack([F.leaky_relu(value(sa[j])) for j in others], dim=2)
                logits = torch.matmul(query(s[i]).unsqueeze(1), k)  # B, 1, n-1
                weights = torch.softmax(logits / np.sqrt(k.shape[1]), dim=2)
                gathered.append((v * weights).sum(dim=2))
                reg = reg + 1e-3 * (logits**2).mean()
            qs.append(self.heads[i](torch.cat([s[i], *gathered], dim=1)))
        return torch.cat(qs, dim=1), reg


class MADDPG(nn.Module):
    def __init__(self):
        super().__init__()
        self.actors = nn.ModuleList(Actor(o) for o in OBS_DIMS)
        self.critic = AttentionCritic()

    def forward(self, *obs):
        acts = []
        for actor, o in zip(self.actors, obs):
            logits = actor(o)
            u = torch.rand(logits.shape)
            gumbel = -torch.log(-torch.log(u + 1e-20) + 1e-20)
            acts.append(torch.softmax((logits + gumbel) / TAU, dim=-1))
        q, reg = self.critic(obs, acts)
        return q, torch.stack(acts, dim=1), reg


def make():
    torch.manual_seed(2)
    return MADDPG()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=(6, o)).astype("float32") for o in OBS_DIMS)
