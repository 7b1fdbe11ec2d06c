"""Graph attention (Velickovic et al. 2018) on padded dense graphs, with a graph readout."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
NODES, FEATURES, HEADS, DIM, CLASSES = 9, 8, 4, 6, 5


class Attention(nn.Module):
    def __init__(self, fan_in, last=False):
        super().__init__()
        self.last = last
        self.project = nn.Linear(fan_in, HEADS * DIM, bias=False)
        self.receiver, self.sender = (nn.Parameter(torch.zeros(HEADS, DIM)) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(DIM if last else HEADS * DIM))

    def forward(self, x, adjacency):
        h = self.project(x).unflatten(-1, (HEADS, DIM))  # b n h d
        to, of = (h * self.receiver).sum(-1), (h * self.sender).sum(-1)  # b n h
        e = F.leaky_relu(to[:, :, None] + of[:, None, :], 0.2)  # b receiver sender h
        e = e.masked_fill(adjacency[..., None] == 0, -1e9)
        a = e.softmax(dim=2)
        out = torch.einsum("bijh,bjhd->bihd", a, h)
        out = out.mean(2) if self.last else out.flatten(2)
        return out + self.bias


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Attention(FEATURES), Attention(HEADS * DIM, last=True)
        self.skip = nn.Linear(FEATURES, DIM)
        self.classify = nn.Linear(DIM, CLASSES)

    def forward(self, x, adjacency, present):
        h = F.elu(self.first(x, adjacency))
        h = F.elu(self.second(h, adjacency) + self.skip(x))
        weight = present[..., None]
        pooled = (h * weight).sum(1) / weight.sum(1)
        return self.classify(pooled), h


@torch.no_grad()
def make(seed=0):
    net, g = GAT(), torch.Generator().manual_seed(seed)
    for p in net.parameters():
        p.copy_(torch.randn(p.shape, generator=g) * (p.shape[-1] ** -0.5 if p.ndim > 1 else 0.2))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4, NODES, FEATURES))
    sizes = np.array([9, 6, 7, 5])
    present = np.arange(NODES) < sizes[:, None]
    edges = rng.random((4, NODES, NODES)) < 0.4
    edges = edges & present[:, None] & present[:, :, None] | np.eye(NODES, dtype=bool)
    return x.astype("float32"), edges.astype("float32"), present.astype("float32")
