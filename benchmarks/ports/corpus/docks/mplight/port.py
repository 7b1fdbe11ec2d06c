"""MPLight / FRAP in torch, with 1x1 convolutions over the grid of pairs as in the authors' code."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
MOVES, PHASES, D = 8, 4, 6
PAIRS = torch.tensor([[0, 4], [1, 5], [2, 6], [3, 7]])
RELATION = torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]])


class MPLight(nn.Module):
    def __init__(self):
        super().__init__()
        self.queue = nn.Linear(2, 4)
        self.green = nn.Embedding(2, 4)
        self.mix = nn.Linear(8, D)
        self.pair = nn.Conv2d(2 * D, 10, 1)
        self.relation = nn.Embedding(2, 4)
        self.rel = nn.Conv2d(4, 10, 1)
        self.hidden = nn.Conv2d(10, 8, 1)
        self.score = nn.Conv2d(8, 1, 1)
        member = torch.zeros(PHASES, MOVES)
        member[torch.arange(PHASES)[:, None], PAIRS] = 1.0
        self.register_buffer("member", member)

    def demand(self, queues, phase):
        lit = (phase @ self.member).long()
        q = torch.sigmoid(self.queue(queues))
        g = torch.sigmoid(self.green(lit))
        return F.relu(self.mix(torch.cat([q, g], dim=-1)))

    def compete(self, phases):
        ours = phases.unsqueeze(2).expand(-1, PHASES, PHASES, D)
        theirs = phases.unsqueeze(1).expand(-1, PHASES, PHASES, D)
        grid = torch.cat([ours, theirs], dim=-1).permute(0, 3, 1, 2)
        x = F.relu(self.pair(grid))
        rel = self.relation(RELATION).permute(2, 0, 1).unsqueeze(0)
        x = x * F.relu(self.rel(rel))
        x = self.score(F.relu(self.hidden(x))).squeeze(1)
        x = x.masked_fill(torch.eye(PHASES, dtype=torch.bool), 0.0)
        return x.sum(dim=2)

    def forward(self, queues, phase):
        d = self.demand(torch.log1p(queues), phase)
        phases = d[:, PAIRS].sum(dim=2)
        q = self.compete(phases)
        pressure = (queues[..., 0] - queues[..., 1]).sum(dim=1, keepdim=True)
        return q, F.softmax(q / 0.5, dim=-1), q - 0.1 * pressure


def make():
    torch.manual_seed(15)
    m = MPLight()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape) * 0.5)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    queues = r.uniform(0, 9, size=(6, MOVES, 2)).astype("float32")
    return queues, np.eye(PHASES, dtype="float32")[r.integers(0, PHASES, 6)]


def load(m, o):
    t = lambda v: torch.from_numpy(v.numpy())
    pairs = ((m.queue, o.demand.queue), (m.mix, o.demand.mix), (m.pair, o.competition.pair),
             (m.rel, o.competition.rel), (m.hidden, o.competition.hidden), (m.score, o.competition.score))
    with torch.no_grad():
        for l, d in pairs:
            l.weight.copy_(t(d.w).T.reshape(l.weight.shape))
            l.bias.copy_(t(d.b))
        m.green.weight.copy_(t(o.demand.green))
        m.relation.weight.copy_(t(o.competition.relation))
