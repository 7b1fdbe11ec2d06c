"""PyTorch port of the structure2vec Q-network."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, P, ROUNDS, STEPS = 6, 8, 3, 2


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.node = nn.Linear(2, P, bias=False)
        self.msg = nn.Linear(P, P)
        self.edge_in = nn.Linear(1, P)
        self.edge_out = nn.Linear(P, P, bias=False)

    def edges(self, w, adj):
        e = F.relu(self.edge_in(w.unsqueeze(-1)))
        return self.edge_out((e * adj.unsqueeze(-1)).sum(2))

    def forward(self, feats, adj, edge):
        base = self.node(feats) + edge
        mu = F.relu(base)
        for _ in range(ROUNDS):
            mu = F.relu(base + self.msg(torch.bmm(adj, mu)))
        return mu


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.s2v = Embedding()
        self.glob = nn.Linear(P, P)
        self.local = nn.Linear(P, P)
        self.out = nn.Linear(2 * P, 1)

    def q_values(self, mu, tag):
        pooled = self.glob(mu.sum(1)).unsqueeze(1).expand(-1, N, -1)
        h = F.relu(torch.cat([pooled, self.local(mu)], dim=-1))
        q = self.out(h).squeeze(-1)
        return q - 1e4 * tag

    def forward(self, w, degree):
        adj = (w > 0).float()
        edge = self.s2v.edges(w, adj)
        tag = torch.zeros_like(degree)
        qs, rewards = [], []
        for _ in range(STEPS):
            mu = self.s2v(torch.stack([tag, degree], dim=-1), adj, edge)
            q = self.q_values(mu, tag)
            qs.append(q * (1 - tag))
            pick = F.one_hot(q.argmax(1), N).float()
            gain = torch.einsum("bij,bj,bi->b", w, pick, 1 - 2 * tag)
            rewards.append(gain)
            tag = tag + pick
        mu = self.s2v(torch.stack([tag, degree], dim=-1), adj, edge)
        target = rewards[-1] + 0.9 * self.q_values(mu, tag).max(1).values
        return torch.stack(qs, dim=1), torch.stack(rewards + [target], dim=1)


def make():
    m = QNet()
    g = torch.Generator().manual_seed(19)
    with torch.no_grad():
        for p in m.parameters():
            r = torch.randn(p.shape, generator=g)
            p.copy_(r / p.shape[1] ** 0.5 if p.dim() > 1 else 0.3 * r)
        m.s2v.msg.weight.mul_(0.4)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    w = np.triu(r.rand(4, N, N) * (r.rand(4, N, N) < 0.6), 1)
    w = (w + w.transpose(0, 2, 1)).astype("float32")
    return w, (w > 0).sum(2).astype("float32") / N


@torch.no_grad()
def load(ported, original):
    for a, b in ((ported.s2v.node, original.th1), (ported.s2v.msg, original.th2), (ported.s2v.edge_out, original.th3),
                 (ported.s2v.edge_in, original.th4), (ported.glob, original.th6), (ported.local, original.th7),
                 (ported.out, original.th5)):
        a.weight.copy_(torch.from_numpy(b.W.array))
        if a.bias is not None:
            a.bias.copy_(torch.from_numpy(b.b.array))
