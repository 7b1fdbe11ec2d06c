"""Attentive neural process (Kim et al. 2019) for dynamics few-shot regression; the latent is its mean."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence

FRAMEWORK = "torch"


def mlp(sizes):
    layers = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def masked_mean(x, mask):
    m = mask.unsqueeze(-1)
    return (x * m).sum(dim=1) / m.sum(dim=1)


class LatentEncoder(nn.Module):
    def __init__(self, inp, hidden, latent):
        super().__init__()
        self.encoder = mlp([inp, hidden, hidden])
        self.penultimate = nn.Linear(hidden, hidden)
        self.mean = nn.Linear(hidden, latent)
        self.log_scale = nn.Linear(hidden, latent)

    def forward(self, x, y, mask):
        s = masked_mean(self.encoder(torch.cat([x, y], dim=-1)), mask)
        s = torch.relu(self.penultimate(s))
        return Normal(self.mean(s), 0.1 + 0.9 * torch.sigmoid(self.log_scale(s)))


class DeterministicEncoder(nn.Module):
    def __init__(self, dx, dy, hidden, heads):
        super().__init__()
        self.heads = heads
        self.encoder = mlp([dx + dy, hidden, hidden])
        self.w_q = nn.Linear(dx, hidden)
        self.w_k = nn.Linear(dx, hidden)
        self.w_v = nn.Linear(hidden, hidden)
        self.w_o = nn.Linear(hidden, hidden)

    def heads_first(self, x):
        b, n, d = x.shape
        return x.view(b, n, self.heads, d // self.heads).transpose(1, 2)

    def forward(self, xc, yc, xt, mask):
        rep = self.encoder(torch.cat([xc, yc], dim=-1))
        q = self.heads_first(self.w_q(xt))
        k = self.heads_first(self.w_k(xc))
        v = self.heads_first(self.w_v(rep))
        bias = torch.zeros_like(mask).masked_fill(mask == 0, -1e9)[:, None, None, :]
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.expand(-1, -1, q.shape[2], -1))
        out = out.transpose(1, 2).flatten(2)
        return self.w_o(out)


class AttentiveNP(nn.Module):
    def __init__(self, dx=3, dy=2, hidden=24, latent=8, heads=3):
        super().__init__()
        self.latent = LatentEncoder(dx + dy, hidden, latent)
        self.deterministic = DeterministicEncoder(dx, dy, hidden, heads)
        self.decoder = mlp([hidden + latent + dx, hidden, hidden, 2 * dy])

    def forward(self, xc, yc, mask, xt, yt):
        prior = self.latent(xc, yc, mask)
        posterior = self.latent(xt, yt, torch.ones(xt.shape[:2]))
        z = posterior.mean.unsqueeze(1).expand(-1, xt.shape[1], -1)
        r = self.deterministic(xc, yc, xt, mask)
        mu, log_sigma = self.decoder(torch.cat([r, z, xt], dim=-1)).chunk(2, dim=-1)
        sigma = 0.1 + 0.9 * F.softplus(log_sigma)
        kl = kl_divergence(posterior, prior).sum(-1)
        log_prob = Normal(mu, sigma).log_prob(yt).sum(-1).mean(-1)
        return {"mu": mu, "sigma": sigma, "kl": kl, "elbo": log_prob - kl / xt.shape[1]}


def make():
    torch.manual_seed(97)
    model = AttentiveNP()
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(p, 0, 0.2)
        else:
            p.data.mul_(1.7)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    counts = np.array([7, 3, 5, 4])
    mask = (np.arange(7)[None] < counts[:, None]).astype(np.float32)
    xc, xt = (rng.uniform(-2, 2, (4, n, 3)).astype(np.float32) for n in (7, 6))
    w = rng.normal(size=(4, 3, 2)).astype(np.float32)
    return xc, np.sin(xc @ w), mask, xt, np.sin(xt @ w)
