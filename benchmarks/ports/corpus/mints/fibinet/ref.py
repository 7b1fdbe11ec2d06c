"""FiBiNET (Huang et al. 2019): SENET over feature fields and bilinear interaction."""
from itertools import combinations

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
FIELD_DIMS = (7, 5, 9, 4)


class SENET(nn.Module):
    def __init__(self, fields, reduction):
        super().__init__()
        self.fc1 = nn.Linear(fields, reduction, bias=False)
        self.fc2 = nn.Linear(reduction, fields, bias=False)

    def forward(self, x):
        z = torch.mean(x, dim=-1)
        a = F.relu(self.fc1(z))
        a = F.relu(self.fc2(a))
        return x * a.unsqueeze(2)


class BilinearInteraction(nn.Module):
    """bilinear_type = 'each'"""

    def __init__(self, fields, dim):
        super().__init__()
        self.bilinear = nn.ModuleList([nn.Linear(dim, dim, bias=False) for _ in range(fields - 1)])

    def forward(self, inputs):
        inputs = torch.split(inputs, 1, dim=1)
        p = [torch.mul(self.bilinear[i](inputs[i]), inputs[j]) for i, j in combinations(range(len(inputs)), 2)]
        return torch.cat(p, dim=1)


class FiBiNET(nn.Module):
    def __init__(self, dim=4, dense=3):
        super().__init__()
        fields = len(FIELD_DIMS)
        self.register_buffer("offsets", torch.tensor((0, *np.cumsum(FIELD_DIMS)[:-1])))
        self.embedding = nn.Embedding(sum(FIELD_DIMS), dim)
        self.linear_emb = nn.Embedding(sum(FIELD_DIMS), 1)
        self.linear_dense = nn.Linear(dense, 1)
        self.senet = SENET(fields, 2)
        self.bilinear = BilinearInteraction(fields, dim)
        pairs = fields * (fields - 1) // 2
        self.dnn1 = nn.Linear(2 * pairs * dim + dense, 16)
        self.bn1 = nn.BatchNorm1d(16)
        self.dnn2 = nn.Linear(16, 8)
        self.bn2 = nn.BatchNorm1d(8)
        self.dnn_out = nn.Linear(8, 1, bias=False)

    def forward(self, ids, dense):
        ids = ids + self.offsets
        emb = self.embedding(ids)
        linear_logit = self.linear_emb(ids).sum(dim=1) + self.linear_dense(dense)
        senet_out = self.senet(emb)
        senet_bilinear = self.bilinear(senet_out)
        bilinear = self.bilinear(emb)
        temp = torch.cat((senet_bilinear, bilinear), dim=1)
        x = torch.cat([torch.flatten(temp, start_dim=1), dense], dim=-1)
        x = F.relu(self.bn1(self.dnn1(x)))
        x = F.relu(self.bn2(self.dnn2(x)))
        return torch.sigmoid(linear_logit + self.dnn_out(x))


def make():
    net = FiBiNET()
    g = torch.Generator().manual_seed(17)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.6)
        for bn in (net.bn1, net.bn2):
            bn.weight.add_(1.0)
            bn.running_mean.copy_(torch.randn(bn.running_mean.shape, generator=g) * 0.3)
            bn.running_var.copy_(torch.rand(bn.running_var.shape, generator=g) + 0.4)
        net.embedding.weight.mul_(1.5)
        net.senet.fc1.weight.abs_()
        net.senet.fc2.weight.abs_()
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    ids = np.stack([rng.integers(0, d, size=8) for d in FIELD_DIMS], axis=1)
    return ids, rng.normal(size=(8, 3)).astype("float32")
