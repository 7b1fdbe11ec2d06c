"""TD-MPC2's latent model with SimNorm, NormedLinear (Mish), two-hot reward and Q ensemble."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
V, LAT, BINS, NQ = 4, 16, 11, 3


class NormedLinear(nn.Linear):
    def __init__(self, i, o, act):
        super().__init__(i, o)
        self.ln, self.act = nn.LayerNorm(o), act

    def forward(self, x):
        return self.act(self.ln(super().forward(x)))


class SimNorm(nn.Module):
    def forward(self, x):
        shp = x.shape
        return F.softmax(x.view(*shp[:-1], -1, V), dim=-1).view(*shp)


def head(i):
    return nn.Sequential(NormedLinear(i, 24, nn.Mish()), nn.Linear(24, BINS))


class TorchTDMPC(nn.Module):
    def __init__(self, obs=10, act=3):
        super().__init__()
        self.enc = nn.Sequential(NormedLinear(obs, 24, nn.Mish()), NormedLinear(24, LAT, SimNorm()))
        self.dyn = nn.Sequential(NormedLinear(LAT + act, 24, nn.Mish()), NormedLinear(24, LAT, SimNorm()))
        self.rew = head(LAT + act)
        self.qs = nn.ModuleList(head(LAT + act) for _ in range(NQ))
        self.register_buffer("bins", torch.linspace(-4.0, 4.0, BINS))

    def two_hot_inv(self, logits):
        x = (F.softmax(logits, -1) * self.bins).sum(-1)
        return torch.sign(x) * (torch.exp(x.abs()) - 1)

    def forward(self, obs, action):
        z = self.enc(obs)
        za = torch.cat([z, action], -1)
        nz, r = self.dyn(za), self.two_hot_inv(self.rew(za))
        q = torch.stack([self.two_hot_inv(f(torch.cat([nz, action], -1))) for f in self.qs])
        return nz, r, r + 0.97 * q.min(0).values


def make():
    torch.manual_seed(9)
    ref = TorchTDMPC().eval()
    with torch.no_grad():
        for p in ref.parameters():
            if p.ndim == 1: p.add_(0.1 * torch.randn_like(p))
    return ref


def inputs(seed):
    rng = np.random.default_rng(seed + 9)
    return rng.normal(size=(6, 10)).astype("float32"), rng.uniform(-1, 1, (6, 3)).astype("float32")
