"""Skill model (posterior, prior, decoder) in PyTorch; torch.distributions for the densities."""
import numpy as np
import torch
from torch import nn
from torch.distributions import Independent, Normal, kl_divergence
from torch.nn.utils.rnn import pack_padded_sequence

FRAMEWORK = "torch"
T, S, A, Z = 9, 10, 3, 6


class GaussianHead(nn.Module):
    def __init__(self, d, n, low, high, squash=False):
        super().__init__()
        self.mu, self.log_std = nn.Linear(d, n), nn.Linear(d, n)
        self.low, self.high, self.squash = low, high, squash

    def forward(self, h):
        mu = self.mu(h)
        if self.squash:
            mu = mu.tanh()
        return Independent(Normal(mu, self.log_std(h).clamp(self.low, self.high).exp()), 1)


class Posterior(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(S + A, 24)
        self.rnn = nn.GRU(24, 16, batch_first=True, bidirectional=True)
        self.head = GaussianHead(32, Z, -4, 1)

    def forward(self, s, a, lengths):
        x = self.inp(torch.cat([s, a], -1)).relu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, h = self.rnn(packed)
        return self.head(torch.cat([h[0], h[1]], dim=-1))


class Skills(nn.Module):
    def __init__(self):
        super().__init__()
        self.posterior = Posterior()
        self.prior = nn.Sequential(nn.Linear(S, 32), nn.Tanh(), GaussianHead(32, Z, -4, 1))
        self.decoder = nn.Sequential(
            nn.Linear(S + Z, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(),
            GaussianHead(40, A, -2, 1, squash=True),
        )

    def forward(self, states, actions, mask, noise):
        q = self.posterior(states, actions, mask.sum(1).cpu())
        p = self.prior(states[:, 0])
        z = q.base_dist.loc + q.base_dist.scale * noise
        pi = self.decoder(torch.cat([states, z[:, None].expand(-1, T, -1)], dim=-1))
        lp = pi.log_prob(actions)
        log_prob = (lp * mask).sum(1) / mask.sum(1)
        kl = kl_divergence(q, p)
        return {"action": pi.base_dist.loc, "log_prob": log_prob, "kl": kl}


def make():
    torch.manual_seed(77)
    return Skills().eval()


def _t(x):
    return torch.from_numpy(np.array(x, dtype=np.float32))


@torch.no_grad()
def load(ported, original):
    def lin(layer, name):
        k, b = original.get_layer(name).get_weights()
        layer.weight.copy_(_t(k.T))
        layer.bias.copy_(_t(b))

    lin(ported.posterior.inp, "enc_in")
    rnn = ported.posterior.rnn
    weights = original.get_layer("enc_rnn").get_weights()
    for suffix, (k, r, b) in (("", weights[:3]), ("_reverse", weights[3:])):
        # Keras keeps the gates as (z, r, h), torch as (r, z, n)
        order = lambda w: np.concatenate([w[..., 16:32], w[..., :16], w[..., 32:]], axis=-1)
        getattr(rnn, "weight_ih_l0" + suffix).copy_(_t(order(k).T))
        getattr(rnn, "weight_hh_l0" + suffix).copy_(_t(order(r).T))
        getattr(rnn, "bias_ih_l0" + suffix).copy_(_t(order(b)[0]))
        getattr(rnn, "bias_hh_l0" + suffix).copy_(_t(order(b)[1]))
    lin(ported.posterior.head.mu, "post_mu")
    lin(ported.posterior.head.log_std, "post_ls")
    lin(ported.prior[0], "prior_h")
    lin(ported.prior[2].mu, "prior_mu")
    lin(ported.prior[2].log_std, "prior_ls")
    lin(ported.decoder[0], "dec_1")
    lin(ported.decoder[2], "dec_2")
    lin(ported.decoder[4].mu, "act_mu")
    lin(ported.decoder[4].log_std, "act_ls")


def inputs(seed):
    rng = np.random.default_rng(seed)
    B = 6
    lengths = np.array([9, 6, 4, 8, 5, 7])
    mask = np.arange(T)[None] < lengths[:, None]
    s = np.cumsum(rng.normal(size=(B, T, S)) * 0.5, axis=1).astype(np.float32)
    a = np.clip(rng.normal(size=(B, T, A)) * 0.6, -1, 1).astype(np.float32)
    return s, a, mask, rng.normal(size=(B, Z)).astype(np.float32)
