"""DeepFM: one embedding table with field offsets, FM by the square trick, a deep tower."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
FIELDS, E, D = (11, 7, 23, 5, 13), 8, 4


class DeepFM(nn.Module):
    def __init__(self):
        super().__init__()
        n = sum(FIELDS)
        self.register_buffer("offsets", torch.tensor([0, *np.cumsum(FIELDS)[:-1].tolist()]))
        self.linear = nn.Embedding(n, 1)
        self.dense_linear = nn.Linear(D, 1)
        self.embedding = nn.Embedding(n, E)
        self.mlp = nn.Sequential(
            nn.Linear(len(FIELDS) * E + D, 32), nn.BatchNorm1d(32), nn.ReLU(),
            nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1),
        )

    def forward(self, sparse, dense):
        idx = sparse + self.offsets
        v = self.embedding(idx)  # (b, f, e)
        first = self.linear(idx).sum(1) + self.dense_linear(dense)
        square_of_sum = v.sum(1).pow(2)
        sum_of_square = v.pow(2).sum(1)
        fm = 0.5 * (square_of_sum - sum_of_square).sum(1, keepdim=True)
        deep = self.mlp(torch.cat([v.flatten(1), dense], dim=1))
        return torch.sigmoid(first + fm + deep).squeeze(1)


def make():
    torch.manual_seed(4)
    net = DeepFM()
    nn.init.normal_(net.embedding.weight, 0, 0.3)
    for m in net.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.running_mean.normal_(0, 0.3)
            m.running_var.uniform_(0.1, 1.0)
            nn.init.uniform_(m.weight, 0.5, 1.5)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    sparse = np.stack([rng.integers(0, n, 12) for n in FIELDS], 1)
    return sparse, rng.normal(size=(12, D)).astype("float32")
