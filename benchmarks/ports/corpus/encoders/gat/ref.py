"""Graph attention with a dense adjacency."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
B, N, F, H, D, OUT = 3, 9, 7, 3, 6, 4


class GATLayer(nn.Module):
    def __init__(self, n_in, heads, dim, concat):
        super().__init__()
        self.heads, self.dim, self.concat = heads, dim, concat
        self.w = nn.Linear(n_in, heads * dim, bias=False)
        self.src, self.dst = nn.Parameter(torch.randn(heads, dim) * 0.5), nn.Parameter(torch.randn(heads, dim) * 0.5)
        self.bias = nn.Parameter(torch.randn(heads * dim if concat else dim) * 0.1)

    def forward(self, x, adj):
        b, n, _ = x.shape
        h = self.w(x).view(b, n, self.heads, self.dim)
        s_dst = (h * self.dst).sum(-1)
        s_src = (h * self.src).sum(-1)
        e = nn.functional.leaky_relu(s_dst.unsqueeze(2) + s_src.unsqueeze(1), 0.2)
        e = e.masked_fill(adj.unsqueeze(-1) == 0, -1e9)
        alpha = torch.softmax(e, dim=2)
        out = torch.einsum("bijh,bjhd->bihd", alpha, h)
        out = out.reshape(b, n, -1) if self.concat else out.mean(2)
        return out + self.bias


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = GATLayer(F, H, D, True), GATLayer(H * D, H, OUT, False)

    def forward(self, x, adj):
        adj = torch.clamp(adj + torch.eye(adj.shape[-1]), max=1.0)
        x = nn.functional.elu(self.l1(x, adj))
        return torch.log_softmax(self.l2(x, adj), -1)


def make():
    torch.manual_seed(9)
    return GAT()


def inputs(seed):
    r = np.random.default_rng(seed + 9)
    x = r.normal(size=(B, N, F)).astype("float32")
    adj = (r.random((B, N, N)) < 0.3).astype("float32")
    adj = np.maximum(adj, adj.transpose(0, 2, 1))
    for b in range(B):
        np.fill_diagonal(adj[b], 0)
        for i in range(N):
            adj[b, i, (i + 1) % N] = adj[b, (i + 1) % N, i] = 1
    return x, adj
