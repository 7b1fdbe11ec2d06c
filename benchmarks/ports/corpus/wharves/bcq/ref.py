"""Batch-Constrained deep Q-learning (Fujimoto et al. 2019): VAE, perturbation actor, twin critics."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
S, A, Z, H, N = 11, 3, 6, 32, 5
MAX_A = 1.5


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.e1 = nn.Linear(S + A, H)
        self.e2 = nn.Linear(H, H)
        self.mean = nn.Linear(H, Z)
        self.log_std = nn.Linear(H, Z)
        self.d1 = nn.Linear(S + Z, H)
        self.d2 = nn.Linear(H, H)
        self.d3 = nn.Linear(H, A)

    def forward(self, state, action, eps):
        z = F.relu(self.e1(torch.cat([state, action], 1)))
        z = F.relu(self.e2(z))
        mean = self.mean(z)
        log_std = self.log_std(z).clamp(-4, 15)
        std = torch.exp(log_std)
        return self.decode(state, mean + std * eps), mean, std

    def decode(self, state, z):
        a = F.relu(self.d1(torch.cat([state, z], 1)))
        a = F.relu(self.d2(a))
        return MAX_A * torch.tanh(self.d3(a))


class Perturb(nn.Module):
    def __init__(self, phi=0.2):
        super().__init__()
        self.l1 = nn.Linear(S + A, H)
        self.l2 = nn.Linear(H, H)
        self.l3 = nn.Linear(H, A)
        self.phi = phi

    def forward(self, state, action):
        a = F.relu(self.l1(torch.cat([state, action], 1)))
        a = F.relu(self.l2(a))
        a = self.phi * MAX_A * torch.tanh(self.l3(a))
        return (a + action).clamp(-MAX_A, MAX_A)


class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(S + A, H), nn.Linear(H, H), nn.Linear(H, 1)
        self.l4, self.l5, self.l6 = nn.Linear(S + A, H), nn.Linear(H, H), nn.Linear(H, 1)

    def forward(self, state, action):
        x = torch.cat([state, action], 1)
        q1 = self.l3(F.relu(self.l2(F.relu(self.l1(x)))))
        q2 = self.l6(F.relu(self.l5(F.relu(self.l4(x)))))
        return q1, q2


class BCQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.vae = VAE()
        self.actor = Perturb()
        self.critic = Twin()

    def forward(self, state, action, eps, noise):
        recon, mean, std = self.vae(state, action, eps)
        b, n = noise.shape[:2]
        s = torch.repeat_interleave(state, n, 0)
        z = noise.clamp(-0.5, 0.5).reshape(b * n, Z)
        cand = self.actor(s, self.vae.decode(s, z))
        q1, q2 = self.critic(s, cand)
        q = 0.75 * torch.min(q1, q2) + 0.25 * torch.max(q1, q2)
        q = q.reshape(b, n)
        best = q.argmax(1)
        chosen = cand.reshape(b, n, A)[torch.arange(b), best]
        return recon, mean, std, chosen, q.max(1)[0]


def make(seed=0):
    g = torch.Generator().manual_seed(seed)
    m = BCQ().eval()
    for p in m.parameters():
        scale = 1.2 / p.shape[1] ** 0.5 if p.dim() > 1 else 0.1
        p.data = torch.randn(p.shape, generator=g) * scale
    return m


def inputs(seed=0):
    r = np.random.RandomState(seed)
    return (r.randn(6, S).astype("f"), r.uniform(-1, 1, (6, A)).astype("f"),
            r.randn(6, Z).astype("f"), r.randn(6, N, Z).astype("f"))
