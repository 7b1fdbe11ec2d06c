"""VectorNet motion forecasting: polyline subgraphs, global attention, multi-modal decoder."""
import math
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
B, P, V, D, H, K, TF = 4, 6, 5, 8, 8, 3, 5


class SubgraphLayer(nn.Module):
    def __init__(self, din, h):
        super().__init__()
        self.fc = nn.Linear(din, h)
        self.norm = nn.LayerNorm(h)

    def forward(self, x, mask):
        h = F.relu(self.norm(self.fc(x)))
        pooled = h.masked_fill(~mask[..., None], -1e4).max(dim=2, keepdim=True).values
        pooled = torch.where(mask.any(dim=2)[..., None, None], pooled, torch.zeros_like(pooled))
        return torch.cat([h, pooled.expand_as(h)], dim=-1)


class GlobalGraph(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.d = d

    def forward(self, x, mask):
        s = torch.bmm(self.q(x), self.k(x).transpose(1, 2)) / math.sqrt(self.d)
        s = s.masked_fill(~mask[:, None, :], -1e9)
        return torch.bmm(torch.softmax(s, dim=-1), self.v(x))


class VectorNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = nn.ModuleList([SubgraphLayer(D, H), SubgraphLayer(2 * H, H)])
        self.glob = GlobalGraph(2 * H + 2)
        self.fc = nn.Linear(2 * H + 2, 16)
        self.norm = nn.LayerNorm(16)
        self.traj = nn.Linear(16, K * TF * 2)
        self.conf = nn.Linear(16, K)

    def forward(self, vectors, valid):
        mask = valid > 0.5
        poly_mask = mask.any(dim=2)
        x = vectors
        for layer in self.sub:
            x = layer(x, mask)
        x = x.masked_fill(~mask[..., None], -1e4).max(dim=2).values
        x = torch.where(poly_mask[..., None], x, torch.zeros_like(x))
        x = F.normalize(x, p=2, dim=-1)
        start = vectors[..., :2].masked_fill(~mask[..., None], 1e4).min(dim=2).values
        start = torch.where(poly_mask[..., None], start, torch.zeros_like(start))
        nodes = torch.cat([x, start], dim=-1)
        ctx = self.glob(nodes, poly_mask)
        agent = F.relu(self.norm(self.fc(ctx[:, 0])))
        steps = self.traj(agent).view(-1, K, TF, 2)
        origin = vectors[:, 0, -1, 2:4]
        pos = torch.cumsum(steps, dim=2) + origin[:, None, None, :]
        return pos, F.softmax(self.conf(agent), dim=-1)


def make():
    g = torch.Generator().manual_seed(51)
    m = VectorNet().eval()
    with torch.no_grad():
        for n, p in m.named_parameters():
            r = torch.randn(p.shape, generator=g)
            if "norm.weight" in n:
                p.copy_(1 + 0.2 * r)
            elif p.ndim == 1:
                p.copy_(0.15 * r)
            else:
                p.copy_((2.0 if ".q." in n or ".k." in n else 1.0) * r / np.sqrt(p.shape[1]))
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    x = (0.3 * r.normal(size=(B, P, V, D))).astype("float32")
    m = np.ones((B, P, V), "float32")
    for b in range(B):
        for p in range(1, P):
            m[b, p, r.integers(2, V + 1):] = 0
    m[1, 5] = 0
    m[3, 4:] = 0
    return x, m
