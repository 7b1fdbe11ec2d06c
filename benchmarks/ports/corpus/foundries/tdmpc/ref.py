"""TD-MPC2's latent world model, scoring a batch of open-loop plans."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
OBS, ACT, HORIZON, LATENT, MLP, BINS, NUM_Q = 18, 3, 3, 32, 40, 21, 5
VMIN, VMAX, DISCOUNT, GROUP = -4.0, 4.0, 0.95, 8
LOG_STD_MIN, LOG_STD_MAX = -5.0, 1.0


class SimNorm(nn.Module):
    def forward(self, x):
        shape = x.shape
        x = x.view(*shape[:-1], -1, GROUP)
        return F.softmax(x, dim=-1).view(*shape)


class NormedLinear(nn.Linear):
    def __init__(self, n_in, n_out, act=None):
        super().__init__(n_in, n_out)
        self.ln = nn.LayerNorm(n_out)
        self.act = act if act is not None else nn.Mish()

    def forward(self, x):
        return self.act(self.ln(super().forward(x)))


def mlp(n_in, n_out, act=None):
    last = NormedLinear(MLP, n_out, act) if act is not None else nn.Linear(MLP, n_out)
    return nn.Sequential(NormedLinear(n_in, MLP), NormedLinear(MLP, MLP), last)


def symexp(x):
    return torch.sign(x) * (torch.exp(torch.abs(x)) - 1)


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(NormedLinear(OBS, MLP), NormedLinear(MLP, LATENT, SimNorm()))
        self.dynamics = mlp(LATENT + ACT, LATENT, SimNorm())
        self.reward = mlp(LATENT + ACT, BINS)
        self.pi_net = mlp(LATENT, 2 * ACT)
        self.qs = nn.ModuleList(mlp(LATENT + ACT, BINS) for _ in range(NUM_Q))
        self.register_buffer("dreg_bins", torch.linspace(VMIN, VMAX, BINS))

    def two_hot_inv(self, logits):
        probs = F.softmax(logits, dim=-1)
        return symexp((probs * self.dreg_bins).sum(-1, keepdim=True))

    def pi(self, z, eps):
        mu, log_std = self.pi_net(z).chunk(2, dim=-1)
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (torch.tanh(log_std) + 1)
        residual = -0.5 * eps.pow(2) - log_std
        log_pi = (residual - 0.5 * math.log(2 * math.pi)).sum(-1, keepdim=True)
        action = torch.tanh(mu + eps * log_std.exp())
        log_pi = log_pi - torch.log(F.relu(1 - action.pow(2)) + 1e-6).sum(-1, keepdim=True)
        return action, log_pi

    def q(self, z, a, pair):
        za = torch.cat([z, a], dim=-1)
        out = torch.stack([net(za) for net in self.qs])
        first, second = self.two_hot_inv(out[pair[0]]), self.two_hot_inv(out[pair[1]])
        return torch.minimum(first, second)

    def forward(self, obs, plan, eps):
        z = self.encoder(obs)
        total, discount = 0.0, 1.0
        for t in range(HORIZON):
            za = torch.cat([z, plan[:, t]], dim=-1)
            total = total + discount * self.two_hot_inv(self.reward(za))
            z = self.dynamics(za)
            discount = discount * DISCOUNT
        action, log_pi = self.pi(z, eps)
        value = total + discount * self.q(z, action, (1, 3))
        return {"value": value, "latent": z, "action": action, "log_pi": log_pi}


def make(seed=3):
    gen = torch.Generator().manual_seed(seed)
    net = WorldModel()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if name.endswith("ln.weight"):
                p.copy_(1 + 0.2 * torch.randn(p.shape, generator=gen))
            elif p.ndim == 1:
                p.copy_(0.15 * torch.randn(p.shape, generator=gen))
            else:
                p.copy_(1.4 * torch.randn(p.shape, generator=gen) / p.shape[1] ** 0.5)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(5, OBS)) * 1.5
    plan = rng.uniform(-1, 1, size=(5, HORIZON, ACT))
    eps = rng.normal(size=(5, ACT))
    return tuple(a.astype("float32") for a in (obs, plan, eps))
