import math
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


class GatedMLP(nn.Module):
    def __init__(self, d_in, width, d_out):
        super().__init__()
        self.enc_u, self.enc_v = nn.Linear(d_in, width), nn.Linear(d_in, width)
        self.hidden = nn.ModuleList([nn.Linear(d_in, width), nn.Linear(width, width)])
        self.last = nn.Linear(width, d_out)

    def forward(self, z):
        U, V = torch.tanh(self.enc_u(z)), torch.tanh(self.enc_v(z))
        for lin in self.hidden:
            gate = torch.tanh(lin(z))
            z = gate * U + (1 - gate) * V
        return self.last(z)


class Branch(nn.Module):
    def __init__(self, sensors, width, basis):
        super().__init__()
        self.conv = nn.Conv1d(1, 3, 5, stride=2, padding=2, padding_mode="circular")
        self.mlp = GatedMLP(sensors // 2 * 3, width, basis)

    def forward(self, u):
        c = F.gelu(self.conv(u.unsqueeze(1)))
        return self.mlp(c.transpose(1, 2).flatten(1))


class Trunk(nn.Module):
    def __init__(self, harmonics, width, basis):
        super().__init__()
        self.register_buffer("k", torch.arange(1, harmonics + 1).float())
        self.mlp = GatedMLP(1 + 2 * harmonics, width, basis)

    def forward(self, t, x):
        ang = 2 * math.pi * x.unsqueeze(-1) * self.k
        z = torch.cat((t.unsqueeze(-1), ang.cos(), ang.sin()), dim=-1)
        return torch.tanh(self.mlp(z))


def interpolate(u, x):
    n = u.size(1)
    pos = x * n
    lo = pos.floor()
    w = pos - lo
    i0 = lo.long() % n
    i1 = (i0 + 1) % n
    return torch.lerp(u.gather(1, i0), u.gather(1, i1), w)


class PIDeepONet(nn.Module):
    def __init__(self, sensors=24, width=32, basis=20, harmonics=4):
        super().__init__()
        self.branch = Branch(sensors, width, basis)
        self.trunk = Trunk(harmonics, width, basis)
        self.bias = nn.Parameter(torch.zeros(1))

    def operator(self, u, t, x):
        coeff = self.branch(u)
        basis = self.trunk(t, x)
        g = (basis @ coeff.unsqueeze(-1)).squeeze(-1) / math.sqrt(coeff.size(1)) + self.bias
        return interpolate(u, x) + t * g

    def forward(self, u, speed, t, x):
        with torch.enable_grad():
            t = t.detach().requires_grad_(True)
            x = x.detach().requires_grad_(True)
            s = self.operator(u, t, x)
            s_t, s_x = torch.autograd.grad(s.sum(), (t, x))
        res = s_t + speed.unsqueeze(1) * s_x
        return s, res, res.pow(2).mean(1)


def make():
    torch.manual_seed(61)
    net = PIDeepONet().eval()
    nn.init.constant_(net.bias, 0.1)
    return net


@torch.no_grad()
def load(ported, original):
    p = original.params

    def lin(layer, wb):
        layer.weight.copy_(torch.tensor(wb[0].numpy().T))
        layer.bias.copy_(torch.tensor(wb[1].numpy()))

    for mlp, src in ((ported.branch.mlp, p["branch"]), (ported.trunk.mlp, p["trunk"])):
        lin(mlp.enc_u, src["U"])
        lin(mlp.enc_v, src["V"])
        for layer, wb in zip([*mlp.hidden, mlp.last], src["layers"]):
            lin(layer, wb)
    ported.branch.conv.weight.copy_(torch.tensor(p["conv"].numpy().transpose(2, 1, 0)))
    ported.branch.conv.bias.copy_(torch.tensor(p["conv_b"].numpy()))
    ported.bias.copy_(torch.tensor(p["bias"].numpy()))


def inputs(seed=0):
    g = np.random.default_rng(seed)
    grid = np.arange(24) / 24
    u = sum(g.normal(0, 1 / k, (5, 1)) * np.sin(2 * np.pi * (k * grid + g.uniform(size=(5, 1)))) for k in (1, 2, 3))
    t, x = g.uniform(0.05, 1, (5, 30)), g.uniform(0, 1, (5, 30))
    return tuple(a.astype("float32") for a in (u, g.uniform(0.3, 1, 5), t, x))
