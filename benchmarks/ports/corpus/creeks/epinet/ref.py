"""Epistemic network (epinet) for a contextual bandit, with variance-based information-directed ratios."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
CTX, ARMS, K, Z, HID = 6, 4, 5, 3, 10
PRIOR_SCALE, BETA = 0.7, 1.5


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(CTX, HID)
        self.fc2 = nn.Linear(HID, HID)
        self.out = nn.Linear(HID, ARMS)

    def forward(self, x):
        h = F.relu(self.fc1(x))
        phi = F.relu(self.fc2(h))
        return self.out(phi), phi


class Epinet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(CTX + HID + Z, 8)
        self.l2 = nn.Linear(8, ARMS * Z)
        self.priors = nn.ModuleList(
            [nn.Sequential(nn.Linear(CTX, 5), nn.ELU(), nn.Linear(5, ARMS)) for _ in range(Z)])

    def learned(self, feats, z):
        h = F.relu(self.l1(torch.cat([feats, z], dim=-1)))
        mat = self.l2(h).view(-1, ARMS, Z)
        return torch.einsum("baz,bz->ba", mat, z)

    def prior(self, x, z):
        outs = torch.stack([p(x) for p in self.priors], dim=-1)       # B, ARMS, Z
        return PRIOR_SCALE * (outs * z[:, None, :]).sum(-1)

    def forward(self, x, phi, z):
        feats = torch.cat([x, phi], dim=-1).detach()
        return self.learned(feats, z) + self.prior(x, z).detach()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = Base()
        self.epinet = Epinet()

    def forward(self, x, index):
        mu, phi = self.base(x)
        index = math.sqrt(Z) * index / index.norm(dim=-1, keepdim=True)
        qs = []
        for k in range(K):
            qs.append(mu + self.epinet(x, phi, index[:, k]))
        q = torch.stack(qs, dim=1)                                    # B, K, ARMS
        mean, std = q.mean(1), q.std(1)
        ucb = mean + BETA * std
        best = q.max(-1).values.mean(1, keepdim=True)
        gap = best - mean
        ratio = gap ** 2 / (std ** 2 + 1e-2)
        policy = torch.softmax(-ratio, dim=-1)
        thompson = torch.softmax(q / 0.1, dim=-1).mean(1)
        return q, ucb, gap, policy, thompson


def make():
    m = Agent()
    g = torch.Generator().manual_seed(8)
    with torch.no_grad():
        for p in m.parameters():
            r = torch.randn(p.shape, generator=g)
            p.copy_(r * 1.2 / math.sqrt(p.shape[1]) if p.dim() > 1 else 0.3 * r)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.randn(6, CTX).astype("float32"), r.randn(6, K, Z).astype("float32")
