"""Agents on a graph: two attention layers over edges, then a graph ODE in RK4 steps."""

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
NODES = 9


class GATConv(nn.Module):
    def __init__(self, in_features, out_features, heads, concat=True, slope=0.2):
        super().__init__()
        self.heads, self.out, self.concat, self.slope = heads, out_features, concat, slope
        self.lin = nn.Linear(in_features, heads * out_features, bias=False)
        self.att_src = nn.Parameter(0.5 * torch.randn(1, heads, out_features))
        self.att_dst = nn.Parameter(0.5 * torch.randn(1, heads, out_features))
        self.bias = nn.Parameter(0.1 * torch.randn(heads * out_features if concat else out_features))

    def forward(self, x, edge_index):
        src, dst = edge_index
        n = x.shape[0]
        h = self.lin(x).view(n, self.heads, self.out)
        a_src = (h * self.att_src).sum(-1)
        a_dst = (h * self.att_dst).sum(-1)
        alpha = F.leaky_relu(a_src[src] + a_dst[dst], self.slope)
        index = dst[:, None].expand_as(alpha)
        top = torch.full((n, self.heads), -1e30).scatter_reduce(0, index, alpha, "amax")
        alpha = torch.exp(alpha - top[dst])
        total = torch.zeros(n, self.heads).index_add(0, dst, alpha)
        alpha = alpha / (total[dst] + 1e-16)
        out = torch.zeros(n, self.heads, self.out).index_add(0, dst, h[src] * alpha.unsqueeze(-1))
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        return out + self.bias


class GraphODE(nn.Module):
    def __init__(self, dim, steps=3, horizon=1.5):
        super().__init__()
        self.lin1 = nn.Linear(dim + 1, 20)
        self.lin2 = nn.Linear(20, dim)
        self.steps, self.dt = steps, horizon / steps

    def f(self, t, z, norm_adj):
        z = torch.cat([norm_adj @ z, torch.full((z.shape[0], 1), t)], dim=1)
        return self.lin2(torch.tanh(self.lin1(z)))

    def forward(self, z, norm_adj):
        t, dt = 0.0, self.dt
        for _ in range(self.steps):
            k1 = self.f(t, z, norm_adj)
            k2 = self.f(t + dt / 2, z + dt / 2 * k1, norm_adj)
            k3 = self.f(t + dt / 2, z + dt / 2 * k2, norm_adj)
            k4 = self.f(t + dt, z + dt * k3, norm_adj)
            z = z + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            t = t + dt
        return z


class GraphAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GATConv(6, 5, heads=3)
        self.conv2 = GATConv(15, 8, heads=2, concat=False)
        self.ode = GraphODE(8)
        self.value = nn.Linear(8, 1)

    def forward(self, x, edge_index):
        h = F.elu(self.conv1(x, edge_index))
        h = self.conv2(h, edge_index)
        adj = torch.zeros(NODES, NODES)
        adj[edge_index[1], edge_index[0]] = 1.0
        degree = adj.sum(1)
        norm_adj = degree.pow(-0.5)[:, None] * adj * degree.pow(-0.5)[None, :]
        h = self.ode(h, norm_adj)
        return h, self.value(h).squeeze(-1)


def make():
    torch.manual_seed(6)
    net = GraphAgent()
    with torch.no_grad():
        net.value.weight.mul_(3)
        net.conv2.lin.weight.mul_(2)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    ring = np.arange(NODES)
    src = np.concatenate([ring, ring, [0, 4, 7, 2]])
    dst = np.concatenate([ring, (ring + 1) % NODES, [5, 1, 3, 8]])
    x = rng.normal(size=(NODES, 6)).astype("float32")
    return x, np.stack([src, dst]).astype("int64")
