"""BCQ: conditional VAE (samples), perturbation net, soft-clipped double Q."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
S, A, Lz, H, MAXA, PHI = 8, 3, 6, 40, 2.0, 0.05


class TorchBCQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.e1, self.e2 = nn.Linear(S + A, H), nn.Linear(H, H)
        self.mean, self.log_std = nn.Linear(H, Lz), nn.Linear(H, Lz)
        self.d1, self.d2, self.d3 = nn.Linear(S + Lz, H), nn.Linear(H, H), nn.Linear(H, A)
        self.a1, self.a2 = nn.Linear(S + A, H), nn.Linear(H, A)
        self.q1a, self.q1b = nn.Linear(S + A, H), nn.Linear(H, 1)
        self.q2a, self.q2b = nn.Linear(S + A, H), nn.Linear(H, 1)

    def decode(self, s, z):
        a = F.relu(self.d1(torch.cat([s, z], 1)))
        a = F.relu(self.d2(a))
        return MAXA * torch.tanh(self.d3(a))

    def forward(self, s, a):
        z = F.relu(self.e1(torch.cat([s, a], 1)))
        z = F.relu(self.e2(z))
        mean = self.mean(z)
        std = torch.exp(self.log_std(z).clamp(-4, 15))
        z = mean + std * torch.randn_like(std)
        u = self.decode(s, z)
        kl = -0.5 * (1 + torch.log(std.pow(2)) - mean.pow(2) - std.pow(2)).sum(1)
        p = PHI * MAXA * torch.tanh(self.a2(F.relu(self.a1(torch.cat([s, u], 1)))))
        act = (u + p).clamp(-MAXA, MAXA)
        sa = torch.cat([s, act], 1)
        q1, q2 = self.q1b(F.relu(self.q1a(sa))), self.q2b(F.relu(self.q2a(sa)))
        q = 0.75 * torch.min(q1, q2) + 0.25 * torch.max(q1, q2)
        return {"recon": ((u - a) ** 2).mean(1), "kl": kl, "action": act, "q": q.squeeze(1)}


def make():
    torch.manual_seed(5)
    m = TorchBCQ()
    nn.init.normal_(m.d3.weight, 0, 0.4)
    nn.init.normal_(m.log_std.weight, 0, 0.3)
    nn.init.normal_(m.mean.weight, 0, 0.3)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed + 5)
    return (r.normal(size=(7, S)).astype("float32"), r.uniform(-2, 2, (7, A)).astype("float32"))
