"""L2D in Chainer."""
import numpy as np
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
JOBS, MACH, HID = 3, 3, 12
NODES = JOBS * MACH


class GINLayer(chainer.Chain):
    def __init__(self, nin):
        super().__init__()
        with self.init_scope():
            self.fc1 = L.Linear(nin, HID)
            self.norm1 = L.BatchNormalization(HID, eps=1e-5)
            self.fc2 = L.Linear(HID, HID)
            self.norm2 = L.BatchNormalization(HID, eps=1e-5)

    def forward(self, adj, h):
        batch = h.shape[0]
        x = F.matmul(adj, h)
        x = F.reshape(x, (batch * NODES, -1))
        x = F.relu(self.norm1(self.fc1(x)))
        x = F.relu(self.norm2(self.fc2(x)))
        return F.reshape(x, (batch, NODES, HID))


class Head(chainer.Chain):
    def __init__(self, *sizes):
        super().__init__()
        with self.init_scope():
            self.layers = chainer.ChainList(*[L.Linear(i, o) for i, o in zip(sizes, sizes[1:])])

    def forward(self, x):
        for lin in self.layers[:-1]:
            x = F.tanh(lin(x))
        return self.layers[-1](x)


class L2D(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.gin = chainer.ChainList(GINLayer(2), GINLayer(HID))
            self.actor = Head(2 * HID, HID, HID, 1)
            self.critic = Head(HID, HID, 1)

    def forward(self, feats, adj, pool, candidate, mask):
        with chainer.using_config("train", False):
            batch = feats.shape[0]
            h = feats
            for layer in self.gin:
                h = layer(adj, h)
            glob = F.reshape(F.matmul(pool, h), (batch, HID))
            rows = candidate + NODES * np.arange(batch)[:, None]
            cand = F.embed_id(rows.ravel(), F.reshape(h, (batch * NODES, HID)))
            ctx = F.repeat(glob, JOBS, axis=0)
            scores = 10 * F.reshape(self.actor(F.concat([cand, ctx], axis=1)), (batch, JOBS))
            blocked = np.full((batch, JOBS), -np.inf, "float32")
            pi = F.softmax(F.where(mask, blocked, scores), axis=1)
            return pi, self.critic(glob), h


def make():
    m = L2D()
    r = np.random.RandomState(12)
    for path, p in sorted(m.namedparams()):
        v = 0.3 * r.randn(*p.shape)
        p.array[...] = 1 + v if path.endswith("gamma") else v
    for g in m.gin:
        for bn in (g.norm1, g.norm2):
            bn.avg_mean[...] = 0.2 * r.randn(HID)
            bn.avg_var[...] = 0.5 + r.rand(HID)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    feats = np.stack([r.rand(4, NODES) * 2, r.randint(0, 2, (4, NODES))], -1).astype("float32")
    adj = np.zeros((4, NODES, NODES), "float32") + np.eye(NODES, dtype="float32")
    for j in range(JOBS):
        for k in range(1, MACH):
            adj[:, j * MACH + k, j * MACH + k - 1] = 1
    extra = (r.rand(4, NODES, NODES) < 0.12).astype("float32")
    adj = np.maximum(adj, extra)
    pool = np.full((4, 1, NODES), 1.0 / NODES, "float32")
    cand = np.arange(JOBS)[None] * MACH + r.randint(0, MACH, (4, JOBS))
    mask = np.zeros((4, JOBS), bool)
    mask[np.arange(4), r.randint(0, JOBS, 4)] = True
    return feats, adj, pool, cand.astype("int64"), mask


def load(ported, original):
    def lin(dst, src):
        dst.W.array[...] = src.weight.detach().numpy()
        dst.b.array[...] = src.bias.detach().numpy()

    def bn(dst, src):
        dst.gamma.array[...] = src.weight.detach().numpy()
        dst.beta.array[...] = src.bias.detach().numpy()
        dst.avg_mean[...] = src.running_mean.numpy()
        dst.avg_var[...] = src.running_var.numpy()

    for g, mlp, outer in zip(ported.gin, original.gnn.mlps, original.gnn.bns):
        lin(g.fc1, mlp.lin1)
        bn(g.norm1, mlp.bn)
        lin(g.fc2, mlp.lin2)
        bn(g.norm2, outer)
    for dst, src in ((ported.actor, original.actor), (ported.critic, original.critic)):
        for d, s in zip(dst.layers, src):
            lin(d, s)
