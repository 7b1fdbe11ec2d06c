"""A message-passing critic with attention pooling."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, Fi, H = 6, 5, 16


class TorchGNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(Fi, H)
        self.m0, self.m1 = nn.Linear(2 * H, H), nn.Linear(2 * H, H)
        self.u0, self.u1 = nn.Linear(2 * H, H), nn.Linear(2 * H, H)
        self.n0, self.n1 = nn.LayerNorm(H), nn.LayerNorm(H)
        self.gate, self.out1, self.out2 = nn.Linear(H, 1), nn.Linear(H, H), nn.Linear(H, 1)

    def round(self, h, adj, m, u, n):
        B = h.shape[0]
        hi = h.unsqueeze(2).expand(B, N, N, H)
        hj = h.unsqueeze(1).expand(B, N, N, H)
        msg = F.leaky_relu(m(torch.cat([hi, hj], -1)))
        deg = adj.sum(2, keepdim=True).clamp(min=1)
        agg = (msg * adj.unsqueeze(-1)).sum(2) / deg
        return n(h + F.leaky_relu(u(torch.cat([h, agg], -1))))

    def forward(self, x, adj, mask):
        h = F.leaky_relu(self.enc(x))
        h = self.round(h, adj, self.m0, self.u0, self.n0)
        h = self.round(h, adj, self.m1, self.u1, self.n1)
        score = self.gate(h).squeeze(-1).masked_fill(mask == 0, -1e9)
        pooled = (torch.softmax(score, 1).unsqueeze(-1) * h).sum(1)
        return self.out2(torch.tanh(self.out1(pooled))), h


def make():
    torch.manual_seed(8)
    m = TorchGNN()
    for n in (m.n0, m.n1):
        nn.init.uniform_(n.weight, 0.5, 1.5); nn.init.normal_(n.bias, 0, 0.2)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed + 8)
    adj = (r.random((5, N, N)) < 0.45).astype("float32")
    for b in range(5):
        np.fill_diagonal(adj[b], 0)
    adj[0, 1] = 0
    mask = np.ones((5, N), "float32")
    mask[1, 4:] = 0
    mask[3, 5:] = 0
    return (r.normal(size=(5, N, Fi)).astype("float32"), adj, mask)
