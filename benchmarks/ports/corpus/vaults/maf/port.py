"""Masked autoregressive flow in torch, after the usual normalizing-flow repositories."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


def create_masks(dim, hidden):
    inp = torch.arange(dim)
    hid = torch.arange(hidden) % (dim - 1)
    to_hidden = (hid.unsqueeze(-1) >= inp).float()
    between = (hid.unsqueeze(-1) >= hid).float()
    to_out = (inp.unsqueeze(-1) > hid).float()
    return to_hidden, between, to_out.repeat(2, 1)


class MaskedLinear(nn.Linear):
    def __init__(self, mask, context=0):
        super().__init__(mask.shape[1], mask.shape[0])
        self.register_buffer("mask", mask)
        self.cond = nn.Linear(context, mask.shape[0], bias=False) if context else None

    def forward(self, x, context=None):
        y = F.linear(x, self.weight * self.mask, self.bias)
        return y + self.cond(context) if context is not None else y


class MADE(nn.Module):
    def __init__(self, dim, context, hidden):
        super().__init__()
        first, middle, last = create_masks(dim, hidden)
        self.first = MaskedLinear(first, context)
        self.middle = MaskedLinear(middle)
        self.last = MaskedLinear(last)

    def forward(self, x, context):
        h = self.first(x, context).relu()
        h = self.middle(h).relu()
        shift, log_scale = self.last(h).chunk(2, dim=-1)
        log_scale = torch.tanh(log_scale)
        return (x - shift) * torch.exp(-log_scale), -log_scale.sum(-1)


class BatchNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.log_gamma = nn.Parameter(torch.zeros(dim))
        self.beta = nn.Parameter(torch.zeros(dim))
        self.register_buffer("running_mean", torch.zeros(dim))
        self.register_buffer("running_var", torch.ones(dim))

    def forward(self, x, context):
        var = self.running_var + self.eps
        x = (x - self.running_mean) / var.sqrt()
        log_det = self.log_gamma - 0.5 * torch.log(var)
        return self.log_gamma.exp() * x + self.beta, log_det.sum()


class MAF(nn.Module):
    def __init__(self, dim=5, context=3, hidden=16, blocks=2):
        super().__init__()
        self.made = nn.ModuleList(MADE(dim, context, hidden) for _ in range(blocks))
        self.norm = nn.ModuleList(BatchNorm(dim) for _ in range(blocks))

    def forward(self, x, context):
        log_det = x.new_zeros(x.shape[0])
        for made, norm in zip(self.made, self.norm):
            x, ld = made(x, context)
            log_det = log_det + ld
            x, ld = norm(x, context)
            log_det = log_det + ld
            x = x.flip(-1)
        log_prob = -0.5 * (x**2).sum(-1) - 0.5 * x.shape[-1] * math.log(2 * math.pi)
        return x, log_prob + log_det


def make():
    torch.manual_seed(7)
    net = MAF()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(0.4 * torch.randn_like(p))
        for norm in net.norm:
            norm.running_mean.normal_(0, 0.3)
            norm.running_var.uniform_(0.5, 1.5)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(6, 5)).astype("float32"), rng.normal(size=(6, 3)).astype("float32")


def load(ported, original):
    def put(p, v):
        p.data.copy_(torch.tensor(v))

    def linear(m, l):
        put(m.weight, l.W.array)
        put(m.bias, l.b.array)

    flows = list(original)
    for made, theirs in zip(ported.made, flows[::3]):
        linear(made.first, theirs.joiner)
        put(made.first.cond.weight, theirs.context.W.array)
        linear(made.middle, theirs.trunk)
        linear(made.last, theirs.out)
    for norm, theirs in zip(ported.norm, flows[1::3]):
        put(norm.log_gamma, theirs.log_gamma.array)
        put(norm.beta, theirs.beta.array)
        put(norm.running_mean, theirs.running_mean)
        put(norm.running_var, theirs.running_var)
