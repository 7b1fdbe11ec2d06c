"""RSSM of Dreamer in torch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Independent, Normal, kl_divergence

FRAMEWORK = "torch"


class GRUCellLN(nn.Module):
    def __init__(self, n_in, size):
        super().__init__()
        self.linear = nn.Linear(n_in + size, 3 * size, bias=False)
        self.ln = nn.LayerNorm(3 * size, eps=1e-3)

    def forward(self, x, h):
        gates = self.ln(self.linear(torch.cat((x, h), dim=1)))
        r, c, u = gates.chunk(3, dim=1)
        c = torch.tanh(torch.sigmoid(r) * c)
        u = torch.sigmoid(u - 1)
        return torch.lerp(h, c, u)


class WorldModel(nn.Module):
    def __init__(self, obs=14, act=3, stoch=6, deter=20, hidden=24):
        super().__init__()
        self.n_stoch, self.n_deter = stoch, deter
        self.embed = nn.Sequential(nn.Linear(obs, hidden), nn.ELU())
        self.pre = nn.Sequential(nn.Linear(stoch + act, hidden), nn.ELU())
        self.rnn = GRUCellLN(hidden, deter)
        self.prior_net = nn.Sequential(nn.Linear(deter, hidden), nn.ELU(), nn.Linear(hidden, 2 * stoch))
        self.post_net = nn.Sequential(
            nn.Linear(deter + hidden, hidden), nn.ELU(), nn.Linear(hidden, 2 * stoch)
        )
        self.reward = nn.Sequential(nn.Linear(stoch + deter, hidden), nn.ELU(), nn.Linear(hidden, 1))

    @staticmethod
    def gaussian(out):
        mu, raw = out.chunk(2, dim=-1)
        return mu, F.softplus(raw) + 0.1

    def step(self, z, h, a, e, keep, eps):
        z, h = z * keep, h * keep
        a = a * keep
        h_new = self.rnn(self.pre(torch.cat((z, a), 1)), h)
        prior = self.gaussian(self.prior_net(h_new))
        post = self.gaussian(self.post_net(torch.cat((h_new, e), 1)))
        z = post[0] + post[1] * eps
        return z, h_new, prior, post

    def forward(self, obs, action, is_first, noise):
        b, steps = obs.shape[:2]
        e = self.embed(obs)
        z = obs.new_zeros(b, self.n_stoch)
        h = obs.new_zeros(b, self.n_deter)
        feats, priors, posts = [], [], []
        for t in range(steps):
            keep = 1 - is_first[:, t].unsqueeze(1)
            z, h, prior, post = self.step(z, h, action[:, t], e[:, t], keep, noise[:, t])
            feats.append(torch.cat((z, h), 1))
            priors.append(torch.stack(prior))
            posts.append(torch.stack(post))
        feat = torch.stack(feats, 1)
        p_mean, p_std = torch.stack(priors, 2)
        q_mean, q_std = torch.stack(posts, 2)
        prior = Independent(Normal(p_mean, p_std, validate_args=False), 1, validate_args=False)
        post = Independent(Normal(q_mean, q_std, validate_args=False), 1, validate_args=False)
        kl = kl_divergence(post, prior)
        return feat, kl, self.reward(feat).squeeze(-1), kl.mean().clamp(min=0.5)


def make():
    torch.manual_seed(4)
    net = WorldModel()
    with torch.no_grad():
        for p in net.parameters():
            if p.ndim == 1:
                p.add_(0.2 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b, t = 4, 5
    first = (rng.random((b, t)) < 0.25).astype("float32")
    first[:, 0] = 1
    return (
        rng.normal(size=(b, t, 14)).astype("float32"),
        rng.uniform(-1, 1, size=(b, t, 3)).astype("float32"),
        first,
        rng.normal(size=(b, t, 6)).astype("float32"),
    )


def load(ported, original):
    def dense(linear, layer):
        kernel, bias = layer.get_weights()
        linear.weight.copy_(torch.from_numpy(kernel.T))
        linear.bias.copy_(torch.from_numpy(bias))

    with torch.no_grad():
        dense(ported.embed[0], original.encoder)
        dense(ported.pre[0], original.img_in)
        dense(ported.prior_net[0], original.img_out)
        dense(ported.prior_net[2], original.img_dist)
        dense(ported.post_net[0], original.obs_out)
        dense(ported.post_net[2], original.obs_dist)
        dense(ported.reward[0], original.reward_hidden)
        dense(ported.reward[2], original.reward)
        ported.rnn.linear.weight.copy_(torch.from_numpy(original.cell.dense.get_weights()[0].T))
        gamma, beta = original.cell.norm.get_weights()
        ported.rnn.ln.weight.copy_(torch.from_numpy(gamma))
        ported.rnn.ln.bias.copy_(torch.from_numpy(beta))
