import numpy as np
import chainer
from chainer import functions as F, links as L

FRAMEWORK = "chainer"
VOCABS = [30, 12, 7, 50, 5, 20]
NUMERIC = 3
K = 8


class CompressedInteraction(chainer.ChainList):
    def __init__(self, fields, sizes):
        super().__init__()
        prev = fields
        for i, s in enumerate(sizes):
            # a 1x1 convolution over the embedding axis compresses the (prev x fields) products
            self.add_link(L.Convolution1D(prev * fields, s, 1))
            prev = s // 2

    def forward(self, x0):
        b, m, d = x0.shape
        x, pooled = x0, []
        layers = list(self.children())
        for conv in layers:
            h = x.shape[1]
            left = F.broadcast_to(x[:, :, None, :], (b, h, m, d))
            right = F.broadcast_to(x0[:, None, :, :], (b, h, m, d))
            z = F.reshape(left * right, (b, h * m, d))
            z = F.relu(conv(z))
            if conv is not layers[-1]:
                x, z = F.split_axis(z, 2, axis=1)
            pooled.append(F.sum(z, axis=2))
        return F.concat(pooled, axis=1)


class Tower(chainer.Chain):
    def __init__(self, sizes):
        super().__init__()
        with self.init_scope():
            self.fc1, self.fc2 = L.Linear(None, sizes[0]), L.Linear(sizes[0], sizes[1])
            self.bn1, self.bn2 = L.BatchNormalization(sizes[0], eps=1e-3), L.BatchNormalization(sizes[1], eps=1e-3)

    def forward(self, x):
        h = F.relu(self.bn1(self.fc1(x)))
        return F.relu(self.bn2(self.fc2(h)))


class XDeepFM(chainer.Chain):
    def __init__(self):
        super().__init__()
        n = len(VOCABS)
        self.starts = np.array([sum(VOCABS[:i]) for i in range(n)], dtype=np.int32)
        with self.init_scope():
            self.latent = L.EmbedID(sum(VOCABS), K)
            self.weight = L.EmbedID(sum(VOCABS), 1)
            self.num_latent = chainer.Parameter(chainer.initializers.Normal(0.5), (NUMERIC, K))
            self.num_weight = L.Linear(NUMERIC, 1, nobias=True)
            self.cin = CompressedInteraction(n + NUMERIC, (12, 10, 6))
            self.dnn = Tower((32, 16))
            self.out = L.Linear(6 + 5 + 6 + 16, 1)

    def features(self, ids, dense):
        emb = self.latent(ids + self.starts)
        v = F.broadcast_to(F.expand_dims(dense, 2), dense.shape + (K,))
        scaled = v * F.broadcast_to(self.num_latent, v.shape)
        return F.concat((emb, scaled), axis=1)

    def first_order(self, ids, dense):
        w = F.sum(self.weight(ids + self.starts), axis=1)
        return w + self.num_weight(dense)

    def forward(self, ids, dense):
        x = self.features(ids, dense)
        both = F.concat((self.cin(x), self.dnn(F.reshape(x, (len(ids), -1)))))
        score = self.out(both) + self.first_order(ids, dense)
        return F.sigmoid(score)[:, 0]


def make():
    np.random.seed(51)
    net = XDeepFM()
    with chainer.using_config("train", False):
        net(*inputs(0))
    for p in net.params():
        p.array[...] = np.random.normal(0, 0.3, p.shape)
    return net


def load(ported, original):
    c = lambda v: np.ascontiguousarray(v.numpy())
    ported.latent.W.array[...] = c(original.embed)
    ported.weight.W.array[...] = c(original.first)
    ported.num_latent.array[...] = c(original.num_embed)
    ported.num_weight.W.array[...] = c(original.num_first).T
    for conv, k, b in zip(ported.cin.children(), original.cin.kernels, original.cin.biases):
        conv.W.array[...] = c(k).T[..., None]
        conv.b.array[...] = c(b)
    for i, layer in enumerate(original.deep.layers, 1):
        fc, bn = ported.dnn[f"fc{i}"], ported.dnn[f"bn{i}"]
        fc.W.array[...], fc.b.array[...] = c(layer["w"]).T, c(layer["b"])
        bn.gamma.array[...], bn.beta.array[...] = c(layer["gamma"]), c(layer["beta"])
        bn.avg_mean[...], bn.avg_var[...] = c(layer["mean"]), c(layer["var"])
    ported.out.W.array[...], ported.out.b.array[...] = c(original.w_out).T, c(original.bias)


def inputs(seed=0):
    g = np.random.default_rng(seed)
    ids = np.stack([g.integers(0, c, 8) for c in VOCABS], axis=1).astype(np.int32)
    return ids, np.log1p(g.exponential(2.0, (8, NUMERIC))).astype(np.float32)
