"""PLE in torch, as recommender repositories write it."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"

FIELDS = (9, 7, 11)
EMB, DENSE, UNITS = 4, 3, 8


class Expert(nn.Sequential):
    def __init__(self, n_in, n_out):
        super().__init__(nn.Linear(n_in, n_out), nn.ReLU())


class CGC(nn.Module):
    def __init__(self, n_in, n_out, tasks=2, own=2, shared=3, last=False):
        super().__init__()
        self.own = nn.ModuleList(
            nn.ModuleList(Expert(n_in, n_out) for _ in range(own)) for _ in range(tasks)
        )
        self.shared = nn.ModuleList(Expert(n_in, n_out) for _ in range(shared))
        self.gates = nn.ModuleList(nn.Linear(n_in, own + shared) for _ in range(tasks))
        self.shared_gate = None if last else nn.Linear(n_in, tasks * own + shared)

    def forward(self, states):
        """States of the tasks, then the shared one."""
        own = [[expert(x) for expert in experts] for experts, x in zip(self.own, states)]
        shared = [expert(states[-1]) for expert in self.shared]
        out = []
        for gate, experts, x in zip(self.gates, own, states):
            weight = gate(x).softmax(-1).unsqueeze(1)
            out.append(torch.bmm(weight, torch.stack(experts + shared, 1)).squeeze(1))
        if self.shared_gate is not None:
            weight = self.shared_gate(states[-1]).softmax(-1).unsqueeze(1)
            everything = torch.stack(sum(own, []) + shared, 1)
            out.append(torch.bmm(weight, everything).squeeze(1))
        return out


class PLE(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(n, EMB) for n in FIELDS)
        self.item_embedding = nn.Embedding(13, EMB)
        n_in = EMB * (len(FIELDS) + 1) + DENSE
        self.extraction = nn.ModuleList([CGC(n_in, UNITS), CGC(UNITS, UNITS, last=True)])
        self.towers = nn.ModuleList(
            nn.Sequential(nn.Linear(UNITS, UNITS // 2), nn.ReLU(), nn.Linear(UNITS // 2, 1)) for _ in range(2)
        )

    def pool_history(self, clicked):
        mask = (clicked != 0).float().unsqueeze(-1)
        embedded = self.item_embedding(clicked) * mask
        return embedded.sum(1) / (mask.sum(1) + 1e-8)

    def forward(self, sparse, dense, clicked):
        x = [embed(sparse[:, i]) for i, embed in enumerate(self.embeddings)]
        x = torch.cat([*x, self.pool_history(clicked), dense], dim=-1)
        states = [x] * 3
        for level in self.extraction:
            states = level(states)
        ctr, cvr = (torch.sigmoid(tower(s)) for tower, s in zip(self.towers, states))
        return ctr, ctr * cvr


def make():
    torch.manual_seed(5)
    net = PLE()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(0.4 * torch.randn_like(p))
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 8
    sparse = np.stack([rng.integers(0, n, b) for n in FIELDS], 1)
    dense = rng.normal(size=(b, DENSE)).astype("float32")
    clicked = rng.integers(1, 13, (b, 5))
    clicked[np.arange(5)[None] >= rng.integers(1, 6, b)[:, None]] = 0
    return sparse.astype("int64"), dense, clicked.astype("int64")


def load(ported, original):
    def put(p, v):
        p.data.copy_(torch.tensor(np.asarray(v)))

    def linear(m, l):
        put(m.weight, l.w.numpy().T)
        put(m.bias, l.b.numpy())

    def experts(modules, e):
        for i, m in enumerate(modules):
            put(m[0].weight, e.w.numpy()[i].T)
            put(m[0].bias, e.b.numpy()[i])

    for m, t in zip(ported.embeddings, original.tables):
        put(m.weight, t.numpy())
    put(ported.item_embedding.weight, original.items.numpy())
    for m, e in zip(ported.extraction, (original.level1, original.level2)):
        experts(m.own[0], e.click)
        experts(m.own[1], e.buy)
        experts(m.shared, e.shared)
        linear(m.gates[0], e.gate_click)
        linear(m.gates[1], e.gate_buy)
    linear(ported.extraction[0].shared_gate, original.level1.gate_shared)
    for m, t in zip(ported.towers, (original.tower_click, original.tower_buy)):
        linear(m[0], t.hidden)
        linear(m[2], t.logit)
