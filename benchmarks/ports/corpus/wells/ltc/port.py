"""Liquid time-constant policy in PyTorch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
UNITS, SENSORY, MOTOR, ODE_STEPS = 10, 6, 3, 3


def ncp_masks(seed=5):
    r = np.random.default_rng(seed)
    a = (r.random((SENSORY, UNITS)) < 0.6).astype("float32")
    b = (r.random((UNITS, UNITS)) < 0.5).astype("float32")
    return torch.tensor(a), torch.tensor(b)


class Synapses(nn.Module):
    """pre -> post conductances; gives the current and the conductance into every post neuron"""

    def __init__(self, pre, post, mask):
        super().__init__()
        self.w = nn.Parameter(torch.rand(pre, post) * 0.9 + 0.1)
        self.mu = nn.Parameter(torch.rand(pre, post) * 0.5 + 0.3)
        self.sigma = nn.Parameter(torch.rand(pre, post) * 5 + 3)
        self.erev = nn.Parameter(torch.rand(pre, post) * 2 - 1)
        self.register_buffer("mask", mask)

    def forward(self, v):
        gate = torch.sigmoid((v.unsqueeze(2) - self.mu) * self.sigma)
        g = F.softplus(self.w) * self.mask * gate
        current = (g * self.erev).sum(dim=1)
        return current, g.sum(dim=1)


class LTC(nn.Module):
    def __init__(self):
        super().__init__()
        sens, rec = ncp_masks()
        self.sensory = Synapses(SENSORY, UNITS, sens)
        self.recurrent = Synapses(UNITS, UNITS, rec)
        self.gleak = nn.Parameter(torch.rand(UNITS))
        self.vleak = nn.Parameter(torch.rand(UNITS) - 0.5)
        self.cm = nn.Parameter(torch.rand(UNITS) * 0.2 + 0.4)
        self.in_w, self.in_b = nn.Parameter(torch.rand(SENSORY) + 0.5), nn.Parameter(torch.rand(SENSORY) * 0.3)
        self.out_w, self.out_b = nn.Parameter(torch.rand(MOTOR) + 0.5), nn.Parameter(torch.rand(MOTOR) * 0.3)

    def forward(self, x, v, dt):
        i_s, g_s = self.sensory(torch.addcmul(self.in_b, x, self.in_w))
        c = F.softplus(self.cm) * ODE_STEPS / dt
        leak = F.softplus(self.gleak)
        for _ in range(ODE_STEPS):
            i_r, g_r = self.recurrent(v)
            total = c + leak + g_r + g_s
            v = (c * v + leak * self.vleak + i_r + i_s) / (total + 1e-8)
        y = v[:, :MOTOR] * self.out_w + self.out_b
        return y, v


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.perception = nn.Sequential(nn.Linear(5, 8), nn.ELU(), nn.Linear(8, SENSORY))
        self.cell = LTC()

    def forward(self, obs, timespans):
        z = self.perception(obs)
        v = obs.new_zeros(obs.size(0), UNITS)
        ys = []
        for zt, dt in zip(z.unbind(1), timespans.unbind(1)):
            y, v = self.cell(zt, v, dt)
            ys.append(y)
        return torch.stack(ys, 1), v


def make():
    torch.manual_seed(42)
    return Policy().eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    return r.normal(size=(4, 4, 5)).astype("float32"), r.uniform(0.3, 1.5, (4, 4, 1)).astype("float32")


@torch.no_grad()
def load(ported, original):
    c = lambda t, v: t.copy_(torch.tensor(v.numpy()))
    p = ported.perception
    p[0].weight.copy_(torch.tensor(original.k1.numpy().T)), c(p[0].bias, original.b1)
    p[2].weight.copy_(torch.tensor(original.k2.numpy().T)), c(p[2].bias, original.b2)
    a, b = ported.cell, original.cell
    for n in ("gleak", "vleak", "cm", "in_w", "in_b", "out_w", "out_b"):
        c(getattr(a, n), getattr(b, n))
    for n in ("w", "mu", "sigma", "erev"):
        c(getattr(a.recurrent, n), getattr(b, n))
        c(getattr(a.sensory, n), getattr(b, "s_" + n))
