"""GRU-D (Che et al. 2018): clinical time series with missing values, in torch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
STEPS, SIGNALS, STATIC = 8, 6, 3


class GRUD(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.hidden = hidden
        self.decay_x = nn.Parameter(torch.empty(SIGNALS))
        self.decay_x_bias = nn.Parameter(torch.empty(SIGNALS))
        self.decay_h = nn.Linear(SIGNALS, hidden)
        width = 2 * SIGNALS + hidden
        self.update = nn.Linear(width, hidden)
        self.reset = nn.Linear(width, hidden)
        self.candidate = nn.Linear(width, hidden)
        self.head = nn.Sequential(nn.Linear(hidden + STATIC, 12), nn.ReLU(), nn.Linear(12, 1))

    @staticmethod
    def intervals(times, mask):
        """Time since each signal was last seen."""
        deltas = [torch.zeros_like(mask[:, 0])]
        for t in range(1, mask.shape[1]):
            gap = (times[:, t] - times[:, t - 1])[:, None]
            deltas.append(gap + (1 - mask[:, t - 1]) * deltas[-1])
        return torch.stack(deltas, dim=1)

    def forward(self, x, mask, times, static):
        delta = self.intervals(times, mask)
        count = mask.sum(dim=1).clamp(min=1)
        mean = (x * mask).sum(dim=1) / count
        last = mean
        h = x.new_zeros(x.shape[0], self.hidden)
        for t in range(x.shape[1]):
            xt, m, d = x[:, t], mask[:, t], delta[:, t]
            gamma_x = torch.exp(-torch.relu(self.decay_x * d + self.decay_x_bias))
            gamma_h = torch.exp(-torch.relu(self.decay_h(d)))
            filled = m * xt + (1 - m) * (gamma_x * last + (1 - gamma_x) * mean)
            last = m * xt + (1 - m) * last
            h = gamma_h * h
            joint = torch.cat([filled, h, m], dim=1)
            z = torch.sigmoid(self.update(joint))
            r = torch.sigmoid(self.reset(joint))
            new = torch.tanh(self.candidate(torch.cat([filled, r * h, m], dim=1)))
            h = (1 - z) * h + z * new
        risk = torch.sigmoid(self.head(torch.cat([h, static], dim=1)))
        return risk, h


def make(seed=0):
    torch.manual_seed(seed)
    net = GRUD()
    for p in net.parameters():
        nn.init.normal_(p, 0.0, 0.3)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(0.5, 1.0, size=(5, STEPS, SIGNALS)).astype("float32")
    mask = (rng.uniform(size=x.shape) < 0.55).astype("float32")
    times = np.cumsum(rng.uniform(0.2, 1.5, size=(5, STEPS)), axis=1).astype("float32")
    static = rng.normal(size=(5, STATIC)).astype("float32")
    return x * mask, mask, times, static
