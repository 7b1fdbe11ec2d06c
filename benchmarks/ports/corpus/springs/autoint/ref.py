"""AutoInt for click-through rate in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
FIELDS = [5, 7, 4, 6]
DENSE = 3


class FieldEmbedding(nn.Module):
    def __init__(self, dims, d):
        super().__init__()
        self.table = nn.Embedding(sum(dims), d)
        self.register_buffer("offsets", torch.tensor([0] + list(np.cumsum(dims)[:-1])))

    def forward(self, x):
        return self.table(x + self.offsets)


class InteractingLayer(nn.Module):
    def __init__(self, d_in, d, heads):
        super().__init__()
        self.d = d
        self.W_Query = nn.Parameter(torch.empty(d_in, d * heads))
        self.W_Key = nn.Parameter(torch.empty(d_in, d * heads))
        self.W_Value = nn.Parameter(torch.empty(d_in, d * heads))
        self.W_Res = nn.Parameter(torch.empty(d_in, d * heads))

    def forward(self, x):
        q = torch.tensordot(x, self.W_Query, dims=([-1], [0]))
        k = torch.tensordot(x, self.W_Key, dims=([-1], [0]))
        v = torch.tensordot(x, self.W_Value, dims=([-1], [0]))
        q = torch.stack(torch.split(q, self.d, dim=2))
        k = torch.stack(torch.split(k, self.d, dim=2))
        v = torch.stack(torch.split(v, self.d, dim=2))
        score = torch.einsum("bnik,bnjk->bnij", q, k)
        att = F.softmax(score, dim=-1)
        out = torch.matmul(att, v)
        out = torch.cat(torch.split(out, 1), dim=-1).squeeze(0)
        out = out + torch.tensordot(x, self.W_Res, dims=([-1], [0]))
        return F.relu(out)


class AutoInt(nn.Module):
    def __init__(self, d=6, att=4, heads=2, layers=2):
        super().__init__()
        n = len(FIELDS) + DENSE
        self.embedding = FieldEmbedding(FIELDS, d)
        self.dense_embedding = nn.Parameter(torch.empty(DENSE, d))
        self.linear = FieldEmbedding(FIELDS, 1)
        self.linear_dense = nn.Linear(DENSE, 1)
        self.interact = nn.ModuleList([InteractingLayer(d if i == 0 else att * heads, att, heads)
                                       for i in range(layers)])
        self.mlp = nn.Sequential(nn.Linear(n * d, 16), nn.BatchNorm1d(16), nn.ReLU(),
                                 nn.Linear(16, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.out = nn.Linear(n * att * heads + 8, 1, bias=False)

    def forward(self, ids, dense):
        sparse = self.embedding(ids)
        numeric = dense.unsqueeze(-1) * self.dense_embedding
        x = torch.cat([sparse, numeric], dim=1)
        logit = self.linear(ids).sum(1) + self.linear_dense(dense)
        att = x
        for layer in self.interact:
            att = layer(att)
        deep = self.mlp(x.flatten(1))
        logit = logit + self.out(torch.cat([att.flatten(1), deep], dim=-1))
        return torch.sigmoid(logit), att


def make():
    torch.manual_seed(0)
    m = AutoInt()
    with torch.no_grad():
        for n, t in m.state_dict().items():
            if "var" in n or n in ("mlp.1.weight", "mlp.4.weight"):
                t.uniform_(0.6, 1.4)
            elif t.is_floating_point():
                t.normal_(0, 0.4)
        m.embedding.table.weight.mul_(2)
        m.dense_embedding.mul_(2)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    ids = np.stack([r.randint(0, f, 8) for f in FIELDS], 1).astype("int64")
    return ids, r.randn(8, DENSE).astype("float32")
