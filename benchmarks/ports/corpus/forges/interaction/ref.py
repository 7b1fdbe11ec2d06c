"""Interaction network: a graph world model that predicts the accelerations of bodies joined by springs."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
NODES, NODE, EDGE, GLOBAL, WIDTH = 6, 5, 3, 2, 18
LINKS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3), (1, 0), (2, 0), (4, 1), (3, 0)]
EDGES = len(LINKS)


def mlp(inp, out):
    return nn.Sequential(nn.Linear(inp, 24), nn.LeakyReLU(0.1), nn.Linear(24, out))


class MessagePassing(nn.Module):
    def __init__(self):
        super().__init__()
        self.edge_model = mlp(3 * WIDTH + GLOBAL, WIDTH)
        self.node_model = mlp(2 * WIDTH + GLOBAL, WIDTH)
        self.global_model = mlp(2 * WIDTH + GLOBAL, GLOBAL)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, nodes, edges, glob, senders, receivers, degree):
        b, n, _ = nodes.shape
        over_edges = glob.unsqueeze(1).expand(-1, edges.shape[1], -1)
        message = self.edge_model(torch.cat([nodes[:, senders], nodes[:, receivers], edges, over_edges], -1))
        edges = edges + message
        pooled = torch.zeros_like(nodes).index_add(1, receivers, edges)
        pooled = pooled / degree.view(1, n, 1)
        over_nodes = glob.unsqueeze(1).expand(-1, n, -1)
        update = self.node_model(torch.cat([nodes, pooled, over_nodes], -1))
        nodes = self.norm(nodes + update)
        glob = glob + self.global_model(torch.cat([nodes.mean(1), edges.mean(1), glob], -1))
        return nodes, edges, glob


class InteractionNetwork(nn.Module):
    def __init__(self, steps=2):
        super().__init__()
        self.node_encoder, self.edge_encoder = nn.Linear(NODE, WIDTH), nn.Linear(EDGE, WIDTH)
        self.steps = nn.ModuleList([MessagePassing() for _ in range(steps)])
        self.decoder = mlp(WIDTH, 2)
        links = torch.tensor(LINKS)
        self.register_buffer("senders", links[:, 0])
        self.register_buffer("receivers", links[:, 1])
        degree = torch.bincount(links[:, 1], minlength=NODES).clamp(min=1)
        self.register_buffer("degree", degree.float())

    def forward(self, bodies, springs, forces):
        nodes = torch.tanh(self.node_encoder(bodies))
        edges = torch.tanh(self.edge_encoder(springs))
        glob = forces
        for step in self.steps:
            nodes, edges, glob = step(nodes, edges, glob, self.senders, self.receivers, self.degree)
        acceleration = self.decoder(nodes)
        velocity = bodies[..., 2:4] + 0.1 * acceleration
        position = bodies[..., 0:2] + 0.1 * velocity
        return torch.cat([position, velocity], -1), glob


def make():
    torch.manual_seed(17)
    net = InteractionNetwork()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if name.endswith("norm.weight"):
                p.uniform_(0.6, 1.5)
            elif p.dim() > 1:
                p.normal_(0, 1.3 / math.sqrt(p.shape[1]))
            else:
                p.normal_(0, 0.3)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    bodies = rng.normal(size=(4, NODES, NODE)).astype("float32")
    springs = rng.normal(size=(4, EDGES, EDGE)).astype("float32")
    forces = rng.normal(size=(4, GLOBAL)).astype("float32")
    return bodies, springs, forces
