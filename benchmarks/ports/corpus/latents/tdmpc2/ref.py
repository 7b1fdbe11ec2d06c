"""TD-MPC2's latent model: SimNorm encoder, dynamics, two-hot reward, Q ensemble, policy prior."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
O, A, Z, V, H, BINS, NQ = 10, 4, 32, 8, 48, 21, 5


class NormedLinear(nn.Linear):
    def __init__(self, i, o, act=None):
        super().__init__(i, o)
        self.ln = nn.LayerNorm(o)
        self.act = act or nn.Mish()

    def forward(self, x):
        return self.act(self.ln(super().forward(x)))


class SimNorm(nn.Module):
    def forward(self, x):
        shp = x.shape
        x = x.view(*shp[:-1], -1, V)
        return F.softmax(x, dim=-1).view(*shp)


def symexp(x):
    return torch.sign(x) * (torch.exp(torch.abs(x)) - 1)


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(NormedLinear(O, H), NormedLinear(H, Z, SimNorm()))
        self.dyn = nn.Sequential(NormedLinear(Z + A, H), NormedLinear(H, Z, SimNorm()))
        self.rew = nn.Sequential(NormedLinear(Z + A, H), nn.Linear(H, BINS))
        self.pi = nn.Sequential(NormedLinear(Z, H), nn.Linear(H, 2 * A))
        self.q1 = nn.Parameter(torch.randn(NQ, Z + A, H) * 0.2)
        self.q1b = nn.Parameter(torch.randn(NQ, 1, H) * 0.1)
        self.q2 = nn.Parameter(torch.randn(NQ, H, BINS) * 0.2)
        self.register_buffer("bins", torch.linspace(-10, 10, BINS))

    def two_hot_inv(self, logits):
        return symexp((F.softmax(logits, -1) * self.bins).sum(-1, keepdim=True))

    def forward(self, obs, a):
        z = self.enc(obs)
        za = torch.cat([z, a], -1)
        zn = self.dyn(za)
        reward = self.two_hot_inv(self.rew(za))
        mu, log_std = self.pi(zn).chunk(2, dim=-1)
        log_std = -10 + 0.5 * 12 * (torch.tanh(log_std) + 1)
        an = torch.tanh(mu)
        x = torch.cat([zn, an], -1)
        hidden = F.mish(torch.matmul(x.unsqueeze(0), self.q1) + self.q1b)
        q = self.two_hot_inv(torch.matmul(hidden, self.q2))
        return {"z": zn, "reward": reward, "log_std": log_std, "q_min": torch.min(q[0], q[1]), "q_avg": q.mean(0)}


def make():
    torch.manual_seed(2)
    m = WorldModel()
    for k in m.modules():
        if isinstance(k, nn.LayerNorm):
            nn.init.uniform_(k.weight, 0.5, 1.5)
            nn.init.normal_(k.bias, 0, 0.1)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed + 2)
    return (r.normal(size=(6, O)).astype("float32"), r.uniform(-1, 1, (6, A)).astype("float32"))
