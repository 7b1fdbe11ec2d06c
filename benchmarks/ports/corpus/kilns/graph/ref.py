"""A graph network policy over the limbs of a robot, in the manner of NerveNet."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
SENDERS = [0, 1, 1, 2, 0, 3, 4, 5, 6, 3, 2]
RECEIVERS = [1, 0, 2, 1, 3, 4, 3, 3, 5, 6, 0]
ACTUATED = [1, 2, 4, 6]


class NerveNet(nn.Module):
    def __init__(self, node_dim=5, edge_dim=3, root_dim=4, hidden=16, rounds=3):
        super().__init__()
        self.rounds = rounds
        self.register_buffer("senders", torch.tensor(SENDERS))
        self.register_buffer("receivers", torch.tensor(RECEIVERS))
        self.register_buffer("actuated", torch.tensor(ACTUATED))
        self.embed = nn.Linear(node_dim + root_dim, hidden)
        self.message = nn.Sequential(
            nn.Linear(2 * hidden + edge_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden)
        )
        self.update = nn.GRUCell(hidden, hidden)
        self.mean = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.log_std = nn.Parameter(torch.zeros(len(ACTUATED)))
        self.score = nn.Linear(hidden, 1)
        self.value = nn.Linear(hidden, 1)

    def propagate(self, h, edges):
        src, dst = h[:, self.senders], h[:, self.receivers]
        messages = self.message(torch.cat([src, dst, edges], dim=-1))
        summed = torch.zeros_like(h).index_add(1, self.receivers, messages)
        degree = torch.zeros(h.shape[1]).to(h).index_add(
            0, self.receivers, torch.ones(len(self.receivers)).to(h)
        )
        incoming = summed / degree.clamp(min=1.0)[:, None]
        new = self.update(incoming.flatten(0, 1), h.flatten(0, 1))
        return new.view_as(h)

    def forward(self, nodes, edges, root, actions):
        n = nodes.shape[1]
        shared = root.unsqueeze(1).expand(-1, n, -1)
        h = torch.tanh(self.embed(torch.cat([nodes, shared], dim=-1)))
        for _ in range(self.rounds):
            h = self.propagate(h, edges)
        mean = self.mean(h[:, self.actuated]).squeeze(-1)
        z = (actions - mean) / self.log_std.exp()
        log_prob = -0.5 * (z**2 + 2 * self.log_std + np.log(2 * np.pi)).sum(dim=-1)
        attention = torch.softmax(self.score(h), dim=1)
        pooled = (attention * h).sum(dim=1)
        return mean, log_prob, self.value(pooled).squeeze(-1)


def make():
    torch.manual_seed(81)
    net = NerveNet()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(p * 1.8 if p.ndim > 1 else 0.3 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b = 5
    return (
        rng.normal(size=(b, 7, 5)).astype("float32"),
        rng.normal(size=(b, 11, 3)).astype("float32"),
        rng.normal(size=(b, 4)).astype("float32"),
        rng.normal(size=(b, 4)).astype("float32"),
    )
