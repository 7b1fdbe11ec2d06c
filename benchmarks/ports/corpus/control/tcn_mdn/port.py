"""torch port of the TCN + MDN. Channel-first; the mixture is parametrised through the Cholesky factor of the covariance."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class ChannelNorm(nn.Module):
    """LayerNorm over the channels of (B, C, T)."""

    def __init__(self, c, eps=1e-6):
        super().__init__()
        self.g = nn.Parameter(torch.ones(c))
        self.b = nn.Parameter(torch.zeros(c))
        self.eps = eps

    def forward(self, x):
        var, mu = torch.var_mean(x, dim=1, keepdim=True, unbiased=False)
        return (x - mu) / torch.sqrt(var + self.eps) * self.g[:, None] + self.b[:, None]


class CausalConv(nn.Conv1d):
    def __init__(self, i, o, k, dilation):
        super().__init__(i, o, k, dilation=dilation)
        self.left = (k - 1) * dilation

    def forward(self, x):
        return super().forward(F.pad(x, (self.left, 0)))


class Block(nn.Module):
    def __init__(self, i, o, d):
        super().__init__()
        self.n1, self.c1 = ChannelNorm(i), CausalConv(i, o, 3, d)
        self.n2, self.c2 = ChannelNorm(o), CausalConv(o, o, 3, d)
        self.gate = nn.Conv1d(o, o, 1)
        self.skip = nn.Conv1d(i, o, 1, bias=False) if i != o else nn.Identity()

    def forward(self, x):
        h = self.c1(F.gelu(self.n1(x)))
        h = self.c2(F.gelu(self.n2(h)))
        return self.skip(x) + h * torch.sigmoid(self.gate(h))


class TCNMDN(nn.Module):
    def __init__(self, cin=5, k=4):
        super().__init__()
        self.k = k
        self.tcn = nn.Sequential(Block(cin, 12, 1), Block(12, 16, 2), Block(16, 16, 4))
        self.head = nn.Conv1d(16, 6 * k, 1)

    def forward(self, x, y):
        o = self.head(F.gelu(self.tcn(x)))
        o = o.unflatten(1, (6, self.k)).permute(0, 3, 2, 1)            # (B, T, K, 6)
        log_pi = F.log_softmax(o[..., 0], dim=-1)
        mu = o[..., 1:3]
        sd = F.softplus(o[..., 3:5]) + 1e-2
        rho = 0.95 * torch.tanh(o[..., 5])
        # Sigma = L L', L = [[s1, 0], [rho s2, s2 sqrt(1 - rho^2)]]
        l11, l21 = sd[..., 0], rho * sd[..., 1]
        l22 = sd[..., 1] * torch.sqrt(1 - rho.square())
        err = y.transpose(1, 2)[:, :, None, :] - mu
        e1 = err[..., 0] / l11
        e2 = (err[..., 1] - l21 * e1) / l22
        log_n = -0.5 * (e1.square() + e2.square()) - l11.log() - l22.log() - math.log(2 * math.pi)
        joint = log_pi + log_n
        log_p = torch.logsumexp(joint, dim=-1)
        w = log_pi.exp()[..., None]
        mean = (w * mu).sum(2)
        spread = mu - mean[:, :, None]
        var = (w * (sd.square() + spread.square())).sum(2)
        return log_p, mean, var, (joint - log_p[..., None]).exp()


def make():
    torch.manual_seed(14)
    return TCNMDN().eval()


@torch.no_grad()
def load(model, reference):
    def conv(dst, src):
        w = src.get_weights()
        dst.weight.copy_(torch.from_numpy(w[0].transpose(2, 1, 0).copy()))
        if len(w) > 1:
            dst.bias.copy_(torch.from_numpy(w[1]))

    for blk, rb in zip(model.tcn, reference.blocks):
        for n in ("n1", "n2"):
            gamma, beta = getattr(rb, n).get_weights()
            getattr(blk, n).g.copy_(torch.from_numpy(gamma))
            getattr(blk, n).b.copy_(torch.from_numpy(beta))
        for n in ("c1", "c2", "gate"):
            conv(getattr(blk, n), getattr(rb, n))
        if rb.skip is not None:
            conv(blk.skip, rb.skip)
    kernel, bias = reference.head.get_weights()
    model.head.weight.copy_(torch.from_numpy(kernel.T.copy())[:, :, None])
    model.head.bias.copy_(torch.from_numpy(bias))


def inputs(seed):
    g = np.random.default_rng(seed + 60)
    x, y = g.normal(size=(4, 14, 5)).astype(np.float32), g.normal(0, 0.7, (4, 14, 2)).astype(np.float32)
    return np.ascontiguousarray(x.transpose(0, 2, 1)), np.ascontiguousarray(y.transpose(0, 2, 1))
