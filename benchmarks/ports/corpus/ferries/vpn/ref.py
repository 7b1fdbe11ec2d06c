"""Value prediction network (Oh et al. 2017): encoding, transition, outcome, value; depth-d planning. Chainer."""
import numpy as np
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
LAYOUT = "NCHW"
CH, SIZE, WIDTH, OPTIONS, DEPTH, BEST = 3, 13, 8, 4, 3, 2


class Encoding(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(CH, WIDTH, 3, pad=1, nobias=True)
            self.bn1 = L.BatchNormalization(WIDTH)
            self.conv2 = L.Convolution2D(WIDTH, WIDTH, 3, pad=1)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.max_pooling_2d(h, 2, stride=2)
        return F.tanh(self.conv2(h))


class Core(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.trans1 = L.Convolution2D(WIDTH + OPTIONS, WIDTH, 3, pad=1)
            self.trans2 = L.Convolution2D(WIDTH, WIDTH, 1)
            self.outcome = L.Convolution2D(WIDTH + OPTIONS, WIDTH, 1)
            self.reward = L.Linear(WIDTH, 1)
            self.discount = L.Linear(WIDTH, 1)
            self.value1 = L.Linear(WIDTH, 12)
            self.value2 = L.Linear(12, 1)

    def with_option(self, s, o):
        n, _, hh, ww = s.shape
        plane = np.zeros((n, OPTIONS, hh, ww), np.float32)
        plane[:, o] = 1
        return F.concat([s, plane], axis=1)

    def step(self, s, o):
        so = self.with_option(s, o)
        h = F.average(F.elu(self.outcome(so)), axis=(2, 3))
        r = self.reward(h)
        g = F.sigmoid(self.discount(h))
        nxt = s + F.tanh(self.trans2(F.relu(self.trans1(so))))
        return r, g, nxt

    def value(self, s):
        h = F.average(s, axis=(2, 3))
        return self.value2(F.relu(self.value1(h)))


class VPN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.encoding = Encoding()
            self.core = Core()

    def q_plan(self, s, d):
        """list of Q^d(s, o), one for each option"""
        qs = []
        for o in range(OPTIONS):
            r, g, nxt = self.core.step(s, o)
            qs.append(r + g * self.v_plan(nxt, d))
        return F.concat(qs, axis=1)

    def v_plan(self, s, d):
        v = self.core.value(s)
        if d == 1:
            return v
        q = self.q_plan(s, d - 1)
        best = F.max(q, axis=1, keepdims=True)
        return v * (1.0 / d) + best * ((d - 1.0) / d)

    def forward(self, x):
        s = self.encoding(x)
        q = self.q_plan(s, DEPTH)
        return q, F.softmax(q / 0.1, axis=1), self.core.value(s)


def make():
    np.random.seed(6)
    model = VPN()
    rng = np.random.RandomState(6)
    for name, p in sorted(model.namedparams()):
        if p.ndim == 1:
            v = rng.uniform(0.5, 1.5, p.shape) if name.endswith("gamma") else 0.3 * rng.randn(*p.shape)
        else:
            v = rng.randn(*p.shape) * 1.5 / np.sqrt(np.prod(p.shape[1:]))
        p.array[...] = v
    model.encoding.bn1.avg_mean[...] = 0.2 * rng.randn(WIDTH)
    model.encoding.bn1.avg_var[...] = rng.uniform(0.3, 1.2, WIDTH)
    chainer.global_config.train = False
    return model


def inputs(seed):
    rng = np.random.RandomState(seed)
    return (rng.randn(4, CH, SIZE, SIZE).astype(np.float32),)
