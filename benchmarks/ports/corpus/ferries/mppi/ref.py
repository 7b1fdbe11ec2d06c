"""MPPI over a learned probabilistic ensemble with a disagreement penalty, torch."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
S, A, E, HID, H, K = 5, 2, 4, 16, 4, 6
GAMMA, TEMP, BETA, LAMBDA, SIGMA = 0.95, 0.5, 0.7, 0.8, 0.6


class EnsembleLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(E, n_in, n_out) / math.sqrt(n_in))
        self.bias = nn.Parameter(0.2 * torch.randn(E, 1, n_out))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mu", 0.3 * torch.randn(1, S + A))
        self.register_buffer("std", 0.5 + torch.rand(1, S + A))
        self.fc1 = EnsembleLinear(S + A, HID)
        self.fc2 = EnsembleLinear(HID, HID)
        self.out = EnsembleLinear(HID, 2 * (S + 1))
        self.max_logvar = nn.Parameter(0.5 + 0.1 * torch.randn(1, S + 1))
        self.min_logvar = nn.Parameter(-2.0 + 0.1 * torch.randn(1, S + 1))

    def forward(self, s, a):
        x = (torch.cat([s, a], -1) - self.mu) / self.std
        x = x.unsqueeze(0).expand(E, -1, -1)
        x = F.silu(self.fc1(x))
        x = F.silu(self.fc2(x))
        mean, logvar = self.out(x).chunk(2, dim=-1)
        logvar = self.max_logvar - F.softplus(self.max_logvar - logvar)
        logvar = self.min_logvar + F.softplus(logvar - self.min_logvar)
        return mean, logvar

    def step(self, s, a):
        mean, logvar = self(s, a)
        delta, reward = mean[..., :S], mean[..., S]
        next_s = s + 0.3 * delta.mean(0)
        disagreement = delta.std(dim=0).norm(dim=-1)
        aleatoric = logvar.mul(0.5).exp().mean(dim=(0, 2))
        return next_s, reward.mean(0) - LAMBDA * disagreement - 0.1 * aleatoric


class MPPI(nn.Module):
    def __init__(self):
        super().__init__()
        self.dynamics = Dynamics()
        self.prior = nn.Sequential(nn.Linear(S, HID), nn.ELU(), nn.Linear(HID, H * A))
        self.value = nn.Sequential(nn.Linear(S, HID), nn.ELU(), nn.Linear(HID, 1))

    def colour(self, noise):
        out, prev = [], torch.zeros_like(noise[:, :, 0])
        for t in range(H):
            prev = BETA * noise[:, :, t] + (1 - BETA) * prev
            out.append(prev)
        return torch.stack(out, dim=2)

    def rollout(self, state, actions):
        B = state.shape[0]
        s = state.repeat_interleave(K, dim=0)
        ret, discount = torch.zeros(B * K), 1.0
        for t in range(H):
            s, r = self.dynamics.step(s, actions[:, :, t].reshape(B * K, A))
            ret = ret + discount * r
            discount *= GAMMA
        ret = ret + discount * self.value(s).squeeze(-1)
        return ret.view(B, K)

    def forward(self, state, noise):
        plan = torch.tanh(self.prior(state)).view(-1, H, A)
        actions = (plan.unsqueeze(1) + SIGMA * self.colour(noise)).clamp(-1, 1)
        score = self.rollout(state, actions)
        w = torch.exp((score - score.max(dim=1, keepdim=True)[0]) / TEMP)
        w = w / (w.sum(dim=1, keepdim=True) + 1e-9)
        plan = (w[:, :, None, None] * actions).sum(dim=1)
        return plan, score, w


def make():
    torch.manual_seed(15)
    model = MPPI()
    with torch.no_grad():
        for m in model.modules():
            if isinstance(m, nn.Linear):
                m.weight.normal_(0, 1 / math.sqrt(m.in_features))
                m.bias.normal_(0, 0.3)
    return model.eval()


def inputs(seed):
    rng = np.random.RandomState(seed)
    return rng.randn(4, S).astype(np.float32), rng.randn(4, K, H, A).astype(np.float32)
