"""DLRM with a DeepFM term: bags of embeddings, pairwise interactions."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
DENSE, DIM, FIELDS, BAG = 5, 6, (20, 15, 30), 4


class CTR(nn.Module):
    def __init__(self):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(DENSE, 12), nn.ReLU(), nn.Linear(12, DIM), nn.ReLU())
        self.bags = nn.ModuleList([nn.EmbeddingBag(n, DIM, mode="mean", padding_idx=0) for n in FIELDS])
        self.first = nn.ModuleList([nn.EmbeddingBag(n, 1, mode="sum", padding_idx=0) for n in FIELDS])
        pairs = (len(FIELDS) + 1) * len(FIELDS) // 2
        self.top = nn.Sequential(nn.Linear(DIM + pairs, 10), nn.ReLU(), nn.Linear(10, 1))
        self.bias = nn.Parameter(torch.tensor([0.3]))

    def forward(self, dense, a, b, c):
        x = self.bottom(dense)
        fields = [bag(i) for bag, i in zip(self.bags, (a, b, c))]
        t = torch.stack([x] + fields, dim=1)
        gram = torch.bmm(t, t.transpose(1, 2))
        li, lj = torch.tril_indices(t.shape[1], t.shape[1], offset=-1)
        deep = self.top(torch.cat([x, gram[:, li, lj]], dim=1))
        e = torch.stack(fields, dim=1)
        fm = 0.5 * (e.sum(1).pow(2) - e.pow(2).sum(1)).sum(1, keepdim=True)
        first = sum(bag(i) for bag, i in zip(self.first, (a, b, c)))
        return torch.sigmoid(deep + fm + first + self.bias)


def make():
    torch.manual_seed(9)
    return CTR()


def inputs(seed):
    rng = np.random.default_rng(seed)
    ids = []
    for n in FIELDS:
        i = rng.integers(1, n, size=(7, BAG))
        i[np.arange(BAG)[None] >= rng.integers(1, BAG + 1, size=7)[:, None]] = 0
        ids.append(i)
    return (rng.normal(size=(7, DENSE)).astype("float32"), *ids)
