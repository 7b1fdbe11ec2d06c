"""Model-based control with a deep kernel Gaussian process: features, ARD kernel, rollout, cost."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
STATE, ACT, WIDTH, FEATURES, POINTS, HORIZON = 3, 2, 12, 4, 9, 3  # state: position, angle, velocity


def encode(state, action):
    """The angle as sine and cosine."""
    pos, angle, vel = state.unbind(-1)
    return torch.cat([torch.stack([pos, torch.sin(angle), torch.cos(angle), vel], -1), action], -1)


class FeatureNet(nn.Module):
    def __init__(self):
        super().__init__()
        n = STATE + 1 + ACT
        self.register_buffer("loc", 0.3 * torch.randn(n))
        self.register_buffer("std", 0.7 + torch.rand(n))
        self.net = nn.Sequential(
            nn.Linear(n, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, FEATURES))

    def forward(self, x):
        return self.net((x - self.loc) / self.std)


class ARDKernel(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw_lengthscale = nn.Parameter(0.5 + 0.3 * torch.randn(STATE, 1, FEATURES))
        self.raw_variance = nn.Parameter(0.3 * torch.randn(STATE, 1, 1))

    @property
    def variance(self):
        return F.softplus(self.raw_variance)

    def forward(self, a, b):
        scale = F.softplus(self.raw_lengthscale)
        a, b = a / scale, b / scale
        sq = (a.unsqueeze(2) - b.unsqueeze(1)).pow(2).sum(-1)
        return self.variance * torch.exp(-0.5 * sq)


class DeepKernelDynamics(nn.Module):
    COST_WIDTH = 0.8

    def __init__(self):
        super().__init__()
        self.features = FeatureNet()
        self.kernel = ARDKernel()
        self.log_noise = nn.Parameter(-1.2 + 0.2 * torch.randn(STATE, 1, 1))
        self.register_buffer("train_state", torch.randn(POINTS, STATE))
        self.register_buffer("train_action", torch.randn(POINTS, ACT))
        self.register_buffer("train_delta", 0.5 * torch.randn(POINTS, STATE))
        self.register_buffer("goal", torch.tensor([0.4, 0.9]))

    def posterior(self):
        z = self.features(encode(self.train_state, self.train_action)).unsqueeze(0)
        noise = self.log_noise.exp().pow(2)
        gram = self.kernel(z, z) + noise * torch.eye(POINTS)
        chol = torch.linalg.cholesky(gram)
        alpha = torch.cholesky_solve(self.train_delta.t().unsqueeze(-1), chol)
        return z, chol, alpha

    def predict(self, cache, state, action):
        z, chol, alpha = cache
        query = self.features(encode(state, action)).unsqueeze(0)
        cross = self.kernel(z, query)
        mean = (cross.transpose(1, 2) @ alpha).squeeze(-1)
        v = torch.linalg.solve_triangular(chol, cross, upper=False)
        var = self.kernel.variance.squeeze(-1) - v.pow(2).sum(1)
        return mean.t(), var.t()

    def cost(self, state, var):
        tip = torch.stack([state[:, 0] + torch.sin(state[:, 1]), torch.cos(state[:, 1])], -1)
        d2 = (tip - self.goal).pow(2).sum(-1)
        width = self.COST_WIDTH ** 2 + var[:, 0]
        return 1 - torch.exp(-0.5 * d2 / width) * self.COST_WIDTH / torch.sqrt(width)

    def forward(self, state, plan):
        cache = self.posterior()
        total = torch.zeros(state.shape[0])
        spread = torch.zeros_like(state)
        states = []
        for t in range(HORIZON):
            delta, var = self.predict(cache, state, plan[:, t])
            state = state + delta
            spread = spread + var
            states.append(state)
            total = total + 0.95 ** t * self.cost(state, spread)
        return torch.stack(states, 1), spread, total


def make():
    torch.manual_seed(21)
    net = DeepKernelDynamics()
    for m in net.modules():
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, 0, 1.2 / math.sqrt(m.in_features))
            nn.init.normal_(m.bias, 0, 0.2)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(6, STATE)).astype("float32"),
            rng.normal(size=(6, HORIZON, ACT)).astype("float32"))
