"""LightGCN (He et al. 2020): embeddings smoothed over a user-item graph, scored by inner products."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
USERS, ITEMS, DIM, LAYERS = 14, 19, 12, 3


def interactions():
    rng = np.random.default_rng(5)
    seen = rng.random((USERS, ITEMS)) < 0.25
    seen[np.arange(USERS), np.arange(USERS)] = True
    seen[rng.integers(0, USERS, ITEMS), np.arange(ITEMS)] = True
    return np.argwhere(seen)


class LightGCN(nn.Module):
    def __init__(self, pairs):
        super().__init__()
        self.user = nn.Embedding(USERS, DIM)
        self.item = nn.Embedding(ITEMS, DIM)
        self.user_bias = nn.Embedding(USERS, 1)
        self.item_bias = nn.Embedding(ITEMS, 1)
        u = torch.as_tensor(pairs[:, 0])
        i = torch.as_tensor(pairs[:, 1]) + USERS
        row, col = torch.cat([u, i]), torch.cat([i, u])
        degree = torch.bincount(row, minlength=USERS + ITEMS).float()
        norm = degree[row].rsqrt() * degree[col].rsqrt()
        self.register_buffer("row", row)
        self.register_buffer("col", col)
        self.register_buffer("norm", norm)

    def propagate(self):
        x = torch.cat([self.user.weight, self.item.weight])
        layers = [x]
        for _ in range(LAYERS):
            messages = x[self.col] * self.norm[:, None]
            x = torch.zeros_like(x).index_add(0, self.row, messages)
            layers.append(x)
        return torch.stack(layers).mean(0)

    def forward(self, users, candidates):
        table = self.propagate()
        u = table[users]
        v = table[candidates + USERS]
        scores = (u[:, None] * v).sum(-1)
        scores = scores + self.user_bias(users) + self.item_bias(candidates).squeeze(-1)
        return scores, torch.log_softmax(scores, dim=-1)


def make():
    torch.manual_seed(11)
    net = LightGCN(interactions())
    for p in net.parameters():
        nn.init.normal_(p, std=0.6)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    users = rng.permutation(USERS)[:6]
    items = np.stack([rng.permutation(ITEMS)[:7] for _ in range(6)])
    return users.astype("int64"), items.astype("int64")
