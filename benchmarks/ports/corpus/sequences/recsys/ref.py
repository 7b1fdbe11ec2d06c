"""A recommender: matrix factorisation and DCN-v2."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
U, I, E, N, B = 20, 15, 8, 5, 8
X = 2 * E + N


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(U, E), nn.Embedding(I, E)
        self.user_bias, self.item_bias = nn.Embedding(U, 1), nn.Embedding(I, 1)
        self.mu = nn.Parameter(torch.tensor(0.37))
        self.bn = nn.BatchNorm1d(N)
        self.cross = nn.ModuleList(nn.Linear(X, X) for _ in range(2))
        self.deep = nn.Sequential(nn.Linear(X, 24), nn.ReLU(), nn.Linear(24, 10), nn.ReLU())
        self.head = nn.Linear(X + 10, 1)

    def forward(self, user, item, dense):
        u, i = self.user(user), self.item(item)
        mf = (u * i).sum(-1) + self.user_bias(user)[:, 0] + self.item_bias(item)[:, 0] + self.mu
        x0 = torch.cat([u, i, self.bn(torch.log1p(dense))], dim=1)
        x = x0
        for layer in self.cross:
            x = x0 * layer(x) + x
        h = torch.cat([x, self.deep(x0)], dim=1)
        logit = self.head(h)[:, 0] + mf
        return {"rating": 1 + 4 * torch.sigmoid(logit), "mf": mf}


def make():
    torch.manual_seed(10)
    t = Recommender().eval()
    with torch.no_grad():
        t.bn.running_mean.uniform_(0.2, 1), t.bn.running_var.uniform_(0.1, 1)
        t.bn.weight.uniform_(0.5, 1.5), t.bn.bias.normal_(0, 0.3)
        for e in (t.user, t.item, t.user_bias, t.item_bias):
            e.weight.mul_(0.5)
    return t


def inputs(seed):
    g = np.random.default_rng(seed + 10)
    return g.integers(0, I, B), g.integers(0, I, B), g.exponential(2, (B, N)).astype("float32")
