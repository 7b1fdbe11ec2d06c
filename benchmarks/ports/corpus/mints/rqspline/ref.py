"""Neural spline flow (Durkan et al. 2019): rational-quadratic coupling with linear tails."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
MIN_BIN, MIN_DERIV = 1e-3, 1e-3


def searchsorted(locations, inputs):
    return (torch.sum(inputs[..., None] >= locations, dim=-1) - 1).clamp(0, locations.shape[-1] - 2)


def knots(unnormalized, left, right, num_bins):
    sizes = F.softmax(unnormalized, dim=-1)
    sizes = MIN_BIN + (1 - MIN_BIN * num_bins) * sizes
    cum = torch.cumsum(sizes, dim=-1)
    cum = F.pad(cum, pad=(1, 0), mode="constant", value=0.0)
    cum = (right - left) * cum + left
    return cum, cum[..., 1:] - cum[..., :-1]


def rq_spline(inputs, w, h, d, tail=3.0):
    num_bins = w.shape[-1]
    inside = (inputs >= -tail) & (inputs <= tail)
    constant = math.log(math.exp(1 - MIN_DERIV) - 1)
    d = F.pad(d, pad=(1, 1), value=constant)
    cumwidths, widths = knots(w, -tail, tail, num_bins)
    cumheights, heights = knots(h, -tail, tail, num_bins)
    derivatives = MIN_DERIV + F.softplus(d)
    idx = searchsorted(cumwidths, inputs)[..., None]

    def pick(t):
        return t.gather(-1, idx)[..., 0]

    delta = heights / widths
    in_cw, in_w, in_ch, in_h = pick(cumwidths), pick(widths), pick(cumheights), pick(heights)
    in_delta, in_d, in_d1 = pick(delta), pick(derivatives), pick(derivatives[..., 1:])
    x = torch.clamp(inputs, -tail, tail)
    theta = (x - in_cw) / in_w
    theta_1m = theta * (1 - theta)
    numerator = in_h * (in_delta * theta.pow(2) + in_d * theta_1m)
    denominator = in_delta + (in_d + in_d1 - 2 * in_delta) * theta_1m
    outputs = in_ch + numerator / denominator
    dnum = in_delta.pow(2) * (in_d1 * theta.pow(2) + 2 * in_delta * theta_1m + in_d * (1 - theta).pow(2))
    logabsdet = torch.log(dnum) - 2 * torch.log(denominator)
    outputs = torch.where(inside, outputs, inputs)
    logabsdet = torch.where(inside, logabsdet, torch.zeros_like(logabsdet))
    return outputs, logabsdet


class ResidualNet(nn.Module):
    def __init__(self, fin, fout, hidden):
        super().__init__()
        self.initial = nn.Linear(fin, hidden)
        self.block = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(2)])
        self.final = nn.Linear(hidden, fout)

    def forward(self, x):
        h = self.initial(x)
        r = self.block[0](F.relu(h))
        r = self.block[1](F.relu(r))
        return self.final(h + r)


class Coupling(nn.Module):
    def __init__(self, dim, bins, hidden):
        super().__init__()
        self.half, self.bins, self.hidden = dim // 2, bins, hidden
        self.net = ResidualNet(self.half, (dim - self.half) * (3 * bins - 1), hidden)

    def forward(self, x):
        identity, transform = x[:, : self.half], x[:, self.half :]
        params = self.net(identity).view(x.shape[0], -1, 3 * self.bins - 1)
        w = params[..., : self.bins] / math.sqrt(self.hidden)
        h = params[..., self.bins : 2 * self.bins] / math.sqrt(self.hidden)
        d = params[..., 2 * self.bins :]
        y, logdet = rq_spline(transform, w, h, d)
        return torch.cat([identity, y], dim=1), logdet.sum(-1)


class Flow(nn.Module):
    def __init__(self, dim=6, bins=5, hidden=12, layers=2):
        super().__init__()
        self.couplings = nn.ModuleList([Coupling(dim, bins, hidden) for _ in range(layers)])

    def forward(self, x):
        total = torch.zeros(x.shape[0])
        for coupling in self.couplings:
            x, logdet = coupling(x)
            total = total + logdet
            x = torch.flip(x, dims=[1])
        log_z = -0.5 * (x**2 + math.log(2 * math.pi)).sum(-1)
        return x, log_z + total


def make():
    net = Flow()
    g = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.5)
    return net.eval()


def inputs(seed):
    return (np.random.default_rng(seed).normal(size=(8, 6)).astype("float32") * 1.5,)
