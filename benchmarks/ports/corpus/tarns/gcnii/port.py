"""GCNII in PyTorch."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
NODES, FEAT, HID, CLASSES, LAYERS = 7, 6, 12, 4, 4


class GraphConvolution(nn.Module):
    def __init__(self, dim, layer, alpha=0.2, lamda=0.5):
        super().__init__()
        self.alpha = alpha
        self.theta = math.log(lamda / layer + 1)
        self.weight = nn.Parameter(torch.empty(dim, dim))

    def forward(self, h, h0, adj):
        support = (1 - self.alpha) * torch.bmm(adj, h) + self.alpha * h0
        return torch.lerp(support, support @ self.weight, self.theta)


def sym_norm(adj):
    adj = adj + torch.eye(adj.shape[-1])
    inv = adj.sum(dim=-1).pow(-0.5)
    return torch.einsum("bi,bij,bj->bij", inv, adj, inv)


class GCNII(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc_in = nn.Linear(FEAT, HID)
        self.convs = nn.ModuleList([GraphConvolution(HID, i + 1) for i in range(LAYERS)])
        self.fc_out = nn.Linear(HID, CLASSES)

    def forward(self, x, adj):
        adj = sym_norm(adj)
        h0 = h = F.relu(self.fc_in(x))
        for conv in self.convs:
            h = F.relu(conv(h, h0, adj))
        return F.log_softmax(self.fc_out(h), dim=-1)


def make():
    model = GCNII()
    rs = np.random.RandomState(10)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rs.randn(*p.shape) * 0.35))
    return model.eval()


def inputs(seed):
    rs = np.random.RandomState(seed)
    x = rs.randn(4, NODES, FEAT).astype("float32")
    upper = np.triu(rs.rand(4, NODES, NODES) < 0.4, 1) | np.eye(NODES, k=1, dtype=bool)
    adj = (upper | upper.transpose(0, 2, 1)).astype("float32")
    return x, adj


def load(ported, original):
    p = {k: torch.from_numpy(v.numpy()) for k, v in original.params.items()}
    with torch.no_grad():
        ported.fc_in.weight.copy_(p["w_in"].T)
        ported.fc_in.bias.copy_(p["b_in"])
        for i, conv in enumerate(ported.convs):
            conv.weight.copy_(p[f"w{i + 1}"])
        ported.fc_out.weight.copy_(p["w_out"].T)
        ported.fc_out.bias.copy_(p["b_out"])
