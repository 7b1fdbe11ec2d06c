"""DLRM click-through model (Naumov et al. 2019) with multi-hot features, PyTorch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
TABLES = [11, 23, 7, 40, 5]
DENSE, DIM, HOTS = 8, 12, 4


def mlp(*sizes):
    parts = []
    for a, b in zip(sizes, sizes[1:]):
        parts += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*parts)


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(
            nn.EmbeddingBag(n, DIM, mode="mean", padding_idx=0) for n in TABLES)
        self.bottom = mlp(DENSE, 24, DIM)
        f = len(TABLES) + 1
        self.top = mlp(DIM + f * (f - 1) // 2, 20, 10)
        self.head = nn.Linear(10, 1)
        li, lj = torch.tril_indices(f, f, offset=-1)
        self.register_buffer("li", li)
        self.register_buffer("lj", lj)

    def interact(self, dense, sparse):
        stack = torch.stack([dense] + sparse, dim=1)
        gram = torch.bmm(stack, stack.transpose(1, 2))
        pairs = gram[:, self.li, self.lj]
        return torch.cat([dense, pairs], dim=1)

    def forward(self, counts, ids):
        dense = self.bottom(torch.log1p(counts))
        sparse = [bag(ids[:, i]) for i, bag in enumerate(self.bags)]
        z = self.interact(dense, sparse)
        return torch.sigmoid(self.head(self.top(z))).squeeze(1)


def make(seed=8):
    torch.manual_seed(seed)
    net = DLRM()
    for m in net.modules():
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, 0, 1.2 / m.in_features ** 0.5)
            nn.init.normal_(m.bias, 0, 0.3)
        elif isinstance(m, nn.EmbeddingBag):
            nn.init.normal_(m.weight, 0, 0.6)
    return net.eval()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    counts = np.floor(r.exponential(6.0, (8, DENSE))).astype("float32")
    ids = np.zeros((8, len(TABLES), HOTS), "int64")
    for b in range(8):
        for t, n in enumerate(TABLES):
            k = r.integers(1, HOTS + 1)
            ids[b, t, :k] = r.integers(1, n, k)
    return counts, ids
