"""Decima: GNN scheduler for job DAGs (node policy and parallelism-limit policy)."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
N, J, S, FD, E, LIM = 8, 3, 3, 5, 8, 4


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


class GraphEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.prep, self.proc, self.agg = mlp(FD, 12, E), mlp(E, 12, E), mlp(E, 12, E)

    def forward(self, x, adj, level_mask):
        h_init = self.prep(x)
        h = h_init
        for s in range(S):
            y = self.proc(h)
            y = torch.bmm(adj, y)
            y = self.agg(y)
            h = h + y * level_mask[:, s].unsqueeze(-1)
        return h


class Decima(nn.Module):
    def __init__(self):
        super().__init__()
        self.gcn = GraphEncoder()
        self.dag, self.glob = mlp(FD + E, 12, E), mlp(E, 12, E)
        self.node_policy = mlp(FD + 3 * E, 16, 1)
        self.limit_policy = mlp(2 * E + 1, 16, 1)

    def forward(self, x, adj, level_mask, job_of, ready):
        b = x.size(0)
        h = self.gcn(x, adj, level_mask)
        per_node = self.dag(torch.cat([x, h], dim=-1))
        dag = torch.bmm(job_of, per_node)
        glob = self.glob(dag).sum(dim=1)
        dag_node = torch.bmm(job_of.transpose(1, 2), dag)
        glob_node = glob.unsqueeze(1).expand(b, N, E)
        score = self.node_policy(torch.cat([x, h, dag_node, glob_node], dim=-1)).squeeze(-1)
        score = score + (ready - 1.0) * 1e5
        node_prob = torch.softmax(score, dim=-1)
        limits = torch.arange(LIM, dtype=x.dtype) / LIM
        job = torch.cat([dag, glob.unsqueeze(1).expand(b, J, E)], dim=-1)
        job = job.unsqueeze(2).expand(b, J, LIM, 2 * E)
        lim = limits.view(1, 1, LIM, 1).expand(b, J, LIM, 1)
        lim_score = self.limit_policy(torch.cat([job, lim], dim=-1)).squeeze(-1)
        return node_prob, torch.softmax(lim_score, dim=-1), glob


def make():
    g = torch.Generator().manual_seed(71)
    m = Decima().eval()
    with torch.no_grad():
        for p in m.parameters():
            r = torch.randn(p.shape, generator=g)
            p.copy_(0.2 * r if p.ndim == 1 else 1.2 * r / np.sqrt(p.shape[1]))
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    b = 4
    x = r.normal(size=(b, N, FD))
    job = np.sort(r.integers(0, J, (b, N)), axis=1)
    adj = np.triu(r.random((b, N, N)) < 0.6, 1) & (job[:, :, None] == job[:, None, :])
    lev = np.zeros((b, N), int)
    for i in range(b):
        for n in range(N - 1, -1, -1):
            k = np.where(adj[i, n])[0]
            lev[i, n] = 0 if not len(k) else 1 + lev[i, k].max()
    masks = np.stack([(lev == s + 1) for s in range(S)], 1)
    job_of = np.stack([(job == j) for j in range(J)], 1)
    ready = r.random((b, N)) < 0.6
    ready[:, 0] = True
    f = lambda a: a.astype("float32")
    return f(x), f(adj), f(masks), f(job_of), f(ready)
