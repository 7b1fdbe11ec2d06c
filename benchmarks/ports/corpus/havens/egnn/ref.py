"""E(n)-equivariant graph network (Satorras et al. 2021) on small molecules, padded to the same size."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
ATOMS, FEATURES, HIDDEN, LAYERS = 7, 5, 12, 2


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, n_out))


class EGCL(nn.Module):
    def __init__(self):
        super().__init__()
        self.edge_mlp = nn.Sequential(mlp(2 * HIDDEN + 1, HIDDEN), nn.SiLU())
        self.att = nn.Linear(HIDDEN, 1)
        self.coord_mlp = mlp(HIDDEN, 1)
        self.node_mlp = mlp(2 * HIDDEN, HIDDEN)

    def forward(self, h, x, edge_mask):
        b, n, _ = h.shape
        diff = x[:, :, None] - x[:, None, :]
        dist2 = diff.pow(2).sum(-1, keepdim=True)
        h_i = h[:, :, None].expand(b, n, n, HIDDEN)
        h_j = h[:, None, :].expand(b, n, n, HIDDEN)
        m = self.edge_mlp(torch.cat([h_i, h_j, dist2], dim=-1))
        m = m * torch.sigmoid(self.att(m))
        m = m * edge_mask
        unit = diff / (torch.sqrt(dist2 + 1e-8) + 1)
        moves = (unit * self.coord_mlp(m) * edge_mask).sum(2)
        x = x + moves / edge_mask.sum(2).clamp(min=1)
        h = h + self.node_mlp(torch.cat([h, m.sum(2)], dim=-1))
        return h, x


class EGNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Linear(FEATURES, HIDDEN)
        self.layers = nn.ModuleList(EGCL() for _ in range(LAYERS))
        self.node_out = mlp(HIDDEN, HIDDEN)
        self.graph_out = mlp(HIDDEN, 1)

    def forward(self, feats, pos, mask):
        real = mask[..., None]
        edge_mask = (mask[:, :, None] * mask[:, None, :] * (1 - torch.eye(ATOMS)))[..., None]
        h = self.embedding(feats)
        x = pos
        for layer in self.layers:
            h, x = layer(h, x, edge_mask)
        energy = self.graph_out((self.node_out(h) * real).sum(1)).squeeze(-1)
        centre = (x * real).sum(1, keepdim=True) / real.sum(1, keepdim=True)
        return energy, (x - centre) * real


def make():
    torch.manual_seed(71)
    net = EGNN()
    for p in net.parameters():
        nn.init.normal_(p, std=0.3)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    mask = (np.arange(ATOMS) < np.array([7, 4, 6, 5, 3])[:, None]).astype("float32")
    feats = rng.normal(size=(5, ATOMS, FEATURES)).astype("float32") * mask[..., None]
    pos = (1.5 * rng.normal(size=(5, ATOMS, 3))).astype("float32") * mask[..., None]
    return feats, pos, mask
