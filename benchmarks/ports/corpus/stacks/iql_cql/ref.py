"""Offline learner: IQL losses plus the CQL(H) regulariser on given candidate actions."""
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.set_num_threads(1)
FRAMEWORK = "torch"
OBS, ACT, HID, GAMMA, TAU, BETA, MAX_WEIGHT = 6, 2, 20, 0.95, 0.8, 3.0, 20.0


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, HID), nn.ReLU(), nn.Linear(HID, HID), nn.ReLU(), nn.Linear(HID, o))


class TwinQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1, self.q2 = mlp(OBS + ACT, 1), mlp(OBS + ACT, 1)

    def both(self, s, a):
        sa = torch.cat([s, a], -1)
        return self.q1(sa).squeeze(-1), self.q2(sa).squeeze(-1)

    def forward(self, s, a):
        return torch.min(*self.both(s, a))


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(OBS, ACT)
        self.log_std = nn.Parameter(torch.linspace(-1.5, 2.6, ACT))

    def forward(self, s):
        return Normal(torch.tanh(self.net(s)), self.log_std.clamp(-5.0, 2.0).exp())


class OfflineLearner(nn.Module):
    def __init__(self):
        super().__init__()
        self.qf, self.vf, self.policy = TwinQ(), mlp(OBS, 1), Policy()
        self.q_target = copy.deepcopy(self.qf).requires_grad_(False)

    def forward(self, s, a, r, s2, done, candidates):
        """s, s2 [B,O]; a [B,A]; r, done [B]; candidates [B,K,A]."""
        v, v2 = self.vf(s).squeeze(-1), self.vf(s2).squeeze(-1)
        adv = self.q_target(s, a) - v
        v_loss = torch.mean(torch.abs(TAU - (adv < 0).float()) * adv ** 2)
        target = r + (1.0 - done) * GAMMA * v2
        qs = self.qf.both(s, a)
        q_loss = sum(F.mse_loss(q, target) for q in qs) / len(qs)
        weight = torch.exp(BETA * adv).clamp(max=MAX_WEIGHT)
        log_prob = self.policy(s).log_prob(a).sum(-1)
        pi_loss = -(weight * log_prob).mean()
        B, K, _ = candidates.shape
        s_rep = s.unsqueeze(1).expand(B, K, OBS).reshape(B * K, OBS)
        cql = 0.0
        for q, data in zip(self.qf.both(s_rep, candidates.reshape(B * K, ACT)), qs):
            cql = cql + (torch.logsumexp(q.view(B, K), dim=1) - data).mean()
        return {"v_loss": v_loss, "q_loss": q_loss, "pi_loss": pi_loss, "cql": cql, "adv": adv}


def make():
    torch.manual_seed(6)
    net = OfflineLearner()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if p.dim() == 2:
                p.mul_(1.8)
            if name.startswith("q_target"):
                p.add_(0.1 * torch.randn_like(p))
    return net.eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    n = lambda *s: g.normal(size=s).astype("float32")
    done = np.array([0, 0, 1, 0, 0, 1, 0], "float32")
    return n(7, OBS), np.tanh(n(7, ACT)), n(7) * 2, n(7, OBS), done, g.uniform(-1, 1, (7, 4, ACT)).astype("float32")
