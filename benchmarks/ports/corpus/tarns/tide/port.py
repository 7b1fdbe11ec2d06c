"""TiDE in PyTorch."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
LOOKBACK, HORIZON, COVS, STATIC, HIDDEN, PROJ, DEC = 12, 6, 4, 3, 16, 2, 4


class RevIN(nn.Module):
    def __init__(self, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(1))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        mean = x.mean(dim=1, keepdim=True)
        std = torch.sqrt(x.var(dim=1, keepdim=True, unbiased=False) + self.eps)
        return (x - mean) / std * self.weight + self.bias, (mean, std)

    def inverse(self, x, stats):
        mean, std = stats
        return (x - self.bias) / self.weight * std + mean


class ResBlock(nn.Module):
    def __init__(self, d_in, d_hidden, d_out, norm=True):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(d_in, d_hidden), nn.ReLU(), nn.Linear(d_hidden, d_out))
        self.skip = nn.Linear(d_in, d_out)
        self.norm = nn.LayerNorm(d_out, eps=1e-3) if norm else nn.Identity()

    def forward(self, x):
        return self.norm(self.mlp(x) + self.skip(x))


class TiDE(nn.Module):
    def __init__(self):
        super().__init__()
        width = LOOKBACK + (LOOKBACK + HORIZON) * PROJ + STATIC
        self.revin = RevIN()
        self.feature = ResBlock(COVS, 8, PROJ)
        self.dense = nn.Sequential(
            ResBlock(width, HIDDEN, HIDDEN), ResBlock(HIDDEN, HIDDEN, HIDDEN),
            ResBlock(HIDDEN, HIDDEN, HIDDEN), ResBlock(HIDDEN, HIDDEN, HORIZON * DEC))
        self.temporal = ResBlock(DEC + PROJ, 8, 1, norm=False)
        self.linear = nn.Linear(LOOKBACK, HORIZON)

    def forward(self, past, covariates, static):
        y, stats = self.revin(past)
        cov = self.feature(covariates)
        z = self.dense(torch.cat([y, cov.flatten(1), static], dim=-1))
        z = z.view(-1, HORIZON, DEC)
        z = torch.cat([z, cov[:, -HORIZON:]], dim=-1)
        forecast = self.temporal(z)[..., 0] + self.linear(y)
        return self.revin.inverse(forecast, stats)


def make():
    model = TiDE()
    rs = np.random.RandomState(8)
    with torch.no_grad():
        for n, p in model.named_parameters():
            v = rs.randn(*p.shape) * 0.3
            p.copy_(torch.from_numpy(v + 1 if n.endswith(("norm.weight", "revin.weight")) else v))
    return model.eval()


def inputs(seed):
    rs = np.random.RandomState(seed)
    past = np.cumsum(rs.randn(5, LOOKBACK), axis=1) + 2 * rs.randn(5, 1)
    return (past.astype("float32"), rs.randn(5, LOOKBACK + HORIZON, COVS).astype("float32"),
            rs.randn(5, STATIC).astype("float32"))


def load(ported, original):
    def t(v):
        return torch.from_numpy(np.array(v))

    def dense(lin, layer):
        lin.weight.copy_(t(layer.kernel).T)
        lin.bias.copy_(t(layer.bias))

    def block(a, b):
        dense(a.mlp[0], b.hidden)
        dense(a.mlp[2], b.out)
        dense(a.skip, b.skip)
        if b.norm is not None:
            a.norm.weight.copy_(t(b.norm.gamma))
            a.norm.bias.copy_(t(b.norm.beta))

    with torch.no_grad():
        ported.revin.weight.copy_(t(original.scale))
        ported.revin.bias.copy_(t(original.shift))
        block(ported.feature, original.feature_proj)
        for a, b in zip(ported.dense, list(original.encoder) + list(original.decoder)):
            block(a, b)
        block(ported.temporal, original.temporal)
        dense(ported.linear, original.global_skip)
