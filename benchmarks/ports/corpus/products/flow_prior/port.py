"""PyTorch port of the flow prior; split formulation (even / odd coordinates) instead of masks."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

FRAMEWORK = "torch"
OBS, ACT, HID, LAYERS = 8, 6, 24, 4
_PERM = [torch.as_tensor(np.random.RandomState(s).permutation(ACT)) for s in (4, 9)]


class Step(nn.Module):
    """actnorm -> affine coupling -> fixed permutation"""

    def __init__(self, idx):
        super().__init__()
        self.loc = nn.Parameter(0.1 * torch.randn(ACT))
        self.log_scale = nn.Parameter(0.1 * torch.randn(ACT))
        self.trunk = nn.Linear(ACT // 2 + OBS, HID)
        self.head = nn.Linear(HID, ACT)
        self.keep_start = 1 - idx % 2       # coordinates that pass through
        self.move_start = idx % 2
        perm = _PERM[idx % 2]
        self.register_buffer("perm", perm)
        self.register_buffer("unperm", torch.argsort(perm))

    def scale_shift(self, kept, obs):
        s, t = self.head(torch.tanh(self.trunk(torch.cat((kept, obs), dim=-1)))).chunk(2, dim=-1)
        return 0.8 * torch.tanh(s), t

    def merge(self, kept, moved):
        pair = (moved, kept) if self.keep_start == 1 else (kept, moved)
        return torch.stack(pair, dim=-1).flatten(-2)

    def encode(self, x, obs):
        x = (x + self.loc) * self.log_scale.exp()
        kept, moved = x[..., self.keep_start::2], x[..., self.move_start::2]
        s, t = self.scale_shift(kept, obs)
        x = self.merge(kept, moved * s.exp() + t)
        return x[..., self.perm], s.sum(-1) + self.log_scale.sum()

    def decode(self, y, obs):
        y = y[..., self.unperm]
        kept, moved = y[..., self.keep_start::2], y[..., self.move_start::2]
        s, t = self.scale_shift(kept, obs)
        y = self.merge(kept, (moved - t) * torch.exp(-s))
        y = y / self.log_scale.exp() - self.loc
        return y, -(s.sum(-1) + self.log_scale.sum())


def squash_logdet(u):
    return 2 * (math.log(2) - u - F.softplus(-2 * u)).sum(-1)


class FlowPrior(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList(Step(i) for i in range(LAYERS))

    def log_base(self, x):
        return Normal(0.0, 1.0).log_prob(x).sum(-1)

    def forward(self, obs, action, z):
        u = torch.atanh(action.clamp(-0.999, 0.999))
        x, total = u, 0.0
        for step in self.steps:
            x, ld = step.encode(x, obs)
            total = total + ld
        log_prob = self.log_base(x) + total - squash_logdet(u)
        y, back = z, 0.0
        for step in reversed(self.steps):
            y, ld = step.decode(y, obs)
            back = back + ld
        sample_log_prob = self.log_base(z) - back - squash_logdet(y)
        return {"latent": x, "log_prob": log_prob, "sample": torch.tanh(y), "sample_log_prob": sample_log_prob}


def make():
    torch.manual_seed(99)
    return FlowPrior().eval()


@torch.no_grad()
def load(model, reference):
    for i, step in enumerate(model.steps):
        norm, cpl = reference.norms[i], reference.couplings[i]
        step.loc.copy_(torch.tensor(norm.shift.numpy()))
        step.log_scale.copy_(torch.tensor(norm.logs.numpy()))
        k, b = cpl.hidden.get_weights()
        rows = list(range(step.keep_start, ACT, 2)) + list(range(ACT, ACT + OBS))
        step.trunk.weight.copy_(torch.tensor(k[rows].T))
        step.trunk.bias.copy_(torch.tensor(b))
        (sk, sb), (tk, tb) = cpl.s.get_weights(), cpl.t.get_weights()
        m = slice(step.move_start, None, 2)
        step.head.weight.copy_(torch.tensor(np.concatenate([sk[:, m], tk[:, m]], 1).T))
        step.head.bias.copy_(torch.tensor(np.concatenate([sb[m], tb[m]])))
