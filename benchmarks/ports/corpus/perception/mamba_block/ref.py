"""A Mamba block over observations, with the selective scan as a loop."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class MambaBlock(nn.Module):
    def __init__(self, d_model=14, d_state=6, d_conv=4, expand=2):
        super().__init__()
        self.d_inner = expand * d_model
        self.d_state = d_state
        self.dt_rank = math.ceil(d_model / 4)
        self.norm = nn.LayerNorm(d_model)
        self.in_proj = nn.Linear(d_model, 2 * self.d_inner, bias=False)
        self.conv1d = nn.Conv1d(
            self.d_inner, self.d_inner, d_conv, groups=self.d_inner, padding=d_conv - 1
        )
        self.x_proj = nn.Linear(self.d_inner, self.dt_rank + 2 * d_state, bias=False)
        self.dt_proj = nn.Linear(self.dt_rank, self.d_inner)
        A = torch.arange(1, d_state + 1).float().repeat(self.d_inner, 1)
        self.A_log = nn.Parameter(torch.log(A) + 0.1 * torch.randn_like(A))
        self.D = nn.Parameter(1.0 + 0.1 * torch.randn(self.d_inner))
        self.out_proj = nn.Linear(self.d_inner, d_model, bias=False)

    def ssm(self, x):
        A = -torch.exp(self.A_log)
        dt, B, C = self.x_proj(x).split([self.dt_rank, self.d_state, self.d_state], dim=-1)
        dt = F.softplus(self.dt_proj(dt))
        return self.selective_scan(x, dt, A, B, C)

    def selective_scan(self, u, dt, A, B, C):
        b, length, d = u.shape
        dA = torch.exp(torch.einsum("bld,dn->bldn", dt, A))
        dBu = torch.einsum("bld,bln,bld->bldn", dt, B, u)
        state = torch.zeros(b, d, self.d_state)
        ys = []
        for i in range(length):
            state = dA[:, i] * state + dBu[:, i]
            ys.append(torch.einsum("bdn,bn->bd", state, C[:, i]))
        return torch.stack(ys, dim=1) + u * self.D

    def forward(self, x):
        length = x.shape[1]
        y = self.in_proj(self.norm(x))
        y, res = y.chunk(2, dim=-1)
        y = self.conv1d(y.transpose(1, 2))[:, :, :length].transpose(1, 2)
        y = F.silu(y)
        y = self.ssm(y)
        y = y * F.silu(res)
        return x + self.out_proj(y)


class Memory(nn.Module):
    def __init__(self, obs_dim=9, d_model=14):
        super().__init__()
        self.encoder = nn.Linear(obs_dim, d_model)
        self.layers = nn.ModuleList([MambaBlock(d_model) for _ in range(2)])
        self.norm_f = nn.LayerNorm(d_model)
        self.q = nn.Linear(d_model, 5)

    def forward(self, obs):
        x = self.encoder(obs)
        for layer in self.layers:
            x = layer(x)
        return self.q(self.norm_f(x))


def make():
    torch.manual_seed(17)
    return Memory()


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(3, 10, 9)).astype("float32")
