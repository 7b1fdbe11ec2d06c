"""L2D (Zhang et al. 2020): learning to dispatch, job-shop scheduling with a GIN on the disjunctive graph."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
JOBS, MACH, HID = 3, 3, 12
NODES = JOBS * MACH


class MLP(nn.Module):
    def __init__(self, nin):
        super().__init__()
        self.lin1 = nn.Linear(nin, HID)
        self.bn = nn.BatchNorm1d(HID)
        self.lin2 = nn.Linear(HID, HID)

    def forward(self, x):
        return self.lin2(F.relu(self.bn(self.lin1(x))))


class GraphCNN(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.mlps = nn.ModuleList(MLP(2 if i == 0 else HID) for i in range(layers))
        self.bns = nn.ModuleList(nn.BatchNorm1d(HID) for _ in range(layers))

    def forward(self, x, adj, pool):
        b = x.shape[0]
        h = x
        for mlp, bn in zip(self.mlps, self.bns):
            pooled = torch.bmm(adj, h)
            rep = mlp(pooled.reshape(b * NODES, -1))
            h = F.relu(bn(rep)).view(b, NODES, HID)
        return torch.bmm(pool, h).squeeze(1), h


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.gnn = GraphCNN()
        self.actor = nn.ModuleList([nn.Linear(2 * HID, HID), nn.Linear(HID, HID), nn.Linear(HID, 1)])
        self.critic = nn.ModuleList([nn.Linear(HID, HID), nn.Linear(HID, 1)])

    @staticmethod
    def run(stack, x):
        for lin in stack[:-1]:
            x = torch.tanh(lin(x))
        return stack[-1](x)

    def forward(self, feats, adj, pool, candidate, mask):
        h_pooled, h_nodes = self.gnn(feats, adj, pool)
        idx = candidate.unsqueeze(-1).expand(-1, -1, HID)
        cand = torch.gather(h_nodes, 1, idx)
        glob = h_pooled.unsqueeze(1).expand_as(cand)
        scores = self.run(self.actor, torch.cat([cand, glob], dim=-1)).squeeze(-1) * 10
        scores = scores.masked_fill(mask, float("-inf"))
        pi = F.softmax(scores, dim=1)
        return pi, self.run(self.critic, h_pooled), h_nodes


def make():
    m = ActorCritic()
    g = torch.Generator().manual_seed(6)
    with torch.no_grad():
        for n, p in m.named_parameters():
            if "bn" in n and n.endswith("weight"):
                p.copy_(1 + 0.2 * torch.randn(p.shape, generator=g))
            else:
                p.copy_(torch.randn(p.shape, generator=g) * (p.shape[1] ** -0.5 if p.dim() > 1 else 0.2))
        for n, b in m.named_buffers():
            if n.endswith("running_mean"):
                b.copy_(0.2 * torch.randn(b.shape, generator=g))
            if n.endswith("running_var"):
                b.copy_(0.5 + torch.rand(b.shape, generator=g))
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    feats = np.stack([r.rand(4, NODES) * 2, r.randint(0, 2, (4, NODES))], -1).astype("float32")
    adj = np.zeros((4, NODES, NODES), "float32") + np.eye(NODES, dtype="float32")
    for j in range(JOBS):
        for k in range(1, MACH):
            adj[:, j * MACH + k, j * MACH + k - 1] = 1
    extra = (r.rand(4, NODES, NODES) < 0.12).astype("float32")
    adj = np.maximum(adj, extra)
    pool = np.full((4, 1, NODES), 1.0 / NODES, "float32")
    cand = np.arange(JOBS)[None] * MACH + r.randint(0, MACH, (4, JOBS))
    mask = np.zeros((4, JOBS), bool)
    mask[np.arange(4), r.randint(0, JOBS, 4)] = True
    return feats, adj, pool, cand.astype("int64"), mask
