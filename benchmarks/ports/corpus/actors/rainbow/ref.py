"""Rainbow: noisy dueling C51 with double-DQN distributional targets (torch)."""
import math
from collections import OrderedDict

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


class NoisyLinear(nn.Module):
    def __init__(self, fin, fout):
        super().__init__()
        self.weight_mu = nn.Parameter(torch.empty(fout, fin))
        self.weight_sigma = nn.Parameter(torch.empty(fout, fin))
        self.bias_mu = nn.Parameter(torch.empty(fout))
        self.bias_sigma = nn.Parameter(torch.empty(fout))
        self.register_buffer("weight_epsilon", torch.zeros(fout, fin))
        self.register_buffer("bias_epsilon", torch.zeros(fout))

    def forward(self, x):
        if self.training:
            return F.linear(x, self.weight_mu + self.weight_sigma * self.weight_epsilon,
                            self.bias_mu + self.bias_sigma * self.bias_epsilon)
        return F.linear(x, self.weight_mu, self.bias_mu)


class DQN(nn.Module):
    def __init__(self, actions, atoms, hidden=20):
        super().__init__()
        self.actions, self.atoms = actions, atoms
        self.convs = nn.Sequential(OrderedDict([
            ("c1", nn.Conv2d(2, 4, 4, stride=2, padding=1)), ("r1", nn.ReLU()),
            ("c2", nn.Conv2d(4, 6, 3, stride=2, padding=0)), ("r2", nn.ReLU())]))
        self.fc_h_v = NoisyLinear(6 * 2 * 2, hidden)
        self.fc_h_a = NoisyLinear(6 * 2 * 2, hidden)
        self.fc_z_v = NoisyLinear(hidden, atoms)
        self.fc_z_a = NoisyLinear(hidden, actions * atoms)

    def forward(self, x, log=False):
        x = self.convs(x).flatten(1)
        v = self.fc_z_v(F.relu(self.fc_h_v(x))).view(-1, 1, self.atoms)
        a = self.fc_z_a(F.relu(self.fc_h_a(x))).view(-1, self.actions, self.atoms)
        q = v + a - a.mean(1, keepdim=True)
        return F.log_softmax(q, dim=2) if log else F.softmax(q, dim=2)


class Rainbow(nn.Module):
    def __init__(self, actions=4, atoms=11, vmin=-5.0, vmax=5.0, gamma=0.96, n=3):
        super().__init__()
        self.atoms, self.vmin, self.vmax = atoms, vmin, vmax
        self.dz = (vmax - vmin) / (atoms - 1)
        self.discount, self.n = gamma, n
        self.online = DQN(actions, atoms)
        self.target = DQN(actions, atoms)
        self.register_buffer("support", torch.linspace(vmin, vmax, atoms))

    def forward(self, states, actions, returns, next_states, nonterminals, weights):
        bs = states.shape[0]
        rows = torch.arange(bs)
        log_ps_a = self.online(states, log=True)[rows, actions]
        pns = self.online(next_states)
        best = (self.support * pns).sum(2).argmax(1)
        pns_a = self.target(next_states)[rows, best]
        tz = returns[:, None] + nonterminals[:, None] * self.discount ** self.n * self.support[None]
        tz = tz.clamp(self.vmin, self.vmax)
        b = (tz - self.vmin) / self.dz
        l, u = b.floor().long(), b.ceil().long()
        l[(u > 0) & (l == u)] -= 1
        u[(l < self.atoms - 1) & (l == u)] += 1
        m = torch.zeros(bs, self.atoms)
        offset = (rows * self.atoms)[:, None].expand(bs, self.atoms)
        m.view(-1).index_add_(0, (l + offset).view(-1), (pns_a * (u.float() - b)).view(-1))
        m.view(-1).index_add_(0, (u + offset).view(-1), (pns_a * (b - l.float())).view(-1))
        per_sample = -(m * log_ps_a).sum(1)
        q = (self.online(states) * self.support).sum(2)
        return q, m, per_sample, (weights * per_sample).mean()


def make():
    torch.manual_seed(2024)
    model = Rainbow()
    for name, p in model.named_parameters():
        if "sigma" in name:
            nn.init.uniform_(p, 0.02, 0.1)
        elif p.dim() > 1:
            nn.init.normal_(p, std=1.6 / math.sqrt(p[0].numel()))
        else:
            nn.init.normal_(p, std=0.3)
    for name, bfr in model.named_buffers():
        if "epsilon" in name:
            bfr.normal_()
    return model.eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    returns = g.integers(-1, 2, 6).astype(np.float32)
    returns[2] = 3.25
    returns[5] = -7.0
    return (g.random((6, 2, 10, 10)).astype(np.float32), g.integers(0, 4, 6), returns,
            g.random((6, 2, 10, 10)).astype(np.float32),
            np.array([1, 0, 1, 1, 0, 1], np.float32), g.uniform(0.3, 1.0, 6).astype(np.float32))
