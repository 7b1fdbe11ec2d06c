"""C-SWM in Chainer."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
N_OBJ, N_ACT, EMB, HID = 4, 3, 4, 16
SIGMA, HINGE = 0.5, 12.0


class ObjectExtractor(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 8, ksize=5, stride=5)
            self.bn = L.BatchNormalization(8, eps=1e-5)
            self.conv2 = L.Convolution2D(8, N_OBJ, ksize=1)

    def forward(self, x):
        h = F.leaky_relu(self.bn(self.conv1(x)), slope=0.01)
        return F.sigmoid(self.conv2(h))


class NormMLP(chainer.Chain):
    def __init__(self, n_in, n_out):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(n_in, HID)
            self.l2 = L.Linear(HID, HID)
            self.ln = L.LayerNormalization(HID, eps=1e-5)
            self.l3 = L.Linear(HID, n_out)

    def forward(self, x):
        h = F.relu(self.l1(x))
        h = F.relu(self.ln(self.l2(h)))
        return self.l3(h)


def pair_index(batch):
    src, dst = np.where(~np.eye(N_OBJ, dtype=bool))
    base = np.arange(batch)[:, None] * N_OBJ
    return (base + src).ravel(), (base + dst).ravel()


class WorldModel(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.extractor = ObjectExtractor()
            self.encoder = NormMLP(16, EMB)
            self.edge_net = NormMLP(2 * EMB, HID)
            self.node_net = NormMLP(EMB + N_ACT + HID, EMB)

    def encode(self, obs):
        maps = F.reshape(self.extractor(obs), (-1, 16))
        return self.encoder(maps)

    def transition(self, nodes, action):
        batch = len(action)
        src, dst = pair_index(batch)
        msg = self.edge_net(F.concat([nodes[src], nodes[dst]], axis=1))
        zero = np.zeros((len(nodes), HID), np.float32)
        inbox = F.scatter_add(zero, src, msg)
        act = F.reshape(action, (-1, N_ACT))
        return self.node_net(F.concat([nodes, act, inbox], axis=1))

    def distance(self, a, b):
        sq = F.sum(F.square(a - b), axis=1)
        return F.mean(F.reshape(sq, (-1, N_OBJ)), axis=1) * (0.5 / SIGMA ** 2)

    def forward(self, obs, action, next_obs):
        batch = len(obs)
        z, z_next = self.encode(obs), self.encode(next_obs)
        pred = z + self.transition(z, action)
        order = (np.arange(batch) - 1) % batch
        z_neg = F.reshape(F.reshape(z, (batch, N_OBJ, EMB))[order], (-1, EMB))
        pos = self.distance(pred, z_next)
        neg = F.relu(HINGE - self.distance(z, z_neg))
        shape = (batch, N_OBJ, EMB)
        return pos + neg, F.reshape(z, shape), F.reshape(pred, shape)


class EvalModel(WorldModel):
    def forward(self, *xs):
        with chainer.using_config("train", False):
            return super().forward(*xs)


def make():
    r = np.random.RandomState(62)
    m = EvalModel()
    for n, p in sorted(m.namedparams()):
        v = r.randn(*p.shape)
        if n.endswith("gamma"):
            v = 1 + 0.2 * v
        elif p.ndim == 1:
            v = 0.2 * v
        else:
            v = v / np.sqrt(np.prod(p.shape[1:]))
        p.array[...] = v
    m.extractor.bn.avg_mean[...] = 0.2 * r.randn(8)
    m.extractor.bn.avg_var[...] = 0.6 + r.rand(8)
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    o = r.normal(size=(2, 4, 3, 20, 20)).astype("float32")
    a = np.zeros((4, N_OBJ * N_ACT), "float32")
    a[np.arange(4), r.integers(0, N_OBJ * N_ACT, 4)] = 1
    return o[0], a, o[1]


def load(ported, original):
    n = lambda t: t.detach().numpy()

    def lin(l, t):
        l.W.array[...], l.b.array[...] = n(t.weight), n(t.bias)

    def norm(l, t):
        l.gamma.array[...], l.beta.array[...] = n(t.weight), n(t.bias)

    e, o = ported.extractor, original.extractor
    lin(e.conv1, o.cnn1), lin(e.conv2, o.cnn2), norm(e.bn, o.ln1)
    e.bn.avg_mean[...], e.bn.avg_var[...] = n(o.ln1.running_mean), n(o.ln1.running_var)
    q = original.encoder
    for l, ts in ((ported.encoder, (q.fc1, q.fc2, q.ln, q.fc3)),
                  (ported.edge_net, [original.transition.edge_mlp[i] for i in (0, 2, 3, 5)]),
                  (ported.node_net, [original.transition.node_mlp[i] for i in (0, 2, 3, 5)])):
        lin(l.l1, ts[0]), lin(l.l2, ts[1]), norm(l.ln, ts[2]), lin(l.l3, ts[3])
