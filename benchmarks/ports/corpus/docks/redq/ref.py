"""REDQ / DroQ: an ensemble of layer-normed critics as batched matrices, and its subset target."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, HID, N = 7, 3, 12, 5
SUBSET = [1, 4]


class EnsembleLinear(nn.Module):
    def __init__(self, n_in, n_out, n):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n, n_in, n_out))
        self.bias = nn.Parameter(torch.zeros(n, 1, n_out))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class EnsembleLayerNorm(nn.Module):
    def __init__(self, dim, n, eps=1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(n, 1, dim))
        self.shift = nn.Parameter(torch.zeros(n, 1, dim))
        self.eps = eps

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], eps=self.eps) * self.gain + self.shift


class Critics(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = EnsembleLinear(OBS + ACT, HID, N)
        self.n1 = EnsembleLayerNorm(HID, N)
        self.l2 = EnsembleLinear(HID, HID, N)
        self.n2 = EnsembleLayerNorm(HID, N)
        self.l3 = EnsembleLinear(HID, 1, N)

    def forward(self, obs, act):
        x = torch.cat([obs, act], -1).unsqueeze(0).expand(N, -1, -1)
        x = F.relu(self.n1(self.l1(x)))
        x = F.relu(self.n2(self.l2(x)))
        return self.l3(x).squeeze(-1)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(OBS, HID), nn.SiLU(), nn.Linear(HID, HID), nn.SiLU())
        self.mu = nn.Linear(HID, ACT)
        self.log_std = nn.Linear(HID, ACT)

    def forward(self, obs, eps):
        h = self.body(obs)
        mu, log_std = self.mu(h), self.log_std(h).clamp(-1.0, 0.5)
        u = mu + log_std.exp() * eps
        logp = torch.distributions.Normal(mu, log_std.exp()).log_prob(u)
        correction = 2 * (np.log(2) - u - F.softplus(-2 * u))
        return torch.tanh(u), (logp - correction).sum(-1)


class REDQ(nn.Module):
    def __init__(self, gamma=0.97):
        super().__init__()
        self.actor = Actor()
        self.critics = Critics()
        self.targets = Critics()
        self.log_alpha = nn.Parameter(torch.zeros(()))
        self.gamma = gamma

    def forward(self, obs, act, next_obs, eps):
        next_act, logp = self.actor(next_obs, eps)
        q_next = self.targets(next_obs, next_act)[SUBSET].min(dim=0).values
        backup = self.gamma * (q_next - self.log_alpha.exp() * logp)
        q = self.critics(obs, act)
        pi, logp_pi = self.actor(obs, eps)
        q_pi = self.critics(obs, pi).mean(dim=0)
        actor_objective = q_pi - self.log_alpha.exp() * logp_pi
        td = q - backup.unsqueeze(0)
        return td, actor_objective, q.std(dim=0)


def make():
    g = torch.Generator().manual_seed(2)
    m = REDQ()
    with torch.no_grad():
        for n, p in m.named_parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.4 + (1.0 if n.endswith("gain") else 0.0))
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    return f(6, OBS), np.tanh(f(6, ACT)), f(6, OBS), f(6, ACT)
