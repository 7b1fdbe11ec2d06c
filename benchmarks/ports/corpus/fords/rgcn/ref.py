"""R-GCN (Schlichtkrull et al. 2018): basis layer, block-diagonal layer, DistMult decoder."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, R, FIN, H, BASES, BLOCKS = 6, 3, 5, 8, 2, 4


class BasisRGCNLayer(nn.Module):
    def __init__(self, fin, fout, rels, bases):
        super().__init__()
        self.bases = nn.Parameter(torch.empty(bases, fin, fout))
        self.comp = nn.Parameter(torch.empty(rels, bases))
        self.root = nn.Linear(fin, fout)

    def forward(self, x, adj):
        weight = torch.einsum("rb,bio->rio", self.comp, self.bases)
        # adj[b, r, i, j] = 1: an edge of relation r from j into i
        deg = adj.sum(dim=3, keepdim=True).clamp(min=1.0)
        msg = torch.einsum("brij,bjf->brif", adj / deg, x)
        agg = torch.einsum("brif,rfo->bio", msg, weight)
        return agg + self.root(x)


class BlockRGCNLayer(nn.Module):
    def __init__(self, fin, fout, rels, blocks):
        super().__init__()
        self.blocks = blocks
        self.weight = nn.Parameter(torch.empty(rels, blocks, fin // blocks, fout // blocks))
        self.root = nn.Linear(fin, fout)

    def forward(self, x, adj):
        b, n, f = x.shape
        deg = adj.sum(dim=3, keepdim=True).clamp(min=1.0)
        xb = x.view(b, n, self.blocks, f // self.blocks)
        h = torch.einsum("bnki,rkio->brnko", xb, self.weight)
        h = h.reshape(b, h.shape[1], n, -1)
        agg = torch.matmul(adj / deg, h).sum(dim=1)
        return agg + self.root(x)


class RGCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = BasisRGCNLayer(FIN, H, R, BASES)
        self.norm = nn.LayerNorm(H)
        self.layer2 = BlockRGCNLayer(H, H, R, BLOCKS)
        self.relation = nn.Parameter(torch.empty(R, H))

    def forward(self, x, adj):
        h = self.layer1(x, adj)
        h = F.relu(self.norm(h))
        h = self.layer2(h, adj)
        scores = torch.einsum("bnd,rd,bmd->brnm", h, self.relation, h)
        return h, torch.sigmoid(scores)


def make():
    g = torch.Generator().manual_seed(8)
    m = RGCN()
    with torch.no_grad():
        for n, p in m.named_parameters():
            base = 1.0 if n == "norm.weight" else 0.0
            p.copy_(base + torch.randn(p.shape, generator=g) * 0.35)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(4, N, FIN).astype("float32"),
            (r.rand(4, R, N, N) < 0.4).astype("float32"))
