"""Planning by the cross-entropy method over an ensemble of probabilistic dynamics (PETS), in torch modules."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, ENSEMBLE, POP, ELITE, HORIZON, ITERS = 5, 2, 3, 24, 6, 4, 2


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(OBS + ACT, 32)
        self.l2 = nn.Linear(32, 32)
        self.mean = nn.Linear(32, OBS)
        self.logvar = nn.Linear(32, OBS)

    def forward(self, s, a, max_logvar, min_logvar):
        h = F.silu(self.l1(torch.cat([s, a], -1)))
        h = F.silu(self.l2(h))
        logvar = self.logvar(h)
        logvar = max_logvar - F.softplus(max_logvar - logvar)
        logvar = min_logvar + F.softplus(logvar - min_logvar)
        return s + self.mean(h), logvar


class Planner(nn.Module):
    def __init__(self):
        super().__init__()
        self.members = nn.ModuleList(Dynamics() for _ in range(ENSEMBLE))
        self.max_logvar = nn.Parameter(torch.full((OBS,), -1.0))
        self.min_logvar = nn.Parameter(torch.full((OBS,), -4.0))
        self.reward = nn.Sequential(nn.Linear(OBS + ACT, 16), nn.Softplus(), nn.Linear(16, 1))
        self.terminal = nn.Linear(OBS, 1)
        self.register_buffer("obs_scale", torch.ones(OBS))

    def evaluate(self, state, plans):
        """state (OBS,), plans (POP, HORIZON, ACT): mean return over members, each with its own noise."""
        returns = []
        for member in self.members:
            s = state.expand(POP, OBS)
            total = torch.zeros(POP, dtype=state.dtype)
            for t in range(HORIZON):
                a = plans[:, t]
                total = total + 0.95**t * self.reward(torch.cat([s, a], -1)).squeeze(-1)
                mean, logvar = member(s, a, self.max_logvar, self.min_logvar)
                s = mean + torch.exp(0.5 * logvar) * torch.randn(POP, OBS)
            total = total + 0.95**HORIZON * self.terminal(s).squeeze(-1)
            returns.append(total)
        returns = torch.stack(returns)
        return returns.mean(0) - 0.5 * returns.std(0)

    def forward(self, observation, warm_start):
        state = observation / self.obs_scale
        mu, sigma = warm_start, torch.full_like(warm_start, 0.6)
        for _ in range(ITERS):
            noise = torch.randn(POP, HORIZON, ACT)
            plans = torch.clamp(mu + sigma * noise, -1.0, 1.0)
            score = self.evaluate(state, plans)
            best = torch.topk(score, ELITE)
            elites = plans[best.indices]
            weights = torch.softmax(best.values / 0.1, dim=0)[:, None, None]
            new_mu = (weights * elites).sum(0)
            new_sigma = torch.sqrt((weights * (elites - new_mu) ** 2).sum(0) + 1e-3)
            mu = 0.1 * mu + 0.9 * new_mu
            sigma = 0.1 * sigma + 0.9 * new_sigma
        return mu[0], mu, sigma, score


def make():
    torch.manual_seed(9)
    net = Planner()
    net.obs_scale.uniform_(0.5, 2.0)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=OBS).astype("float32"), rng.uniform(-0.5, 0.5, (HORIZON, ACT)).astype("float32")
