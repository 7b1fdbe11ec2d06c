"""FQF: proposed fractions, implicit quantiles, and the two losses."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class FractionProposal(nn.Module):
    def __init__(self, dim, n):
        super().__init__()
        self.net = nn.Linear(dim, n)

    def forward(self, emb):
        log_p = self.net(emb).log_softmax(-1)
        p = log_p.exp()
        taus = F.pad(p.cumsum(-1), (1, 0))
        tau_hat = (taus[:, 1:] + taus[:, :-1]) / 2
        entropy = -(p * log_p).sum(-1)
        return taus, tau_hat, entropy


class Quantiles(nn.Module):
    def __init__(self, dim, actions, n_cos):
        super().__init__()
        self.register_buffer("freq", math.pi * torch.arange(1, n_cos + 1).float())
        self.phi = nn.Linear(n_cos, dim)
        self.hidden = nn.Linear(dim, 32)
        self.adv = nn.Linear(32, actions)
        self.val = nn.Linear(32, 1)

    def forward(self, emb, taus):
        cos = torch.cos(taus.unsqueeze(-1) * self.freq)
        x = emb.unsqueeze(1) * F.relu(self.phi(cos))
        x = F.relu(self.hidden(x))
        a = self.adv(x)
        return self.val(x) + a - a.mean(-1, keepdim=True)  # (batch, taus, actions)


class FQF(nn.Module):
    def __init__(self, obs=10, dim=24, actions=4, n=8, n_cos=16, kappa=1.0):
        super().__init__()
        self.kappa = kappa
        self.body = nn.Sequential(nn.Linear(obs, dim), nn.LayerNorm(dim), nn.ReLU())
        self.fractions = FractionProposal(dim, n)
        self.quantiles = Quantiles(dim, actions, n_cos)

    def forward(self, obs, action, target):
        emb = self.body(obs)
        taus, tau_hat, entropy = self.fractions(emb)
        z_hat = self.quantiles(emb, tau_hat)
        q = ((taus[:, 1:] - taus[:, :-1]).unsqueeze(-1) * z_hat).sum(1)

        rows = torch.arange(len(obs))
        z_hat_a = z_hat[rows, :, action]
        z_a = self.quantiles(emb, taus[:, 1:-1])[rows, :, action]
        frac_grad = 2 * z_a - z_hat_a[:, 1:] - z_hat_a[:, :-1]

        td = target.unsqueeze(1) - z_hat_a.unsqueeze(2)  # (batch, quantile, target)
        huber = torch.where(td.abs() <= self.kappa, 0.5 * td**2, self.kappa * (td.abs() - 0.5 * self.kappa))
        weight = (tau_hat.unsqueeze(2) - (td < 0).float()).abs()
        loss = (weight * huber / self.kappa).sum(1).mean(1)
        return {"q": q, "taus": taus, "entropy": entropy, "frac_grad": frac_grad, "loss": loss}


def make():
    torch.manual_seed(2)
    model = FQF()
    for p in model.parameters():
        nn.init.normal_(p, std=0.4 if p.ndim == 1 else 1.3 / p.shape[1] ** 0.5)
    nn.init.uniform_(model.body[1].weight, 0.5, 1.5)
    return model.eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    return (
        g.normal(size=(6, 10)).astype("float32"),
        g.integers(0, 4, 6),
        np.sort(g.normal(size=(6, 8)) * 2, axis=1).astype("float32"),
    )
