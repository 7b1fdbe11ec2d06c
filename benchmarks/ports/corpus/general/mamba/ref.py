"""A small Mamba language-model trunk with a plain sequential selective scan."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


@dataclass
class MambaConfig:
    vocab: int = 20
    d_model: int = 16
    n_layer: int = 2
    d_state: int = 4
    expand: int = 2
    d_conv: int = 4
    dt_rank: int = 3
    dt_min: float = 0.001
    dt_max: float = 0.3
    dt_limit: tuple = (0.0, 0.25)

    @property
    def d_inner(self):
        return self.expand * self.d_model


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class MambaMixer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        inner = cfg.d_inner
        self.in_proj = nn.Linear(cfg.d_model, 2 * inner, bias=False)
        self.conv1d = nn.Conv1d(inner, inner, cfg.d_conv, groups=inner, padding=cfg.d_conv - 1)
        self.x_proj = nn.Linear(inner, cfg.dt_rank + 2 * cfg.d_state, bias=False)
        self.dt_proj = nn.Linear(cfg.dt_rank, inner)
        a = torch.arange(1, cfg.d_state + 1, dtype=torch.float32).repeat(inner, 1)
        self.A_log = nn.Parameter(torch.log(a))
        self.D = nn.Parameter(torch.ones(inner) + 0.2 * torch.randn(inner))
        self.out_proj = nn.Linear(inner, cfg.d_model, bias=False)
        self._init_dt()

    def _init_dt(self):
        low, high = math.log(self.cfg.dt_min), math.log(self.cfg.dt_max)
        dt = torch.exp(torch.rand(self.cfg.d_inner) * (high - low) + low)
        with torch.no_grad():
            self.dt_proj.bias.copy_(dt + torch.log(-torch.expm1(-dt)))
            self.dt_proj.weight.mul_(2.0)
            self.x_proj.weight.mul_(3.0)

    def forward(self, x):
        length = x.shape[1]
        x, z = self.in_proj(x).chunk(2, dim=-1)
        x = self.conv1d(x.transpose(1, 2))[..., :length].transpose(1, 2)
        x = F.silu(x)
        y = self.ssm(x)
        return self.out_proj(y * F.silu(z))

    def ssm(self, x):
        cfg = self.cfg
        dt, b, c = self.x_proj(x).split([cfg.dt_rank, cfg.d_state, cfg.d_state], dim=-1)
        delta = F.softplus(self.dt_proj(dt))
        delta = delta.clamp(*cfg.dt_limit)
        a = -torch.exp(self.A_log)
        return self.selective_scan(x, delta, a, b, c) + x * self.D

    @staticmethod
    def selective_scan(u, delta, a, b, c):
        decay = torch.exp(delta.unsqueeze(-1) * a)
        drive = delta.unsqueeze(-1) * b.unsqueeze(2) * u.unsqueeze(-1)
        state = torch.zeros_like(decay[:, 0])
        outputs = []
        for t in range(u.shape[1]):
            state = decay[:, t] * state + drive[:, t]
            outputs.append((state * c[:, t].unsqueeze(1)).sum(-1))
        return torch.stack(outputs, dim=1)


class ResidualBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.norm = RMSNorm(cfg.d_model)
        self.mixer = MambaMixer(cfg)

    def forward(self, x):
        return x + self.mixer(self.norm(x))


class Mamba(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embedding = nn.Embedding(cfg.vocab, cfg.d_model)
        self.layers = nn.ModuleList([ResidualBlock(cfg) for _ in range(cfg.n_layer)])
        self.norm_f = RMSNorm(cfg.d_model)

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm_f(x) @ self.embedding.weight.T


def make(seed=0):
    torch.manual_seed(seed)
    model = Mamba(MambaConfig()).eval()
    for module in model.modules():
        if isinstance(module, RMSNorm):
            nn.init.uniform_(module.weight, 0.7, 1.3)
    return model


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 20, size=(4, 12)).astype(np.int64),)
