"""A Mamba-style selective state-space core (Gu & Dao 2023) with episode resets, as used in memory agents."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class MambaBlock(nn.Module):
    def __init__(self, d_model, d_state=4, d_conv=4, expand=2, dt_rank=3):
        super().__init__()
        self.d_inner = expand * d_model
        self.dt_rank, self.d_state = dt_rank, d_state
        self.norm = RMSNorm(d_model)
        self.in_proj = nn.Linear(d_model, 2 * self.d_inner, bias=False)
        self.conv1d = nn.Conv1d(self.d_inner, self.d_inner, d_conv, groups=self.d_inner, padding=d_conv - 1)
        self.x_proj = nn.Linear(self.d_inner, dt_rank + 2 * d_state, bias=False)
        self.dt_proj = nn.Linear(dt_rank, self.d_inner)
        A = torch.arange(1, d_state + 1, dtype=torch.float32).repeat(self.d_inner, 1)
        self.A_log = nn.Parameter(torch.log(A))
        self.D = nn.Parameter(torch.ones(self.d_inner))
        self.out_proj = nn.Linear(self.d_inner, d_model, bias=False)

    def ssm(self, u, reset):
        A = -torch.exp(self.A_log)
        dt, B, C = self.x_proj(u).split([self.dt_rank, self.d_state, self.d_state], dim=-1)
        delta = F.softplus(self.dt_proj(dt))
        dA = torch.exp(torch.einsum("bld,dn->bldn", delta, A))
        dBu = torch.einsum("bld,bln,bld->bldn", delta, B, u)
        keep = (1.0 - reset)[:, :, None, None]
        h = torch.zeros(u.shape[0], self.d_inner, self.d_state)
        ys = []
        for t in range(u.shape[1]):
            h = dA[:, t] * (h * keep[:, t]) + dBu[:, t]
            ys.append(torch.einsum("bdn,bn->bd", h, C[:, t]))
        return torch.stack(ys, dim=1) + u * self.D, h

    def forward(self, x, reset):
        length = x.shape[1]
        u, res = self.in_proj(self.norm(x)).chunk(2, dim=-1)
        u = self.conv1d(u.transpose(1, 2))[:, :, :length].transpose(1, 2)
        u = F.silu(u)
        y, h = self.ssm(u, reset)
        y = y * F.silu(res)
        return x + self.out_proj(y), h


class MambaCore(nn.Module):
    def __init__(self, obs=6, d_model=12, depth=2, actions=4):
        super().__init__()
        self.embed = nn.Linear(obs, d_model)
        self.blocks = nn.ModuleList([MambaBlock(d_model) for _ in range(depth)])
        self.norm_f = RMSNorm(d_model)
        self.q = nn.Linear(d_model, actions)

    def forward(self, obs, reset):
        x = self.embed(obs)
        states = []
        for block in self.blocks:
            x, h = block(x, reset)
            states.append(h)
        return self.q(self.norm_f(x)), torch.stack(states)


def make():
    torch.manual_seed(83)
    model = MambaCore()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("A_log"):
                p.add_(0.2 * torch.randn_like(p))
            elif name.endswith("D") or "norm" in name:
                p.add_(0.3 * torch.randn_like(p))
            elif "conv1d.weight" in name or "x_proj" in name or "in_proj" in name:
                p.mul_(2.0)
            elif name.endswith("dt_proj.bias"):
                p.normal_(-1.0, 0.4)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(3, 8, 6)).astype(np.float32)
    reset = (rng.random((3, 8)) < 0.2).astype(np.float32)
    reset[0, 4] = 1.0
    reset[1, 7] = 1.0
    return obs, reset
