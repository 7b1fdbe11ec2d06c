"""A small Mamba language model (Gu and Dao 2023), with the selective scan written as a loop."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
VOCAB, D_MODEL, D_INNER, D_STATE, DT_RANK, D_CONV, DEPTH, LENGTH = 40, 16, 32, 4, 3, 4, 2, 10


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class MambaBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj = nn.Linear(D_MODEL, 2 * D_INNER, bias=False)
        self.conv1d = nn.Conv1d(D_INNER, D_INNER, D_CONV, groups=D_INNER, padding=D_CONV - 1)
        self.x_proj = nn.Linear(D_INNER, DT_RANK + 2 * D_STATE, bias=False)
        self.dt_proj = nn.Linear(DT_RANK, D_INNER)
        states = torch.arange(1, D_STATE + 1, dtype=torch.float32).repeat(D_INNER, 1)
        self.A_log = nn.Parameter(torch.log(states))
        self.D = nn.Parameter(torch.ones(D_INNER))
        self.out_proj = nn.Linear(D_INNER, D_MODEL, bias=False)

    def forward(self, x):
        length = x.shape[1]
        x, z = self.in_proj(x).chunk(2, dim=-1)
        x = self.conv1d(x.transpose(1, 2))[:, :, :length].transpose(1, 2)
        x = F.silu(x)
        y = self.ssm(x)
        return self.out_proj(y * F.silu(z))

    def ssm(self, x):
        A = -torch.exp(self.A_log)
        dt, B, C = self.x_proj(x).split([DT_RANK, D_STATE, D_STATE], dim=-1)
        dt = F.softplus(self.dt_proj(dt))
        decay = torch.exp(dt.unsqueeze(-1) * A)
        drive = dt.unsqueeze(-1) * B.unsqueeze(2) * x.unsqueeze(-1)
        h = torch.zeros(x.shape[0], D_INNER, D_STATE)
        ys = []
        for t in range(x.shape[1]):
            h = decay[:, t] * h + drive[:, t]
            ys.append((h * C[:, t].unsqueeze(1)).sum(-1))
        return torch.stack(ys, dim=1) + x * self.D


class Mamba(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, D_MODEL)
        self.layers = nn.ModuleList([MambaBlock() for _ in range(DEPTH)])
        self.norms = nn.ModuleList([RMSNorm(D_MODEL) for _ in range(DEPTH)])
        self.norm_f = RMSNorm(D_MODEL)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
        return self.norm_f(x) @ self.embedding.weight.t()


def make(seed=0):
    torch.manual_seed(seed)
    net = Mamba()
    for name, p in net.named_parameters():
        if name.endswith(("norm_f.weight", ".D")) or "norms" in name:
            nn.init.uniform_(p, 0.6, 1.4)
        elif name.endswith("A_log"):
            p.data += 0.2 * torch.randn_like(p)
        elif name.endswith("bias"):
            nn.init.normal_(p, std=0.3)
        elif name.startswith("embedding"):
            nn.init.normal_(p, std=0.4)
        elif "proj" in name:
            p.data *= 1.7
    return net.eval()


def inputs(seed):
    return (np.random.default_rng(seed).integers(0, VOCAB, size=(4, LENGTH)),)
