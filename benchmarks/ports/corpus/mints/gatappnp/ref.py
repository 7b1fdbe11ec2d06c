"""GATv2 (Brody et al. 2022) encoder with APPNP propagation (Gasteiger et al. 2019), dense torch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class GATv2Layer(nn.Module):
    def __init__(self, fin, fout, heads):
        super().__init__()
        self.heads, self.fout = heads, fout
        self.lin_l = nn.Linear(fin, heads * fout)
        self.lin_r = nn.Linear(fin, heads * fout)
        self.att = nn.Parameter(torch.empty(heads, fout))
        self.bias = nn.Parameter(torch.empty(heads * fout))

    def forward(self, x, adj):
        b, n, _ = x.shape
        x_l = self.lin_l(x).view(b, n, self.heads, self.fout)
        x_r = self.lin_r(x).view(b, n, self.heads, self.fout)
        pair = x_r.unsqueeze(2) + x_l.unsqueeze(1)  # (b, target, source, h, f)
        scores = (F.leaky_relu(pair, 0.2) * self.att).sum(-1)
        scores = scores.masked_fill(adj.unsqueeze(-1) == 0, float("-inf"))
        alpha = torch.softmax(scores, dim=2)
        out = torch.einsum("btsh,bshf->bthf", alpha, x_l)
        return out.reshape(b, n, -1) + self.bias


def sym_norm(adj):
    deg = adj.sum(-1)
    inv = deg.pow(-0.5)
    return inv.unsqueeze(-1) * adj * inv.unsqueeze(-2)


class Net(nn.Module):
    def __init__(self, fin=6, hidden=4, heads=2, classes=5, k=4, alpha=0.15):
        super().__init__()
        self.gat = GATv2Layer(fin, hidden, heads)
        self.lin1 = nn.Linear(heads * hidden, 8)
        self.lin2 = nn.Linear(8, classes)
        self.k, self.alpha = k, alpha

    def forward(self, x, adj):
        adj = adj + torch.eye(adj.shape[-1])
        h = F.elu(self.gat(x, adj))
        h = self.lin2(F.relu(self.lin1(h)))
        a_hat = sym_norm(adj)
        z = h
        for _ in range(self.k):
            z = a_hat @ z
            z = z * (1 - self.alpha)
            z = z + self.alpha * h
        return F.log_softmax(z, dim=-1)


def make():
    net = Net()
    g = torch.Generator().manual_seed(8)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.5)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4, 7, 6)).astype("float32")
    upper = np.triu(rng.uniform(size=(4, 7, 7)) < 0.4, 1)
    ring = np.roll(np.eye(7), 1, axis=1) > 0
    adj = upper | upper.transpose(0, 2, 1) | ring | ring.T
    return x, adj.astype("float32")
