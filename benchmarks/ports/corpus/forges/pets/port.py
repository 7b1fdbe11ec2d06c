"""PETS in PyTorch."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
E, S, A, HORIZON, WIDTH = 5, 4, 2, 4, 20


class EnsembleLinear(nn.Module):
    def __init__(self, in_features, out_features, members=E):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(members, in_features, out_features) * in_features**-0.5)
        self.bias = nn.Parameter(torch.randn(members, 1, out_features) * 0.1)

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        n_in = S + 1 + A
        self.net = nn.Sequential(EnsembleLinear(n_in, WIDTH), nn.SiLU(), EnsembleLinear(WIDTH, WIDTH), nn.SiLU())
        self.mean = EnsembleLinear(WIDTH, S)
        self.logvar = EnsembleLinear(WIDTH, S)
        self.register_buffer("x_mean", torch.zeros(n_in))
        self.register_buffer("x_std", torch.ones(n_in))
        self.max_logvar = nn.Parameter(torch.zeros(S))
        self.min_logvar = nn.Parameter(torch.full((S,), -4.0))

    def forward(self, state, action):
        theta, rest = state[..., 0:1], state[..., 1:]
        x = torch.cat([theta.sin(), theta.cos(), rest, action], dim=-1)
        h = self.net((x - self.x_mean) / self.x_std)
        logvar = self.max_logvar - F.softplus(self.max_logvar - self.logvar(h))
        logvar = self.min_logvar + F.softplus(logvar - self.min_logvar)
        return self.mean(h), logvar


class Planner(nn.Module):
    def __init__(self, gamma=0.95):
        super().__init__()
        self.dynamics = Dynamics()
        self.gamma = gamma
        self.register_buffer("elites", torch.tensor([0, 2, 3]))

    @staticmethod
    def cost(state, action):
        upright = -state[..., 0].cos()
        return upright + 0.1 * state[..., 1].pow(2) + 0.05 * action.pow(2).sum(-1)

    def forward(self, state, plans, noise):
        states = state.expand(E, *state.shape)
        cost = torch.zeros(states.shape[:2])
        deviations = []
        for step, action in enumerate(plans.unbind(dim=1)):
            action = action.expand(E, *action.shape)
            mean, logvar = self.dynamics(states, action)
            cost = cost + self.gamma**step * self.cost(states, action)
            deviations.append(mean.std(dim=0, unbiased=False).amax(dim=-1))
            states = states + mean + torch.exp(logvar / 2) * noise[step]
        returns = -cost.index_select(0, self.elites).mean(dim=0)
        return returns, states, torch.stack(deviations, dim=1)


def make():
    torch.manual_seed(40)
    return Planner().eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 6
    state = rng.normal(size=(b, S)).astype("float32")
    plans = rng.uniform(-1, 1, size=(b, HORIZON, A)).astype("float32")
    noise = rng.normal(size=(HORIZON, E, b, S)).astype("float32")
    return state, plans, noise


def load(ported, original):
    put = lambda tensor, array: tensor.data.copy_(torch.tensor(np.asarray(array)))
    d = ported.dynamics
    for mine, theirs in zip((d.net[0], d.net[2]), original.layers):
        put(mine.weight, theirs.w)
        put(mine.bias, theirs.b)
    put(d.mean.weight, original.head.w[..., :S])
    put(d.mean.bias, original.head.b[..., :S])
    put(d.logvar.weight, original.head.w[..., S:])
    put(d.logvar.bias, original.head.b[..., S:])
    put(d.x_mean, original.mu)
    put(d.x_std, original.sigma)
    put(d.max_logvar, original.max_logvar)
    put(d.min_logvar, original.min_logvar)
