"""DCN-v2 + FM click-through model in torch, one fused table for all fields."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
FIELDS = (6, 11, 4, 9, 7)


class CrossNet(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(depth)])

    def forward(self, x0):
        x = x0
        for layer in self.layers:
            x = x0 * layer(x) + x
        return x


class CtrNet(nn.Module):
    def __init__(self, numeric=6, dim=5, tower=(24, 12)):
        super().__init__()
        starts = np.concatenate([[0], np.cumsum(FIELDS)[:-1]])
        self.register_buffer("starts", torch.as_tensor(starts))
        self.table = nn.Embedding(sum(FIELDS), dim)
        self.linear_table = nn.Embedding(sum(FIELDS), 1)
        self.bn = nn.BatchNorm1d(numeric, eps=1e-3)
        width = numeric + dim * len(FIELDS)
        self.cross = CrossNet(width, 3)
        blocks, last = [], width
        for units in tower:
            blocks += [nn.Linear(last, units), nn.BatchNorm1d(units, eps=1e-3), nn.ReLU()]
            last = units
        self.deep = nn.Sequential(*blocks)
        self.head = nn.Linear(width + last, 1)
        self.wide = nn.Linear(numeric, 1, bias=False)

    @staticmethod
    def interactions(v):
        total = v.sum(dim=1)
        return 0.5 * (total.pow(2) - v.pow(2).sum(dim=1)).sum(dim=1, keepdim=True)

    def forward(self, numeric, categorical):
        idx = categorical + self.starts
        v = self.table(idx)
        dense = self.bn(numeric)
        x0 = torch.cat([dense, v.flatten(1)], dim=1)
        both = torch.cat([self.cross(x0), self.deep(x0)], dim=1)
        logit = self.head(both)
        logit = logit + self.interactions(v)
        logit = logit + self.wide(dense) + self.linear_table(idx).sum(dim=1)
        return torch.sigmoid(logit)


def make(seed=1):
    torch.manual_seed(seed)
    net = CtrNet()
    for name, t in net.state_dict().items():
        if name.endswith("running_var"):
            t.uniform_(0.5, 1.5)
        elif t.dtype.is_floating_point:
            t.normal_(std=0.3)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(8, 6)).astype("float32")
    cats = np.stack([rng.integers(0, n, size=8) for n in FIELDS], axis=1)
    return numeric, cats.astype("int64")


@torch.no_grad()
def load(ported, original):
    def weights(name):
        return [torch.from_numpy(np.array(w)) for w in original.get_layer(name).get_weights()]

    def linear(fc, name):
        got = weights(name)
        fc.weight.copy_(got[0].T)
        if fc.bias is not None:
            fc.bias.copy_(got[1])

    def norm(bn, name):
        for to, w in zip((bn.weight, bn.bias, bn.running_mean, bn.running_var), weights(name)):
            to.copy_(w)

    ported.table.weight.copy_(weights("embedding")[0])
    ported.linear_table.weight.copy_(weights("linear_embedding")[0])
    norm(ported.bn, "numeric_bn")
    for i, layer in enumerate(ported.cross.layers):
        linear(layer, f"cross{i}")
    linears = [m for m in ported.deep if isinstance(m, nn.Linear)]
    norms = [m for m in ported.deep if isinstance(m, nn.BatchNorm1d)]
    for i in range(2):
        linear(linears[i], f"deep{i}")
        norm(norms[i], f"deep{i}_bn")
    linear(ported.head, "head")
    linear(ported.wide, "wide")
