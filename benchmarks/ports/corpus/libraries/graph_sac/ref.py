"""SAC over a body graph (NerveNet): message passing, squashed Gaussian per joint, twin critics."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
NODES, FEAT, HID, ROUNDS = 6, 5, 20, 2
# (from, to, kind): parent to child is 0, child to parent 1, symmetric limbs 2
EDGES = np.array(
    [(0, 1, 0), (1, 2, 0), (0, 3, 0), (3, 4, 0), (0, 5, 0), (1, 0, 1), (2, 1, 1), (3, 0, 1), (4, 3, 1), (5, 0, 1), (2, 4, 2), (4, 2, 2), (2, 5, 2)]
).T


class GraphNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.embed = nn.Linear(n_in, HID)
        self.message = nn.ModuleList(nn.Sequential(nn.Linear(2 * HID, HID), nn.Tanh()) for _ in range(3))
        self.update = nn.GRUCell(HID, HID)
        self.register_buffer("edges", torch.tensor(EDGES))

    def forward(self, x):
        src, dst, kind = self.edges
        b = x.shape[0]
        h = torch.tanh(self.embed(x))
        degree = torch.bincount(dst, minlength=NODES).clamp(min=1).float()
        for _ in range(ROUNDS):
            total = torch.zeros(b, NODES, HID)
            for k, net in enumerate(self.message):
                s, d = src[kind == k], dst[kind == k]
                total.index_add_(1, d, net(torch.cat([h[:, s], h[:, d]], -1)))
            mean = total / degree.view(1, -1, 1)
            h = self.update(mean.view(-1, HID), h.reshape(-1, HID)).view(b, NODES, HID)
        return h


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = GraphNet(FEAT + 1)
        self.out = nn.Linear(HID, 1)

    def forward(self, x, action, present):
        h = self.net(torch.cat([x, action.unsqueeze(-1)], -1))
        pooled = h.masked_fill(~present.unsqueeze(-1), -math.inf).max(dim=1).values
        return self.out(pooled).squeeze(-1)


class GraphSAC(nn.Module):
    log_std_min, log_std_max, alpha = -5.0, 2.0, 0.2

    def __init__(self):
        super().__init__()
        self.actor = GraphNet(FEAT)
        self.mean = nn.Linear(HID, 1)
        self.log_std = nn.Linear(HID, 1)
        self.q1, self.q2 = Critic(), Critic()

    def forward(self, x, present, noise):
        h = self.actor(x)
        mean = self.mean(h).squeeze(-1)
        log_std = torch.tanh(self.log_std(h).squeeze(-1))
        log_std = self.log_std_min + 0.5 * (self.log_std_max - self.log_std_min) * (log_std + 1)
        u = mean + log_std.exp() * noise
        mask = present.float()
        action = torch.tanh(u) * mask
        log_prob = torch.distributions.Normal(mean, log_std.exp()).log_prob(u)
        log_prob = log_prob - 2 * (math.log(2) - u - F.softplus(-2 * u))
        log_prob = (log_prob * mask).sum(1)
        q1, q2 = self.q1(x, action, present), self.q2(x, action, present)
        loss = self.alpha * log_prob - torch.min(q1, q2)
        return action, log_prob, torch.stack([q1, q2], 1), loss


def make():
    torch.manual_seed(10)
    model = GraphSAC()
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0, 0.4 if p.ndim == 1 else 1.3 / p.shape[1] ** 0.5)
    return model.eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    present = np.ones((5, NODES), bool)
    present[0, 5] = present[2, 4] = present[2, 5] = present[4, 2] = False
    return (
        g.normal(size=(5, NODES, FEAT)).astype("float32"),
        present,
        g.normal(size=(5, NODES)).astype("float32"),
    )
