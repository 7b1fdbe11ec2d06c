"""MPO in torch, with torch.distributions."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Independent, Normal, kl_divergence

FRAMEWORK = "torch"
OBS, ACT, SAMPLES, WIDTH = 7, 3, 6, 16
EPSILON, EPSILON_MEAN, EPSILON_STD = 0.1, 0.02, 0.004


def layer_norm_mlp(n_in, *sizes):
    modules = [nn.Linear(n_in, sizes[0]), nn.LayerNorm(sizes[0]), nn.Tanh()]
    for a, b in zip(sizes, sizes[1:]):
        modules += [nn.Linear(a, b), nn.ELU()]
    return nn.Sequential(*modules)


class GaussianPolicy(nn.Module):
    def __init__(self, init_scale=0.7, min_scale=1e-3):
        super().__init__()
        self.torso = layer_norm_mlp(OBS, WIDTH, WIDTH)
        self.loc = nn.Linear(WIDTH, ACT)
        self.raw_scale = nn.Linear(WIDTH, ACT)
        self.factor = init_scale / F.softplus(torch.zeros(())).item()
        self.min_scale = min_scale

    def forward(self, obs):
        h = self.torso(obs)
        scale = self.factor * F.softplus(self.raw_scale(h)) + self.min_scale
        return Normal(self.loc(h), scale)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = layer_norm_mlp(OBS + ACT, WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, obs, action):
        x = torch.cat([obs, action.clamp(-1, 1)], dim=-1)
        return self.head(self.net(x)).squeeze(-1)


class MPO(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = GaussianPolicy()
        self.target_policy = GaussianPolicy()
        self.critic = Critic()
        self.eta = nn.Parameter(torch.tensor(0.1))
        self.alpha_mu = nn.Parameter(0.3 * torch.randn(ACT))
        self.alpha_sigma = nn.Parameter(0.3 * torch.randn(ACT))

    def forward(self, obs, noise):
        target = self.target_policy(obs)
        actions = target.loc[:, None] + target.scale[:, None] * noise  # (batch, samples, action)
        q = self.critic(obs[:, None].expand(-1, SAMPLES, -1), actions)

        eta = F.softplus(self.eta) + 1e-8
        weights = torch.softmax(q / eta, dim=1).detach()
        log_mean = torch.logsumexp(q / eta, dim=1) - math.log(SAMPLES)
        loss_eta = eta * EPSILON + eta * log_mean.mean()

        online = self.policy(obs)
        fixed_scale = Normal(online.loc, target.scale)
        fixed_loc = Normal(target.loc, online.scale)
        samples = actions.transpose(0, 1)
        logp_loc = Independent(fixed_scale, 1).log_prob(samples)
        logp_scale = Independent(fixed_loc, 1).log_prob(samples)
        loss_policy = -(weights.t() * (logp_loc + logp_scale)).sum(0)

        kl_mu = kl_divergence(target, fixed_scale).mean(0)
        kl_sigma = kl_divergence(target, fixed_loc).mean(0)
        alpha_mu = F.softplus(self.alpha_mu) + 1e-8
        alpha_sigma = F.softplus(self.alpha_sigma) + 1e-8
        penalty = (alpha_mu * kl_mu + alpha_sigma * kl_sigma).sum()
        dual = (alpha_mu * (EPSILON_MEAN - kl_mu)).sum() + (alpha_sigma * (EPSILON_STD - kl_sigma)).sum()
        return {"policy": loss_policy, "penalty": penalty, "dual": dual,
                "temperature": loss_eta, "weights": weights.t(), "mean": online.loc}


def make():
    torch.manual_seed(2)
    net = MPO()
    for p in net.parameters():
        if p.ndim == 1:
            nn.init.normal_(p, 0.3, 0.3)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(5, OBS)).astype("float32"), rng.normal(size=(5, SAMPLES, ACT)).astype("float32"))


def load(ported, original):
    def put(parameter, variable, transpose=False):
        value = variable.numpy()
        with torch.no_grad():
            parameter.copy_(torch.tensor(value.T if transpose else value))

    def dense(to, of):
        put(to.weight, of.w, True)
        put(to.bias, of.b)

    def mlp(to, of):
        dense(to[0], of.first)
        put(to[1].weight, of.scale)
        put(to[1].bias, of.offset)
        for i, layer in enumerate(of.rest):
            dense(to[3 + 2 * i], layer)

    for to, of in ((ported.policy, original.policy), (ported.target_policy, original.target_policy)):
        mlp(to.torso, of.torso)
        dense(to.loc, of.mean)
        dense(to.raw_scale, of.std)
    mlp(ported.critic.net, original.critic.torso)
    dense(ported.critic.head, original.critic.head)
    put(ported.eta, original.log_temperature)
    put(ported.alpha_mu, original.log_alpha_mean)
    put(ported.alpha_sigma, original.log_alpha_std)
