"""End-to-end memory network (Sukhbaatar et al., 2015), adjacent weight tying."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


def position_encoding(length, dim):
    j = torch.arange(1, length + 1, dtype=torch.float32)[:, None]
    k = torch.arange(1, dim + 1, dtype=torch.float32)[None, :]
    return (1 - j / length) - (k / dim) * (1 - 2 * j / length)


class MemN2N(nn.Module):
    def __init__(self, vocab=36, dim=14, hops=3, memory=10, sentence=6):
        super().__init__()
        self.hops = hops
        self.words = nn.ModuleList(nn.Embedding(vocab, dim, padding_idx=0) for _ in range(hops + 1))
        self.times = nn.ParameterList(nn.Parameter(torch.zeros(memory, dim)) for _ in range(hops + 1))
        self.register_buffer("pe", position_encoding(sentence, dim))

    def bag(self, k, ids):
        return (self.words[k](ids) * self.pe).sum(-2)

    def forward(self, story, query):
        # story: B M S, most recent sentence first, query: B S
        m = story.shape[1]
        empty = (story == 0).all(-1)
        u = self.bag(0, query)
        for hop in range(self.hops):
            keys = self.bag(hop, story) + self.times[hop][:m]
            values = self.bag(hop + 1, story) + self.times[hop + 1][:m]
            score = torch.bmm(keys, u.unsqueeze(-1)).squeeze(-1)
            p = torch.softmax(score.masked_fill(empty, float("-inf")), dim=-1)
            o = (p.unsqueeze(-1) * values).sum(1)
            u = u + o
        return u @ self.words[self.hops].weight.T


def make(seed=41):
    net = MemN2N()
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(0.45 * torch.randn(p.shape, generator=g))
        for e in net.words:
            e.weight[0] = 0
    return net.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    b, m, s = 6, 8, 6
    story, query = r.integers(1, 36, (b, m, s)), r.integers(1, 36, (b, s))
    for i in range(b):
        for j in range(m):
            story[i, j, r.integers(3, s + 1):] = 0
        story[i, r.integers(4, m + 1):] = 0
        query[i, r.integers(3, s + 1):] = 0
    return story.astype("int64"), query.astype("int64")
