"""ABCNN-3 (Yin et al. 2016) in Chainer: attention-based CNN for answer selection."""
import numpy as np
import parity  # noqa: F401  lets chainer load
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
VOCAB, S, E, CO, W, LAYERS, NF = 30, 8, 10, 12, 3, 2, 3


def match_matrix(x1, x2):
    # x: B, D, S -> B, S1, S2
    b, d, s = x1.shape
    a = F.broadcast_to(F.expand_dims(x1, 3), (b, d, s, s))
    c = F.broadcast_to(F.expand_dims(x2, 2), (b, d, s, s))
    dist = F.sqrt(F.sum((a - c) ** 2, axis=1) + 1e-6)
    return 1.0 / (1.0 + dist)


def cosine(a, b):
    num = F.sum(a * b, axis=1, keepdims=True)
    den = F.sqrt(F.sum(a * a, axis=1, keepdims=True)) * F.sqrt(F.sum(b * b, axis=1, keepdims=True))
    return num / (den + 1e-8)


class Layer(chainer.Chain):
    def __init__(self, dim):
        super().__init__()
        with self.init_scope():
            self.w_att = chainer.Parameter(np.zeros((S, dim), "float32"))
            self.conv = L.Convolution1D(2 * dim, CO, W, pad=W - 1)

    def wide_conv(self, x, feat):
        return F.tanh(self.conv(F.concat([x, feat], axis=1)))

    def w_ap(self, x, att):
        # x: B, C, S+W-1; att: B, S+W-1
        x = x * F.broadcast_to(F.expand_dims(att, 1), x.shape)
        out = x[:, :, 0:S]
        for i in range(1, W):
            out = out + x[:, :, i:i + S]
        return out

    def forward(self, x1, x2):
        b, d, s = x1.shape
        A = match_matrix(x1, x2)
        w = F.broadcast_to(F.expand_dims(self.w_att, 0), (b, s, d))
        f1 = F.transpose(F.matmul(A, w), (0, 2, 1))
        f2 = F.transpose(F.matmul(A, w, transa=True), (0, 2, 1))
        c1, c2 = self.wide_conv(x1, f1), self.wide_conv(x2, f2)
        A2 = match_matrix(c1, c2)
        a1, a2 = F.sum(A2, axis=2), F.sum(A2, axis=1)
        all1, all2 = F.mean(c1, axis=2), F.mean(c2, axis=2)
        return self.w_ap(c1, a1), self.w_ap(c2, a2), all1, all2


class ABCNN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(VOCAB, E)
            self.layers = chainer.ChainList(Layer(E), Layer(CO))
            self.fc = L.Linear(LAYERS + 1 + NF, 2)

    def forward(self, q, a, feats):
        x1 = F.transpose(self.embed(q), (0, 2, 1))
        x2 = F.transpose(self.embed(a), (0, 2, 1))
        sims = [cosine(F.mean(x1, axis=2), F.mean(x2, axis=2))]
        for layer in self.layers:
            x1, x2, all1, all2 = layer(x1, x2)
            sims.append(cosine(all1, all2))
        h = F.concat(sims + [feats], axis=1)
        return F.log_softmax(self.fc(h), axis=1)


def make():
    chainer.config.train = False
    rng = np.random.RandomState(41)
    m = ABCNN()
    for _, p in sorted(m.namedparams()):
        p.array[...] = rng.randn(*p.shape).astype("float32") * (0.7 if p.ndim == 2 else 0.3)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randint(0, VOCAB, (5, S)).astype("int32"), r.randint(0, VOCAB, (5, S)).astype("int32"),
            r.rand(5, NF).astype("float32"))
