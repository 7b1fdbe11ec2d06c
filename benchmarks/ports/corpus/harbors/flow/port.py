"""The conditional Glow as torch modules, each of which returns (x, log|det|)."""

import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
DIM, CONTEXT, HIDDEN, STEPS = 6, 5, 32, 4


class ActNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.loc, self.log_scale = nn.Parameter(torch.zeros(DIM)), nn.Parameter(torch.zeros(DIM))

    def forward(self, x):
        return (x + self.loc) * self.log_scale.exp(), self.log_scale.sum()


class InvertibleLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.lower, self.upper = nn.Parameter(torch.zeros(DIM, DIM)), nn.Parameter(torch.zeros(DIM, DIM))
        self.log_diag = nn.Parameter(torch.zeros(DIM))
        self.register_buffer("sign", torch.ones(DIM))
        self.register_buffer("perm", torch.arange(DIM))

    def forward(self, x):
        lower = torch.tril(self.lower, -1) + torch.eye(DIM)
        upper = torch.triu(self.upper, 1) + torch.diag(self.sign * self.log_diag.exp())
        x = x.index_select(-1, self.perm)
        return nn.functional.linear(x, lower @ upper), self.log_diag.sum()


class Coupling(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM // 2 + CONTEXT, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, DIM))

    def forward(self, x, context):
        a, b = x.chunk(2, dim=-1)
        s, t = self.net(torch.cat([a, context], dim=-1)).chunk(2, dim=-1)
        s = torch.tanh(s)
        y = torch.cat([b * s.exp() + t, a], dim=-1)
        return y, s.sum(-1)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(ActNorm() for _ in range(STEPS))
        self.mixes = nn.ModuleList(InvertibleLinear() for _ in range(STEPS))
        self.couplings = nn.ModuleList(Coupling() for _ in range(STEPS))

    def forward(self, x, context):
        logdet = x.new_zeros(len(x))
        for norm, mix, coupling in zip(self.norms, self.mixes, self.couplings):
            x, d = norm(x)
            logdet = logdet + d
            x, d = mix(x)
            logdet = logdet + d
            x, d = coupling(x, context)
            logdet = logdet + d
        log_prior = -0.5 * x.pow(2).sum(-1) - 0.5 * DIM * math.log(2 * math.pi)
        return x, log_prior + logdet


@torch.no_grad()
def make(seed=0):
    net, g = Flow(), torch.Generator().manual_seed(seed)
    for p in net.parameters():
        p.copy_(torch.randn(p.shape, generator=g) * 0.3)
    for mix in net.mixes:
        mix.perm.copy_(torch.randperm(DIM, generator=g))
        mix.sign.copy_(torch.randn(DIM, generator=g).sign())
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=(6, n)).astype("float32") for n in (DIM, CONTEXT))


@torch.no_grad()
def load(ported, original):
    def put(to, value):
        to.copy_(torch.as_tensor(value))

    for step, norm, mix, coupling in zip(original.steps, ported.norms, ported.mixes, ported.couplings):
        put(norm.loc, step.loc), put(norm.log_scale, step.log_scale)
        for name in ("lower", "upper", "log_diag", "sign", "perm"):
            put(getattr(mix, name), getattr(step, name))
        put(coupling.net[0].weight, step.w1), put(coupling.net[0].bias, step.b1)
        put(coupling.net[2].weight, step.w2), put(coupling.net[2].bias, step.b2)
