"""Plan2Explore: a recurrent latent, one-step ensemble predictions and their disagreement as reward."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, EMB, DET, STO, ENS, T = 6, 3, 8, 10, 4, 4, 5


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(OBS, 12), nn.ELU(), nn.Linear(12, EMB))

    def forward(self, obs):
        return self.net(torch.sign(obs) * torch.log1p(obs.abs()))


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(STO + ACT, DET)
        self.cell = nn.GRUCell(DET, DET)
        self.prior = nn.Linear(DET, 2 * STO)
        self.post = nn.Linear(DET + EMB, 2 * STO)
        self.h0 = nn.Parameter(torch.zeros(DET))

    def stats(self, x):
        mean, std = x.chunk(2, dim=-1)
        return mean, F.softplus(std) + 0.1

    def step(self, h, s, a, e):
        x = F.elu(self.inp(torch.cat([s, a], -1)))
        h = self.cell(x, h)
        prior = self.stats(self.prior(h))
        post = self.stats(self.post(torch.cat([h, e], -1)))
        return h, prior, post


class Disagreement(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList(
            nn.Sequential(nn.Linear(DET + STO + ACT, 12), nn.ELU(), nn.Linear(12, EMB)) for _ in range(ENS))

    def forward(self, feat, action):
        x = torch.cat([feat, action], dim=-1)
        preds = torch.stack([head(x) for head in self.heads])
        return preds.var(dim=0).mean(dim=-1), preds.mean(0)


def kl_gauss(p, q):
    (m1, s1), (m2, s2) = p, q
    kl = torch.log(s2 / s1) + (s1 ** 2 + (m1 - m2) ** 2) / (2 * s2 ** 2) - 0.5
    return kl.sum(-1)


class Plan2Explore(nn.Module):
    def __init__(self, gamma=0.9):
        super().__init__()
        self.encoder = Encoder()
        self.dyn = Dynamics()
        self.ens = Disagreement()
        self.gamma = gamma

    def forward(self, obs, actions):
        emb = self.encoder(obs)
        b = obs.shape[0]
        h = torch.tanh(self.dyn.h0).expand(b, DET)
        s = self.dyn.stats(self.dyn.prior(h))[0]
        prev = torch.zeros(b, ACT)
        feats, kls = [], []
        for t in range(T):
            h, prior, post = self.dyn.step(h, s, prev, emb[:, t])
            s = post[0]
            kls.append(torch.clamp(kl_gauss(post, prior), min=0.5))
            feats.append(torch.cat([h, s], -1))
            prev = actions[:, t]
        feats = torch.stack(feats, 1)
        reward, pred = self.ens(feats, actions)
        returns, acc = [], torch.zeros(b)
        for t in reversed(range(T)):
            acc = reward[:, t] + self.gamma * acc
            returns.append(acc)
        returns = torch.stack(returns[::-1], 1)
        error = ((pred[:, :-1] - emb[:, 1:]) ** 2).sum(-1)
        return returns, torch.stack(kls, 1), error


def make():
    g = torch.Generator().manual_seed(3)
    m = Plan2Explore()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.4)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    return r.normal(size=(7, T, OBS)).astype("float32") * 2, r.uniform(-1, 1, size=(7, T, ACT)).astype("float32")
