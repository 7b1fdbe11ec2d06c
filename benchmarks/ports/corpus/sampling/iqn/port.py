"""IQN and its loss in torch."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class IQN(nn.Module):
    def __init__(self, obs_dim=7, n_actions=4, hidden=24, n_cos=16, N=8, N_target=6, gamma=0.97, kappa=1.0):
        super().__init__()
        self.N, self.N_target = N, N_target
        self.gamma, self.kappa = gamma, kappa
        self.torso = nn.Linear(obs_dim, hidden)
        self.cos_embedding = nn.Linear(n_cos, hidden)
        self.fc = nn.Linear(hidden, hidden)
        self.head = nn.Linear(hidden, n_actions)
        pis = math.pi * torch.arange(1, n_cos + 1).float()
        self.register_buffer("pis", pis.view(1, 1, n_cos))

    def embed(self, taus):
        cos = torch.cos(taus.unsqueeze(-1) * self.pis)
        return F.relu(self.cos_embedding(cos))

    def quantile_values(self, obs, n):
        taus = torch.rand(obs.shape[0], n)
        x = F.relu(self.torso(obs))
        x = x.unsqueeze(1) * self.embed(taus)
        x = F.relu(self.fc(x))
        return self.head(x), taus

    def pick(self, quantiles, action):
        index = action.long().view(-1, 1, 1).expand(-1, quantiles.shape[1], 1)
        return quantiles.gather(2, index).squeeze(2)

    def target(self, next_obs, reward, terminal):
        with torch.no_grad():
            quantiles, _ = self.quantile_values(next_obs, self.N_target)
            greedy = quantiles.mean(dim=1).argmax(dim=1)
            best = self.pick(quantiles, greedy)
            return reward.unsqueeze(1) + self.gamma * (1 - terminal.unsqueeze(1)) * best

    def huber(self, td):
        small = td.abs() <= self.kappa
        return torch.where(small, 0.5 * td.pow(2), self.kappa * (td.abs() - 0.5 * self.kappa))

    def forward(self, obs, action, reward, next_obs, terminal):
        quantiles, taus = self.quantile_values(obs, self.N)
        expected = self.pick(quantiles, action)
        target = self.target(next_obs, reward, terminal)
        td = target.unsqueeze(1) - expected.unsqueeze(2)
        weight = (taus.unsqueeze(2) - (td.detach() < 0).float()).abs()
        rho = weight * self.huber(td) / self.kappa
        loss = rho.mean(dim=2).sum(dim=1).mean()
        return {"q": quantiles.mean(dim=1), "quantiles": expected, "loss": loss}


def make():
    torch.manual_seed(0)
    return IQN()


def load(model, reference):
    pairs = [(model.torso, reference.psi), (model.cos_embedding, reference.phi.linear),
             (model.fc, reference.fc), (model.head, reference.out)]
    with torch.no_grad():
        for linear, link in pairs:
            linear.weight.copy_(torch.from_numpy(link.W.array))
            linear.bias.copy_(torch.from_numpy(link.b.array))
