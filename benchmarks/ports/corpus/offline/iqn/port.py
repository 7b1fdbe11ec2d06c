"""IQN agent in torch."""
import math

import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class ImplicitQuantiles(nn.Module):
    def __init__(self, obs=8, hidden=32, actions=4, n_cos=16):
        super().__init__()
        self.fc1 = nn.Linear(obs, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.cos_embed = nn.Linear(n_cos, hidden)
        self.fc3 = nn.Linear(hidden, hidden)
        self.fc4 = nn.Linear(hidden, actions)
        self.register_buffer("pis", math.pi * torch.arange(1, n_cos + 1).view(1, 1, n_cos).float())

    def forward(self, x, tau):
        batch, n = tau.shape
        psi = F.relu(self.fc2(F.relu(self.fc1(x))))
        phi = F.relu(self.cos_embed(torch.cos(tau.unsqueeze(-1) * self.pis)))
        h = torch.einsum("bh,bnh->bnh", psi, phi).flatten(0, 1)
        out = self.fc4(F.relu(self.fc3(h)))
        return out.view(batch, n, -1)


class IQNAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.local = ImplicitQuantiles()
        self.frozen = ImplicitQuantiles()
        self.eta = 0.25
        self.gamma = 0.95
        self.kappa = 1.0

    def act(self, obs):
        tau = torch.rand(obs.size(0), 10) * self.eta
        q = self.local(obs, tau).mean(dim=1)
        return q, q.argmax(dim=1)

    def forward(self, obs, act, rew, obs2, cont):
        n = obs.size(0)
        q, best = self.act(obs2)
        with torch.no_grad():
            z2 = self.frozen(obs2, torch.rand(n, 6))
            z2 = z2.gather(2, best.view(n, 1, 1).expand(n, 6, 1)).squeeze(2)
            y = rew.unsqueeze(1) + self.gamma * cont.unsqueeze(1) * z2
        tau = torch.rand(n, 8)
        z = self.local(obs, tau)
        z = z.gather(2, act.view(n, 1, 1).expand(n, 8, 1)).squeeze(2)
        delta = y.unsqueeze(1) - z.unsqueeze(2)
        huber = F.huber_loss(delta, torch.zeros_like(delta), reduction="none", delta=self.kappa)
        asym = (tau.unsqueeze(2) - (delta < 0).float()).abs()
        rho = asym * huber / self.kappa
        loss = rho.mean(dim=2).sum(dim=1)
        return {"cvar": q, "targets": y, "quantiles": z, "loss": loss}


def make():
    return IQNAgent()


def load(port, ref):
    for net, theirs in ((port.local, ref.online), (port.frozen, ref.target)):
        denses = [*theirs.torso.layers, theirs.phi, *theirs.head.layers]
        for mine, dense in zip([net.fc1, net.fc2, net.cos_embed, net.fc3, net.fc4], denses):
            kernel, bias = dense.get_weights()
            mine.weight.data = torch.from_numpy(kernel.T.copy())
            mine.bias.data = torch.from_numpy(bias.copy())
