"""x-vector speaker network (Snyder et al. 2018) in Chainer, with masked statistics pooling."""
import numpy as np
import parity
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
B, T, FEAT, W, EMB, SPK = 4, 30, 8, 10, 12, 6
CONTEXT = [(5, 1), (3, 2), (3, 3), (1, 1)]


class TDNN(chainer.Chain):
    def __init__(self, cin, cout, k, d):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution1D(cin, cout, k, dilate=d)
            self.bn = L.BatchNormalization(cout)

    def forward(self, x):
        return self.bn(F.relu(self.conv(x)))


class XVector(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.frames = chainer.ChainList()
            cin = FEAT
            for k, d in CONTEXT:
                self.frames.append(TDNN(cin, W, k, d))
                cin = W
            self.segment6 = L.Linear(2 * W, EMB)
            self.bn6 = L.BatchNormalization(EMB)
            self.segment7 = L.Linear(EMB, EMB)
            self.bn7 = L.BatchNormalization(EMB)
            self.output = L.Linear(EMB, SPK)

    def cmvn(self, x):
        mean = F.mean(x, axis=1, keepdims=True)
        return x - F.broadcast_to(mean, x.shape)

    def stats_pool(self, h, mask):
        m = F.broadcast_to(F.expand_dims(mask, 1), h.shape)
        n = F.sum(m, axis=2)
        mean = F.sum(h * m, axis=2) / n
        diff = (h - F.broadcast_to(F.expand_dims(mean, 2), h.shape)) * m
        var = F.sum(diff ** 2, axis=2) / n
        return F.concat([mean, F.sqrt(var + 1e-5)], axis=1)

    def forward(self, x, mask):
        h = F.transpose(self.cmvn(x), (0, 2, 1))
        for frame in self.frames:
            h = frame(h)
        cut = (x.shape[1] - h.shape[2]) // 2
        mask = mask[:, cut:cut + h.shape[2]]
        stats = self.stats_pool(h, mask)
        xvec = self.segment6(stats)
        h = self.bn6(F.relu(xvec))
        h = self.bn7(F.relu(self.segment7(h)))
        return xvec, F.log_softmax(self.output(h))


def make():
    chainer.global_config.train = False
    m = XVector()
    r = np.random.RandomState(15)
    for name, p in sorted(m.namedparams()):
        p.array[...] = r.randn(*p.shape) * (1.2 / np.prod(p.shape[1:]) ** 0.5 if p.ndim > 1 else 0.3)
    for _, k in sorted(m.namedlinks()):
        if isinstance(k, L.BatchNormalization):
            k.gamma.array += 1
            k.avg_mean[...] = 0.3 * r.randn(*k.avg_mean.shape)
            k.avg_var[...] = 0.5 + r.rand(*k.avg_var.shape)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    mask = np.ones((B, T), "float32")
    for i, n in enumerate([30, 20, 25, 15]):
        mask[i, n:] = 0
    return ((r.randn(B, T, FEAT) + 0.5).astype("float32"), mask)
