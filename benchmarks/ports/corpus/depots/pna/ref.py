"""Principal Neighbourhood Aggregation (Corso et al. 2020) over dense graphs, in Chainer."""

import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
NODES, IN, EDGE, HID, TOWERS, LAYERS, OUT = 7, 5, 3, 8, 2, 2, 3
DELTA, EPS, BIG = 1.2, 1e-5, 1e9
PART = HID // TOWERS


def expand(x, axis, shape):
    return F.broadcast_to(F.expand_dims(x, axis), shape)


def aggregate(m, adj):
    """m: (B, N, N, F) messages to i from j; adj: (B, N, N, 1)."""
    wide = F.broadcast_to(adj, m.shape)
    degree = F.sum(wide, axis=2)
    mean = F.sum(m * wide, axis=2) / degree
    mean_square = F.sum(m * m * wide, axis=2) / degree
    std = F.sqrt(F.relu(mean_square - mean * mean) + EPS)
    largest = F.max(m * wide - (1 - wide) * BIG, axis=2)
    smallest = F.min(m * wide + (1 - wide) * BIG, axis=2)
    return F.concat([mean, largest, smallest, std], axis=2)


def scale(h, adj):
    degree = F.sum(adj, axis=2)
    logd = F.broadcast_to(F.log(degree + 1), h.shape)
    return F.concat([h, h * logd / DELTA, h * DELTA / logd], axis=2)


class Tower(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.pre1 = L.Linear(2 * PART + EDGE, PART)
            self.pre2 = L.Linear(PART, PART)
            self.post = L.Linear(PART + 12 * PART, PART)

    def forward(self, h, edges, adj):
        b, n, d = h.shape
        h_i = expand(h, 2, (b, n, n, d))
        h_j = expand(h, 1, (b, n, n, d))
        m = F.concat([h_i, h_j, edges], axis=3)
        m = F.relu(self.pre1(m, n_batch_axes=3))
        m = self.pre2(m, n_batch_axes=3)
        out = scale(aggregate(m, adj), adj)
        return self.post(F.concat([h, out], axis=2), n_batch_axes=2)


class PNALayer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.towers = chainer.ChainList(*[Tower() for _ in range(TOWERS)])
            self.mix = L.Linear(HID, HID)
            self.norm = L.BatchNormalization(HID, eps=1e-5)
            self.gru = L.StatelessGRU(HID, HID)

    def forward(self, h, edges, adj):
        b, n, _ = h.shape
        parts = F.split_axis(h, TOWERS, axis=2)
        parts = [tower(part, edges, adj) for tower, part in zip(self.towers, parts)]
        x = F.leaky_relu(self.mix(F.concat(parts, axis=2), n_batch_axes=2), slope=0.1)
        x = F.relu(self.norm(F.reshape(x, (b * n, HID))))
        return F.reshape(self.gru(F.reshape(h, (b * n, HID)), x), (b, n, HID))


class PNA(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.Linear(IN, HID)
            self.edge = L.Linear(2, EDGE)
            self.layers = chainer.ChainList(*[PNALayer() for _ in range(LAYERS)])
            self.out1 = L.Linear(3 * HID, HID)
            self.out2 = L.Linear(HID, OUT)

    def forward(self, nodes, edges, adj):
        adj = F.expand_dims(chainer.as_variable(adj), 3)
        h = self.embed(nodes, n_batch_axes=2)
        e = self.edge(edges, n_batch_axes=3)
        for layer in self.layers:
            h = h + layer(h, e, adj)
        pooled = F.concat([F.mean(h, axis=1), F.max(h, axis=1), F.sum(h, axis=1)], axis=1)
        return self.out2(F.relu(self.out1(pooled))), h


def make():
    rng = np.random.default_rng(81)
    model = PNA()
    for name, p in sorted(model.namedparams()):
        if "gamma" in name:
            p.array[...] = rng.uniform(0.6, 1.4, p.shape)
        elif p.array.ndim == 1:
            p.array[...] = rng.normal(0, 0.2, p.shape)
        else:
            p.array[...] = rng.normal(0, 1 / np.sqrt(p.shape[1]), p.shape)
    for layer in model.layers:
        layer.norm.avg_mean[...] = rng.normal(0, 0.3, HID)
        layer.norm.avg_var[...] = rng.uniform(0.5, 1.5, HID)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    nodes = rng.normal(size=(4, NODES, IN)).astype("float32")
    edges = rng.normal(size=(4, NODES, NODES, 2)).astype("float32")
    adj = rng.uniform(size=(4, NODES, NODES)) < 0.4
    adj[:, np.arange(NODES), (np.arange(NODES) + 1) % NODES] = True
    adj[:, np.arange(NODES), np.arange(NODES)] = False
    return nodes, edges, adj.astype("float32")
