"""A Real NVP policy: noise goes through conditional couplings into squashed actions, with its density."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, CTX, HID, FLOWS = 7, 4, 8, 12, 4


class ActNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(ACT))
        self.log_scale = nn.Parameter(torch.zeros(ACT))

    def forward(self, x):
        return (x + self.loc) * self.log_scale.exp(), self.log_scale.sum()


class Coupling(nn.Module):
    def __init__(self, parity):
        super().__init__()
        mask = torch.arange(ACT) % 2
        self.register_buffer("mask", (mask if parity == 0 else 1 - mask).float())
        self.inp = nn.Linear(ACT + CTX, HID)
        self.hid = nn.Linear(HID, HID)
        self.scale = nn.Linear(HID, ACT)
        self.shift = nn.Linear(HID, ACT)
        self.rescale = nn.Parameter(torch.ones(ACT))

    def forward(self, x, ctx):
        kept = x * self.mask
        h = F.leaky_relu(self.inp(torch.cat([kept, ctx], dim=-1)), 0.1)
        h = F.leaky_relu(self.hid(h), 0.1)
        s = torch.tanh(self.scale(h)) * self.rescale * (1 - self.mask)
        t = self.shift(h) * (1 - self.mask)
        y = kept + (1 - self.mask) * (x * torch.exp(s) + t)
        return y, s.sum(dim=-1)


class FlowPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.ctx = nn.Sequential(nn.Linear(OBS, HID), nn.Tanh(), nn.Linear(HID, CTX))
        self.norms = nn.ModuleList(ActNorm() for _ in range(FLOWS))
        self.couplings = nn.ModuleList(Coupling(i % 2) for i in range(FLOWS))
        self.low = nn.Parameter(torch.zeros(ACT), requires_grad=False)
        self.high = nn.Parameter(torch.zeros(ACT), requires_grad=False)

    def forward(self, obs, noise):
        ctx = self.ctx(obs)
        logp = -0.5 * (noise ** 2 + math.log(2 * math.pi)).sum(-1)
        x = noise
        for norm, coupling in zip(self.norms, self.couplings):
            x, d = norm(x)
            logp = logp - d
            x, d = coupling(x, ctx)
            logp = logp - d
            x = x.flip(-1)
        u = torch.tanh(x)
        action = self.low + 0.5 * (u + 1.0) * (self.high - self.low)
        jac = torch.log(0.5 * (self.high - self.low)) + torch.log1p(-u ** 2 + 1e-6)
        logp = logp - jac.sum(dim=-1)
        return action, logp, x


def make():
    g = torch.Generator().manual_seed(9)
    m = FlowPolicy()
    with torch.no_grad():
        for n, p in m.named_parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.18 + (0.8 if n.endswith("rescale") else 0.0))
        m.low.copy_(-0.5 - torch.rand(ACT, generator=g))
        m.high.copy_(0.5 + torch.rand(ACT, generator=g))
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    return r.normal(size=(6, OBS)).astype("float32"), r.normal(size=(6, ACT)).astype("float32") * 0.6
