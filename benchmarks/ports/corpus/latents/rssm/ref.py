"""Dreamer's RSSM with a layer-normed GRU cell, posterior sampling, reward head."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
D, S, A, O, H = 24, 6, 3, 9, 16


class RSSM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(O, H)
        self.inp = nn.Linear(S + A, H)
        self.gru = nn.Linear(H + D, 3 * D, bias=False)
        self.norm = nn.LayerNorm(3 * D)
        self.prior_hidden = nn.Linear(D, H)
        self.prior_out = nn.Linear(H, 2 * S)
        self.post_hidden = nn.Linear(D + H, H)
        self.post_out = nn.Linear(H, 2 * S)
        self.rew1 = nn.Linear(D + S, H)
        self.rew2 = nn.Linear(H, 1)

    def cell(self, x, h):
        parts = self.norm(self.gru(torch.cat([x, h], -1)))
        reset, cand, update = torch.chunk(parts, 3, dim=-1)
        reset = torch.sigmoid(reset)
        cand = torch.tanh(reset * cand)
        update = torch.sigmoid(update - 1)
        return update * cand + (1 - update) * h

    def stats(self, x):
        mean, std = torch.chunk(x, 2, -1)
        return mean, F.softplus(std) + 0.1

    def forward(self, obs, action, is_first):
        B, T = obs.shape[:2]
        h, z = obs.new_zeros(B, D), obs.new_zeros(B, S)
        rewards, kls = [], []
        for t in range(T):
            keep = 1.0 - is_first[:, t, None]
            h, z = h * keep, z * keep
            x = F.elu(self.inp(torch.cat([z, action[:, t] * keep], -1)))
            h = self.cell(x, h)
            pm, ps = self.stats(self.prior_out(F.elu(self.prior_hidden(h))))
            e = F.elu(self.embed(obs[:, t]))
            qm, qs = self.stats(self.post_out(F.elu(self.post_hidden(torch.cat([h, e], -1)))))
            z = qm + qs * torch.randn_like(qm)
            kl = torch.log(ps / qs) + (qs**2 + (qm - pm) ** 2) / (2 * ps**2) - 0.5
            kls.append(kl.sum(-1))
            rewards.append(self.rew2(F.elu(self.rew1(torch.cat([h, z], -1)))).squeeze(-1))
        return {"reward": torch.stack(rewards, 1), "kl": torch.stack(kls, 1), "deter": h}


def make():
    torch.manual_seed(0)
    m = RSSM()
    nn.init.uniform_(m.norm.weight, 0.5, 1.5)
    nn.init.normal_(m.norm.bias, 0, 0.2)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed + 1)
    first = np.zeros((5, 4), "float32")
    first[:, 0] = 1
    first[2, 2] = 1
    first[4, 1] = 1
    return (r.normal(size=(5, 4, O)).astype("float32"), r.uniform(-1, 1, size=(5, 4, A)).astype("float32"), first)
