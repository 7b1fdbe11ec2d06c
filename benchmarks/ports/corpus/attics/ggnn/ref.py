"""Gated graph sequence network (Li et al., 2016), graph-level output, torch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class GGNN(nn.Module):
    def __init__(self, annot=5, hidden=12, edge_types=3, steps=4, classes=6):
        super().__init__()
        self.hidden, self.edge_types, self.steps = hidden, edge_types, steps
        self.msg_in = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(edge_types)])
        self.msg_out = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(edge_types)])
        self.gru = nn.GRUCell(2 * hidden, hidden)
        self.gate = nn.Linear(hidden + annot, hidden)
        self.value = nn.Linear(hidden + annot, hidden)
        self.cls = nn.Linear(hidden, classes)

    def forward(self, annotations, adjacency, node_mask):
        # annotations B N A; adjacency B E N N with [target, source]; node_mask B N
        b, n, a = annotations.shape
        h = torch.cat([annotations, annotations.new_zeros(b, n, self.hidden - a)], -1)
        backward = adjacency.transpose(2, 3)
        for _ in range(self.steps):
            incoming = sum(adjacency[:, e] @ self.msg_in[e](h) for e in range(self.edge_types))
            outgoing = sum(backward[:, e] @ self.msg_out[e](h) for e in range(self.edge_types))
            m = torch.cat([incoming, outgoing], -1)
            h = self.gru(m.reshape(b * n, -1), h.reshape(b * n, -1)).reshape(b, n, -1)
            h = h * node_mask[..., None]
        joined = torch.cat([h, annotations], -1)
        soft = torch.sigmoid(self.gate(joined)) * torch.tanh(self.value(joined))
        graph = torch.tanh((soft * node_mask.unsqueeze(-1)).sum(1))
        return self.cls(graph)


def make(seed=6):
    net = GGNN()
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in net.parameters():
            z = torch.randn(p.shape, generator=g)
            p.copy_(z / p.shape[-1] ** 0.5 if p.dim() > 1 else 0.25 * z)
    return net.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    b, n, e = 5, 8, 3
    size = r.integers(5, n + 1, b)
    mask = (np.arange(n)[None] < size[:, None]).astype("float32")
    adj = (r.random((b, e, n, n)) < 0.18) * mask[:, None, :, None] * mask[:, None, None, :]
    annot = np.eye(5)[r.integers(0, 5, (b, n))] * mask[..., None]
    return annot.astype("float32"), adj.astype("float32"), mask
