"""Two graph attention layers over an edge list (Velickovic et al. 2018), with edge features. torch."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
NODES, EDGES, FEATURES, EDGE_FEATURES, CLASSES = 14, 40, 9, 3, 5


def segment_softmax(scores, index, count):
    """Softmax of scores (edges, heads) over the edges that share a target."""
    expanded = index.unsqueeze(-1).expand_as(scores)
    peak = torch.full((count, scores.shape[1]), float("-inf"), dtype=scores.dtype)
    peak = peak.scatter_reduce(0, expanded, scores, "amax")
    weights = torch.exp(scores - peak[index])
    total = torch.zeros(count, scores.shape[1], dtype=scores.dtype)
    total = total.scatter_add(0, expanded, weights)
    return weights / (total[index] + 1e-16)


class GATLayer(nn.Module):
    def __init__(self, size_in, size_out, heads, concat):
        super().__init__()
        self.heads, self.size_out, self.concat = heads, size_out, concat
        self.lin = nn.Linear(size_in, heads * size_out, bias=False)
        self.lin_edge = nn.Linear(EDGE_FEATURES, heads * size_out, bias=False)
        self.att_src = nn.Parameter(torch.randn(1, heads, size_out) * 0.5)
        self.att_dst = nn.Parameter(torch.randn(1, heads, size_out) * 0.5)
        self.att_edge = nn.Parameter(torch.randn(1, heads, size_out) * 0.5)
        self.bias = nn.Parameter(torch.randn(heads * size_out if concat else size_out) * 0.3)

    def forward(self, x, source, target, edge_attr):
        n = x.shape[0]
        h = self.lin(x).view(n, self.heads, self.size_out)
        e = self.lin_edge(edge_attr).view(-1, self.heads, self.size_out)
        alpha_src = (h * self.att_src).sum(dim=-1)
        alpha_dst = (h * self.att_dst).sum(dim=-1)
        alpha_edge = (e * self.att_edge).sum(dim=-1)
        alpha = alpha_src[source] + alpha_dst[target] + alpha_edge
        alpha = segment_softmax(F.leaky_relu(alpha, 0.2), target, n)
        messages = h[source] * alpha.unsqueeze(-1)
        out = torch.zeros(n, self.heads, self.size_out, dtype=x.dtype)
        out = out.index_add(0, target, messages)
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        return out + self.bias


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GATLayer(FEATURES, 8, 4, concat=True)
        self.second = GATLayer(32, CLASSES, 3, concat=False)
        self.skip = nn.Linear(FEATURES, 32)

    def add_loops(self, source, target, edge_attr, n):
        """Self loops, whose features are the mean of those that come in."""
        loops = torch.arange(n)
        count = torch.zeros(n, dtype=edge_attr.dtype).index_add(
            0, target, torch.ones(len(target), dtype=edge_attr.dtype)
        )
        total = torch.zeros(n, EDGE_FEATURES, dtype=edge_attr.dtype).index_add(0, target, edge_attr)
        mean = total / count.clamp(min=1)[:, None]
        return torch.cat([source, loops]), torch.cat([target, loops]), torch.cat([edge_attr, mean])

    def forward(self, x, edge_index, edge_attr):
        source, target = edge_index[0], edge_index[1]
        source, target, edge_attr = self.add_loops(source, target, edge_attr, x.shape[0])
        h = F.elu(self.first(x, source, target, edge_attr) + self.skip(x))
        return F.log_softmax(self.second(h, source, target, edge_attr), dim=-1)


def make():
    torch.manual_seed(2)
    return GAT().eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(NODES, FEATURES)).astype("float32"),
        rng.integers(0, NODES, size=(2, EDGES)).astype("int64"),
        rng.normal(size=(EDGES, EDGE_FEATURES)).astype("float32"),
    )
