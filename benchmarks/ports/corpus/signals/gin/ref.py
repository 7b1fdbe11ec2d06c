"""A graph isomorphism network (Xu et al. 2019) over a batch of graphs, by edge lists. torch."""

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
MODE = "train"
NODES, GRAPHS, ATOMS, BONDS, DIM, TASKS = 24, 4, 7, 4, 16, 3


class GINConv(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.eps = nn.Parameter(torch.tensor([0.15]))
        self.bond = nn.Embedding(BONDS, dim)
        self.mlp = nn.Sequential(
            nn.Linear(dim, 2 * dim), nn.BatchNorm1d(2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim)
        )

    def forward(self, x, edge_index, bonds):
        source, target = edge_index
        messages = torch.relu(x[source] + self.bond(bonds))
        aggregated = torch.zeros_like(x).index_add(0, target, messages)
        return self.mlp((1 + self.eps) * x + aggregated)


class GIN(nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        self.atom = nn.Embedding(ATOMS, DIM)
        self.virtual = nn.Embedding(1, DIM)
        self.convs = nn.ModuleList(GINConv(DIM) for _ in range(layers))
        self.norms = nn.ModuleList(nn.BatchNorm1d(DIM) for _ in range(layers))
        self.virtual_mlp = nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(DIM, TASKS) for _ in range(layers + 1))

    def pool(self, x, graph):
        return torch.zeros(GRAPHS, x.shape[1], dtype=x.dtype).index_add(0, graph, x)

    def mean_pool(self, x, graph):
        sizes = torch.bincount(graph, minlength=GRAPHS).clamp(min=1)
        return self.pool(x, graph) / sizes[:, None]

    def forward(self, atoms, edge_index, bonds, graph):
        x = self.atom(atoms)
        virtual = self.virtual(torch.zeros(GRAPHS, dtype=torch.long))
        score = self.heads[0](self.mean_pool(x, graph))
        for i, (conv, norm) in enumerate(zip(self.convs, self.norms)):
            x = x + virtual[graph]
            h = norm(conv(x, edge_index, bonds))
            if i < len(self.convs) - 1:
                h = torch.relu(h)
                virtual = virtual + self.virtual_mlp(self.pool(x, graph) + virtual)
            x = h + x
            score = score + self.heads[i + 1](self.mean_pool(x, graph))
        return score


def make():
    torch.manual_seed(5)
    model = GIN()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.BatchNorm1d):
                module.weight.uniform_(0.5, 1.5)
                module.bias.normal_(0, 0.3)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    graph = np.sort(np.concatenate([np.arange(GRAPHS), rng.integers(0, GRAPHS, NODES - GRAPHS)]))
    source, target = [], []
    for g in range(GRAPHS):
        nodes = np.flatnonzero(graph == g)
        for _ in range(2 * len(nodes)):
            a, b = rng.choice(nodes, 2)
            source += [a, b]
            target += [b, a]
    edges = np.array([source, target])
    return (
        rng.integers(0, ATOMS, NODES),
        edges,
        rng.integers(0, BONDS, edges.shape[1]),
        graph,
    )
