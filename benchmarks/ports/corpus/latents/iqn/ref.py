"""IQN with a dueling head: sampled taus, cosine embedding, quantile Huber loss."""
import math
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
O, H, NC, NT, A, KAPPA = 8, 32, 16, 6, 4, 0.5


class IQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.f1, self.f2 = nn.Linear(O, H), nn.Linear(H, H)
        self.phi = nn.Linear(NC, H)
        self.adv, self.val = nn.Linear(H, A), nn.Linear(H, 1)
        self.register_buffer("pis", math.pi * torch.arange(1, NC + 1).float().view(1, 1, NC))

    def forward(self, obs, action, target):
        B = obs.shape[0]
        x = F.relu(self.f2(F.relu(self.f1(obs))))
        taus = torch.rand(B, NT, 1)
        cos = torch.cos(taus * self.pis)
        emb = F.relu(self.phi(cos.view(B * NT, NC))).view(B, NT, H)
        x = (x.unsqueeze(1) * emb).view(B * NT, H)
        adv, val = self.adv(x), self.val(x)
        z = (val + adv - adv.mean(1, keepdim=True)).view(B, NT, A)
        za = z.gather(2, action.view(B, 1, 1).expand(B, NT, 1))
        u = target.unsqueeze(1) - za
        huber = torch.where(u.abs() <= KAPPA, 0.5 * u**2, KAPPA * (u.abs() - 0.5 * KAPPA))
        loss = torch.abs(taus - (u.detach() < 0).float()) * huber / KAPPA
        return {"q": z.mean(1), "loss": loss.sum(1).mean(1)}


def make():
    torch.manual_seed(10)
    m = IQN()
    for p in m.parameters():
        nn.init.normal_(p, 0, 0.3)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed + 10)
    return (r.normal(size=(5, O)).astype("float32"), np.array([0, 3, 1, 2, 1], "int64"), r.normal(size=(5, 7)).astype("float32"))
