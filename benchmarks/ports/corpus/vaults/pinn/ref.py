"""A physics-informed network for Burgers' equation: Fourier features, the modified MLP of Wang et al.
(2021) with random weight factorisation, hard initial and boundary conditions; derivatives are carried
forward through the layers. torch."""
import math
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class Jet(NamedTuple):
    """A value with its derivatives by x and t, and the second one by x."""

    u: torch.Tensor
    x: torch.Tensor
    t: torch.Tensor
    xx: torch.Tensor


def jet_mul(a, b):
    return Jet(
        a.u * b.u,
        a.x * b.u + a.u * b.x,
        a.t * b.u + a.u * b.t,
        a.xx * b.u + 2 * a.x * b.x + a.u * b.xx,
    )


def jet_add(a, b):
    return Jet(*(i + j for i, j in zip(a, b)))


def jet_tanh(a):
    y = torch.tanh(a.u)
    d = 1 - y**2
    return Jet(y, d * a.x, d * a.t, d * a.xx - 2 * y * d * a.x**2)


class FactorizedLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.v = nn.Parameter(torch.empty(n_out, n_in))
        self.s = nn.Parameter(torch.empty(n_out))
        self.bias = nn.Parameter(torch.empty(n_out))

    def forward(self, a):
        w = torch.exp(self.s)[:, None] * self.v
        u, x, t, xx = (i @ w.T for i in a)
        return Jet(u + self.bias, x, t, xx)


class FourierFeatures(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.register_buffer("frequencies", torch.empty(2, number))

    def forward(self, a):
        angle, x, t, xx = (2 * math.pi * (i @ self.frequencies) for i in a)
        c, s = torch.cos(angle), torch.sin(angle)
        return Jet(
            torch.cat([c, s], -1),
            torch.cat([-s * x, c * x], -1),
            torch.cat([-s * t, c * t], -1),
            torch.cat([-c * x**2 - s * xx, -s * x**2 + c * xx], -1),
        )


class ModifiedMLP(nn.Module):
    def __init__(self, number=6, units=8, layers=2):
        super().__init__()
        self.features = FourierFeatures(number)
        self.encoder_u = FactorizedLinear(2 * number, units)
        self.encoder_v = FactorizedLinear(2 * number, units)
        self.layers = nn.ModuleList(
            FactorizedLinear(2 * number if i == 0 else units, units) for i in range(layers)
        )
        self.last = FactorizedLinear(units, 1)

    def forward(self, a):
        h = self.features(a)
        u, v = jet_tanh(self.encoder_u(h)), jet_tanh(self.encoder_v(h))
        for layer in self.layers:
            z = jet_tanh(layer(h))
            rest = Jet(1 - z.u, -z.x, -z.t, -z.xx)
            h = jet_add(jet_mul(z, u), jet_mul(rest, v))
        return self.last(h)


class Burgers(nn.Module):
    nu = 0.1 / math.pi

    def __init__(self):
        super().__init__()
        self.net = ModifiedMLP()
        self.register_buffer("mean", torch.empty(2))
        self.register_buffer("std", torch.empty(2))

    def forward(self, points):
        """Points (batch, n, 2) of x and t."""
        at = (points - self.mean) / self.std
        by_x = torch.zeros_like(at)
        by_x[..., 0] = 1 / self.std[0]
        by_t = torch.zeros_like(at)
        by_t[..., 1] = 1 / self.std[1]
        raw = self.net(Jet(at, by_x, by_t, torch.zeros_like(at)))

        x, t = points[..., :1], points[..., 1:]
        zero = torch.zeros_like(x)
        factor = Jet(t * (1 - x**2), -2 * t * x, 1 - x**2, -2 * t)
        sine = torch.sin(math.pi * x)
        initial = Jet(-sine, -math.pi * torch.cos(math.pi * x), zero, math.pi**2 * sine)
        u = jet_add(initial, jet_mul(factor, raw))
        residual = u.t + u.u * u.x - self.nu * u.xx
        return u.u, residual


def make():
    net = Burgers()
    rng = np.random.default_rng(101)
    with torch.no_grad():
        for name, p in net.named_parameters():
            std = 1.0 / np.sqrt(p.shape[1]) if p.ndim > 1 else 0.3
            p.copy_(torch.tensor(rng.normal(0, std, p.shape), dtype=torch.float32))
        net.net.features.frequencies.copy_(torch.tensor(rng.normal(0, 0.4, (2, 6))))
        net.mean.copy_(torch.tensor([0.1, 0.45]))
        net.std.copy_(torch.tensor([0.6, 0.3]))
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    points = np.stack([rng.uniform(-1, 1, (4, 7)), rng.uniform(0, 1, (4, 7))], -1)
    return (points.astype("float32"),)
