"""PNA over dense graphs, in torch."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
NODES, IN, EDGE, HID, TOWERS, LAYERS, OUT = 7, 5, 3, 8, 2, 2, 3
DELTA, EPS = 1.2, 1e-5
PART = HID // TOWERS


def aggregate(m, adj):
    present = adj.unsqueeze(-1)
    degree = present.sum(dim=2)
    mean = (m * present).sum(dim=2) / degree
    mean_square = (m.square() * present).sum(dim=2) / degree
    std = torch.sqrt(F.relu(mean_square - mean.square()) + EPS)
    absent = present == 0
    largest = m.masked_fill(absent, -1e9).amax(dim=2)
    smallest = m.masked_fill(absent, 1e9).amin(dim=2)
    return torch.cat([mean, largest, smallest, std], dim=-1)


def scale(h, adj):
    logd = torch.log1p(adj.sum(dim=2)).unsqueeze(-1)
    return torch.cat([h, h * (logd / DELTA), h * (DELTA / logd)], dim=-1)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre = nn.Sequential(nn.Linear(2 * PART + EDGE, PART), nn.ReLU(), nn.Linear(PART, PART))
        self.post = nn.Linear(13 * PART, PART)

    def forward(self, h, edges, adj):
        n = h.shape[1]
        target = h.unsqueeze(2).expand(-1, -1, n, -1)
        source = h.unsqueeze(1).expand(-1, n, -1, -1)
        m = self.pre(torch.cat([target, source, edges], dim=-1))
        out = scale(aggregate(m, adj), adj)
        return self.post(torch.cat([h, out], dim=-1))


class GRUCell(nn.Module):
    """A GRU that resets the state before the product."""

    def __init__(self, inputs, units):
        super().__init__()
        self.x = nn.Linear(inputs, 3 * units)
        self.h_rz = nn.Linear(units, 2 * units)
        self.h_n = nn.Linear(units, units)

    def forward(self, x, h):
        x_r, x_z, x_n = self.x(x).chunk(3, dim=-1)
        h_r, h_z = self.h_rz(h).chunk(2, dim=-1)
        r, z = torch.sigmoid(x_r + h_r), torch.sigmoid(x_z + h_z)
        n = torch.tanh(x_n + self.h_n(r * h))
        return (1 - z) * h + z * n


class PNALayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.towers = nn.ModuleList(Tower() for _ in range(TOWERS))
        self.mix = nn.Linear(HID, HID)
        self.norm = nn.BatchNorm1d(HID)
        self.gru = GRUCell(HID, HID)

    def forward(self, h, edges, adj):
        parts = h.chunk(TOWERS, dim=-1)
        x = torch.cat([tower(part, edges, adj) for tower, part in zip(self.towers, parts)], dim=-1)
        x = F.leaky_relu(self.mix(x), 0.1)
        x = F.relu(self.norm(x.transpose(1, 2)).transpose(1, 2))
        return self.gru(x, h)


class PNA(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(IN, HID)
        self.edge = nn.Linear(2, EDGE)
        self.layers = nn.ModuleList(PNALayer() for _ in range(LAYERS))
        self.readout = nn.Sequential(nn.Linear(3 * HID, HID), nn.ReLU(), nn.Linear(HID, OUT))

    def forward(self, nodes, edges, adj):
        h = self.embed(nodes)
        e = self.edge(edges)
        for layer in self.layers:
            h = h + layer(h, e, adj)
        pooled = torch.cat([h.mean(dim=1), h.amax(dim=1), h.sum(dim=1)], dim=-1)
        return self.readout(pooled), h


def make():
    torch.manual_seed(14)
    model = PNA()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            nn.init.uniform_(module.weight, 0.6, 1.4)
            nn.init.normal_(module.bias, 0, 0.2)
            module.running_mean.normal_(0, 0.3)
            module.running_var.uniform_(0.5, 1.5)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    nodes = rng.normal(size=(4, NODES, IN)).astype("float32")
    edges = rng.normal(size=(4, NODES, NODES, 2)).astype("float32")
    adj = rng.uniform(size=(4, NODES, NODES)) < 0.4
    adj[:, np.arange(NODES), (np.arange(NODES) + 1) % NODES] = True
    adj[:, np.arange(NODES), np.arange(NODES)] = False
    return nodes, edges, adj.astype("float32")


@torch.no_grad()
def load(ported, original):
    def put(layer, *links):
        layer.weight.copy_(torch.from_numpy(np.concatenate([link.W.array for link in links])))
        layer.bias.copy_(torch.from_numpy(np.concatenate([link.b.array for link in links])))

    put(ported.embed, original.embed)
    put(ported.edge, original.edge)
    put(ported.readout[0], original.out1)
    put(ported.readout[2], original.out2)
    for ours, theirs in zip(ported.layers, original.layers):
        for tower, other in zip(ours.towers, theirs.towers):
            put(tower.pre[0], other.pre1)
            put(tower.pre[2], other.pre2)
            put(tower.post, other.post)
        put(ours.mix, theirs.mix)
        norm = theirs.norm
        for name, value in (
            ("weight", norm.gamma.array),
            ("bias", norm.beta.array),
            ("running_mean", norm.avg_mean),
            ("running_var", norm.avg_var),
        ):
            getattr(ours.norm, name).copy_(torch.from_numpy(np.array(value, dtype="float32")))
        gru = theirs.gru
        put(ours.gru.x, gru.W_r, gru.W_z, gru.W)
        put(ours.gru.h_rz, gru.U_r, gru.U_z)
        put(ours.gru.h_n, gru.U)
