"""The flow in torch; the couplings split even and odd entries instead of masking."""

import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
DIM, CONTEXT = 6, 3


class Step(nn.Module):
    def __init__(self, index, hidden=16):
        super().__init__()
        order = np.random.default_rng(index).permutation(DIM)
        self.register_buffer("order", torch.as_tensor(order.copy()))
        self.loc = nn.Parameter(torch.zeros(DIM))
        self.log_scale = nn.Parameter(torch.zeros(DIM))
        self.lower = nn.Parameter(torch.zeros(DIM, DIM))
        self.upper = nn.Parameter(torch.zeros(DIM, DIM))
        self.log_diagonal = nn.Parameter(torch.zeros(DIM))
        self.first = 1 - index % 2  # where the entries that stay begin
        self.hidden = nn.Linear(DIM // 2 + CONTEXT, hidden)
        self.shift = nn.Linear(hidden, DIM // 2)
        self.scale = nn.Linear(hidden, DIM // 2)
        self.gain = nn.Parameter(torch.ones(DIM // 2))

    def forward(self, x, context):
        x = (x - self.loc) * self.log_scale.exp()
        log_det = self.log_scale.sum()
        x = x[:, self.order]
        eye = torch.eye(DIM)
        lower = self.lower.tril(-1) + eye
        upper = self.upper.triu(1) + torch.diag(self.log_diagonal.exp())
        x = x @ (upper @ lower)
        log_det = log_det + self.log_diagonal.sum()
        kept, moved = x[:, self.first :: 2], x[:, 1 - self.first :: 2]
        h = nn.functional.silu(self.hidden(torch.cat([kept, context], dim=1)))
        log_s = torch.tanh(self.scale(h)) * self.gain
        moved = moved * torch.exp(log_s) + self.shift(h)
        pair = [kept, moved] if self.first == 0 else [moved, kept]
        return torch.stack(pair, dim=-1).flatten(1), log_det + log_s.sum(1)


class Flow(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.steps = nn.ModuleList(Step(k) for k in range(depth))

    def forward(self, x, context):
        p = 0.05 + 0.9 * x
        z = torch.logit(p)
        log_det = (math.log(0.9) - torch.log(p * (1 - p))).sum(-1)
        for step in self.steps:
            z, d = step(z, context)
            log_det = log_det + d
        prior = -0.5 * z.square().sum(-1) - 0.5 * DIM * math.log(2 * math.pi)
        nats = -prior - log_det
        return z, log_det, nats / (DIM * math.log(2))


def make():
    return Flow()


def load(net, reference):
    def t(v):
        return torch.as_tensor(np.array(v))

    with torch.no_grad():
        for step, norm, linear, coupling in zip(
            net.steps, reference.norms, reference.linears, reference.couplings
        ):
            step.loc.copy_(t(norm.loc))
            step.log_scale.copy_(t(norm.log_scale))
            step.lower.copy_(t(linear.lower))
            step.upper.copy_(t(linear.upper))
            step.log_diagonal.copy_(t(linear.log_diagonal))
            kept, moved = slice(step.first, None, 2), slice(1 - step.first, None, 2)
            kernel = t(coupling.hidden.kernel)
            step.hidden.weight.copy_(torch.cat([kernel[:DIM][kept], kernel[DIM:]]).t())
            step.hidden.bias.copy_(t(coupling.hidden.bias))
            for ours, theirs in ((step.shift, coupling.shift), (step.scale, coupling.scale)):
                ours.weight.copy_(t(theirs.kernel)[:, moved].t())
                ours.bias.copy_(t(theirs.bias)[moved])
            step.gain.copy_(t(coupling.gain)[moved])
