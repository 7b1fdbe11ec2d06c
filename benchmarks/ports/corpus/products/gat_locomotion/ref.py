"""NerveNet-like policy: flat batch of robot graphs, attention over incoming edges, gated node updates."""
import os
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from p05_segments import segment_softmax, segment_sum  # noqa: E402

FRAMEWORK = "torch"
NODE, EDGE, HID, HEADS, ROUNDS, GRAPHS = 6, 3, 16, 2, 3, 3


class GraphPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(NODE, HID)
        self.message = nn.Linear(2 * HID + EDGE, HID)
        self.msg_norm = nn.LayerNorm(HID)
        self.att = nn.Linear(HID, HEADS)
        self.update = nn.GRUCell(HID, HID)
        self.readout_gate = nn.Linear(HID + NODE, 1)
        self.readout = nn.Linear(HID, HID)
        self.value = nn.Linear(HID, 1)
        self.mu = nn.Linear(2 * HID, 1)
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, x, edge_index, edge_attr, batch):
        n = x.size(0)
        src, dst = edge_index
        h = torch.tanh(self.embed(x))
        for _ in range(ROUNDS):
            m = self.message(torch.cat([h[src], h[dst], edge_attr], dim=-1))
            m = F.leaky_relu(self.msg_norm(m))
            alpha = segment_softmax(self.att(m), dst, n)
            m = m.view(-1, HEADS, HID // HEADS) * alpha.unsqueeze(-1)
            h = self.update(segment_sum(m.flatten(1), dst, n), h)
        gate = torch.sigmoid(self.readout_gate(torch.cat([h, x], dim=-1)))
        pooled = segment_sum(gate * self.readout(h), batch, GRAPHS)
        mu = torch.tanh(self.mu(torch.cat([h, pooled[batch]], dim=-1))).squeeze(-1)
        std = self.log_std.exp().expand_as(mu)
        return mu, std, self.value(F.relu(pooled)).squeeze(-1)


def make():
    torch.manual_seed(17)
    net = GraphPolicy()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if p.dim() == 1:
                p.normal_(0, 0.25)
            else:
                p.normal_(0, 1.3 / p.shape[1] ** 0.5)
        net.msg_norm.weight.add_(1)
    return net.eval()


def inputs(seed):
    rng = np.random.RandomState(seed)
    sizes = [5, 3, 4]
    x = rng.randn(sum(sizes), NODE).astype(np.float32)
    edges, offset = [], 0
    for size in sizes:
        for child in range(1, size):                       # a random kinematic tree
            parent = rng.randint(0, child)
            edges += [(offset + parent, offset + child), (offset + child, offset + parent)]
        edges.append((offset + size - 1, offset))          # one directed contact edge
        offset += size
    edge_index = np.array(edges, np.int64).T.copy()
    edge_attr = rng.randn(edge_index.shape[1], EDGE).astype(np.float32)
    batch = np.repeat(np.arange(len(sizes)), sizes).astype(np.int64)
    return x, edge_index, edge_attr, batch
