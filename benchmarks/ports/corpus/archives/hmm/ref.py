"""HMM forward algorithm in log space over Gaussian emissions of a small net."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
S, DX, DZ = 5, 6, 3


class HMM(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(DX, 10), nn.ELU(), nn.Linear(10, DZ))
        self.mean = nn.Parameter(torch.randn(S, DZ))
        self.logvar = nn.Parameter(torch.randn(S, DZ) * 0.5)
        self.transition = nn.Parameter(torch.randn(S, S))
        self.prior = nn.Parameter(torch.randn(S))

    def forward(self, x, mask):
        z = self.encode(x)
        d = z[:, :, None, :] - self.mean
        emission = -0.5 * (d * d * torch.exp(-self.logvar) + self.logvar + np.log(2 * np.pi)).sum(-1)
        log_a = torch.log_softmax(self.transition, dim=1)
        alpha = torch.log_softmax(self.prior, dim=0) + emission[:, 0]
        alphas = [alpha]
        for t in range(1, x.shape[1]):
            new = torch.logsumexp(alpha[:, :, None] + log_a, dim=1) + emission[:, t]
            m = mask[:, t, None]
            alpha = m * new + (1 - m) * alpha
            alphas.append(alpha)
        filtered = torch.softmax(torch.stack(alphas, dim=1), dim=-1)
        return torch.logsumexp(alpha, dim=-1), filtered


def make():
    torch.manual_seed(7)
    return HMM()


def inputs(seed):
    mask = (np.arange(7)[None] < np.array([7, 4, 6, 2])[:, None]).astype("float32")
    return np.random.default_rng(seed).normal(size=(4, 7, DX)).astype("float32"), mask
