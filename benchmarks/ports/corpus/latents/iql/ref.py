"""IQL: twin target critics, expectile value, advantage weights, Gaussian policy log-likelihood."""
import math
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
S, A, H = 11, 3, 32


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, H), nn.ReLU(), nn.Linear(H, H), nn.ReLU(), nn.Linear(H, o))


class IQL(nn.Module):
    def __init__(self, tau=0.8, beta=3.0):
        super().__init__()
        self.q1, self.q2 = mlp(S + A, 1), mlp(S + A, 1)
        self.v = nn.Sequential(nn.Linear(S, H), nn.LayerNorm(H), nn.ReLU(), nn.Linear(H, 1))
        self.mean = mlp(S, A)
        self.log_std = nn.Parameter(torch.tensor([-0.3, 0.2, -6.0]))
        self.tau, self.beta = tau, beta

    def forward(self, s, a, r, done, s2):
        sa = torch.cat([s, a], 1)
        q1, q2 = self.q1(sa).squeeze(-1), self.q2(sa).squeeze(-1)
        q = torch.min(q1, q2)
        v = self.v(s).squeeze(-1)
        u = q - v
        v_loss = torch.abs(self.tau - (u < 0).float()) * u**2
        target = r + (1.0 - done) * 0.99 * self.v(s2).squeeze(-1)
        q_loss = (F.mse_loss(q1, target, reduction="none") + F.mse_loss(q2, target, reduction="none")) / 2
        weight = torch.clamp(torch.exp(self.beta * u), max=100.0)
        mean = torch.tanh(self.mean(s))
        log_std = self.log_std.clamp(-20.0, 2.0)
        ll = -0.5 * ((a - mean) / log_std.exp()) ** 2 - log_std - 0.5 * math.log(2 * math.pi)
        return {"v": v, "v_loss": v_loss, "q_loss": q_loss, "pi_loss": -(weight * ll.sum(-1)), "mean": mean}


def make():
    torch.manual_seed(4)
    m = IQL()
    for p in m.parameters():
        if p.dim() > 1:
            nn.init.normal_(p, 0, 0.35)
    nn.init.uniform_(m.v[1].weight, 0.5, 1.5)
    nn.init.normal_(m.v[1].bias, 0, 0.2)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed + 4)
    f = lambda *s: r.normal(size=s).astype("float32")
    return (f(9, S), np.tanh(f(9, A)), f(9), (r.random(9) < 0.3).astype("float32"), f(9, S))
