"""RealNVP density model on vectors: actnorm, fixed permutation and affine coupling per step."""

import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"

DIM = 6
HIDDEN = 24
STEPS = 4


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(dim) * 0.3)
        self.log_scale = nn.Parameter(torch.randn(dim) * 0.2)

    def forward(self, x):
        y = (x + self.bias) * torch.exp(self.log_scale)
        return y, self.log_scale.sum().expand(x.shape[0])


class Permutation(nn.Module):
    def __init__(self, dim, generator):
        super().__init__()
        self.register_buffer("perm", torch.randperm(dim, generator=generator))

    def forward(self, x):
        return x[:, self.perm], x.new_zeros(x.shape[0])


class ConditionerNet(nn.Module):
    """MLP that sees the kept half, and the context, and gives shift and log scale."""

    def __init__(self, kept, changed, context):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(kept + context, HIDDEN),
            nn.LeakyReLU(0.01),
            nn.Linear(HIDDEN, HIDDEN),
            nn.LeakyReLU(0.01),
            nn.Linear(HIDDEN, 2 * changed),
        )
        self.rescale = nn.Parameter(torch.ones(changed) * 0.8)

    def forward(self, kept, context):
        shift, raw = self.net(torch.cat([kept, context], dim=1)).chunk(2, dim=1)
        return shift, self.rescale * torch.tanh(raw)


class AffineCoupling(nn.Module):
    def __init__(self, dim, context, swap):
        super().__init__()
        self.swap = swap
        half = dim // 2
        self.conditioner = ConditionerNet(half, dim - half, context)

    def forward(self, x, context):
        a, b = x.chunk(2, dim=1)
        if self.swap:
            a, b = b, a
        shift, log_s = self.conditioner(a, context)
        b = b * torch.exp(log_s) + shift
        y = torch.cat([b, a] if self.swap else [a, b], dim=1)
        return y, log_s.sum(dim=1)


class RealNVP(nn.Module):
    def __init__(self, dim=DIM, context=3, steps=STEPS, seed=0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.norms = nn.ModuleList([ActNorm(dim) for _ in range(steps)])
        self.perms = nn.ModuleList([Permutation(dim, generator) for _ in range(steps)])
        self.couplings = nn.ModuleList(
            [AffineCoupling(dim, context, swap=bool(i % 2)) for i in range(steps)]
        )

    def to_latent(self, x, context):
        log_det = x.new_zeros(x.shape[0])
        for norm, perm, coupling in zip(self.norms, self.perms, self.couplings):
            x, change = norm(x)
            log_det = log_det + change
            x, change = perm(x)
            log_det = log_det + change
            x, change = coupling(x, context)
            log_det = log_det + change
        return x, log_det

    @staticmethod
    def log_prior(z):
        return (-0.5 * z.pow(2) - 0.5 * math.log(2 * math.pi)).sum(dim=1)

    def forward(self, x, context):
        z, log_det = self.to_latent(x, context)
        return z, self.log_prior(z) + log_det


def make(seed=0):
    torch.manual_seed(seed)
    return RealNVP(seed=seed).eval()


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed + 11)
    return (
        rng.normal(size=(8, DIM)).astype(np.float32),
        rng.normal(size=(8, 3)).astype(np.float32),
    )
