"""Rewrite of the SNAIL agent: batch-first throughout, dilated taps as shifted concatenation + one fused matmul."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
B, T, OBS, A, FILTERS, KEY, VAL = 4, 8, 5, 3, 8, 8, 6


def delay(x, d):
    return torch.cat([x.new_zeros(x.shape[0], d, x.shape[2]), x[:, :-d]], dim=1)


class GatedTap(nn.Module):
    """filter and gate in one projection of [x(t-d), x(t)]"""

    def __init__(self, cin, d):
        super().__init__()
        self.d = d
        self.direction = nn.Parameter(torch.randn(2 * FILTERS, 2 * cin))
        self.gain = nn.Parameter(torch.ones(2 * FILTERS, 1))
        self.bias = nn.Parameter(torch.zeros(2 * FILTERS))

    def forward(self, x):
        weight = self.gain * F.normalize(self.direction, dim=1)
        taps = torch.cat([delay(x, self.d), x], dim=-1)
        f, g = F.linear(taps, weight, self.bias).chunk(2, dim=-1)
        new = f.tanh() * g.sigmoid()
        return torch.cat([x, new], dim=-1)


class CausalRead(nn.Module):
    def __init__(self, cin):
        super().__init__()
        self.kqv = nn.Linear(cin, 2 * KEY + VAL)

    def forward(self, x):
        k, q, v = self.kqv(x).split([KEY, KEY, VAL], dim=-1)
        read = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return torch.cat([x, read], dim=-1)


class Snail(nn.Module):
    def __init__(self):
        super().__init__()
        width = OBS + A + 1
        self.scale = nn.Parameter(torch.ones(OBS))
        self.shift = nn.Parameter(torch.zeros(OBS))
        body = [CausalRead(width)]
        width += VAL
        d = 1
        while d < T:
            body.append(GatedTap(width, d))
            width += FILTERS
            d *= 2
        body.append(CausalRead(width))
        width += VAL
        self.body = nn.Sequential(*body)
        self.heads = nn.Linear(width, A + OBS)

    def encode(self, obs):
        mu = obs.mean(1, keepdim=True)
        sigma = (obs.var(1, keepdim=True, correction=0) + 1e-5).sqrt()
        return (obs - mu) / sigma * self.scale + self.shift, mu, sigma

    def forward(self, obs, prev_action, prev_reward):
        z, mu, sigma = self.encode(obs)
        table = torch.cat([torch.eye(A), torch.zeros(1, A)])     # index -1: no action yet
        x = torch.cat([z, table[prev_action], prev_reward[..., None]], -1)
        out = self.heads(self.body(x))
        logits, raw = out[..., :A], out[..., A:]
        pred = (raw - self.shift) / self.scale * sigma + mu
        return logits - logits.logsumexp(-1, keepdim=True), pred


def make():
    torch.manual_seed(62)
    return Snail().eval()


@torch.no_grad()
def load(model, reference):
    model.scale.copy_(reference.affine)
    model.shift.copy_(reference.offset)
    reads = [m for m in model.body if isinstance(m, CausalRead)]
    for mine, src in zip(reads, (reference.att1, reference.att2)):
        mine.kqv.weight.copy_(torch.cat([src.k.weight, src.q.weight, src.v.weight]))
        mine.kqv.bias.copy_(torch.cat([src.k.bias, src.q.bias, src.v.bias]))
    taps = [m for m in model.body if isinstance(m, GatedTap)]
    for mine, src in zip(taps, reference.tc1):
        rows = [c.v.permute(0, 2, 1).flatten(1) for c in (src.xf, src.xg)]
        mine.direction.copy_(torch.cat(rows))
        mine.gain.copy_(torch.cat([src.xf.g, src.xg.g])[:, None])
        mine.bias.copy_(torch.cat([src.xf.bias, src.xg.bias]))
    model.heads.weight.copy_(torch.cat([reference.policy.weight, reference.forecast.weight]))
    model.heads.bias.copy_(torch.cat([reference.policy.bias, reference.forecast.bias]))
