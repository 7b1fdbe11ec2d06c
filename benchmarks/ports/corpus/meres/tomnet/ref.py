"""Machine Theory of Mind (ToMnet): character net, mental net and prediction net."""
import numpy as np
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
EPISODES, T, C, G, CH, EC, EM, ACTIONS, OBJ = 2, 3, 5, 5, 8, 4, 6, 5, 4


class ResBlock(chainer.Chain):
    def __init__(self, ch):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(ch, ch, 3, pad=1, nobias=True)
            self.bn1 = L.BatchNormalization(ch)
            self.conv2 = L.Convolution2D(ch, ch, 3, pad=1, nobias=True)
            self.bn2 = L.BatchNormalization(ch)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        h = self.bn2(self.conv2(h))
        return F.relu(h + x)


class Trunk(chainer.Chain):
    def __init__(self, cin):
        super().__init__()
        with self.init_scope():
            self.stem = L.Convolution2D(cin, CH, 3, pad=1)
            self.res = ResBlock(CH)

    def forward(self, x):
        return self.res(F.relu(self.stem(x)))


class CharNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.trunk = Trunk(C)
            self.upward = L.Linear(CH, 4 * CH)
            self.lateral = L.Linear(CH, 4 * CH, nobias=True)
            self.out = L.Linear(CH, EC)

    def forward(self, past):
        B = past.shape[0]
        x = F.reshape(past, (B * EPISODES * T, C, G, G))
        x = F.average(self.trunk(x), axis=(2, 3))
        x = F.reshape(x, (B * EPISODES, T, CH))
        h = c = self.xp.zeros((B * EPISODES, CH), dtype="f")
        for t in range(T):
            c, h = F.lstm(c, self.upward(x[:, t]) + self.lateral(h))
        e = F.reshape(self.out(h), (B, EPISODES, EC))
        return F.sum(e, axis=1)


def spatialise(e):
    return F.broadcast_to(e[:, :, None, None], e.shape + (G, G))


class ToMnet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.char = CharNet()
            self.mental = Trunk(C * 2 + EC)
            self.mental_out = L.Convolution2D(CH, EM, 1)
            self.pred = Trunk(C + EC + EM)
            self.policy = L.Linear(CH, ACTIONS)
            self.consume = L.Linear(CH, OBJ)
            self.sr = L.Convolution2D(CH, 2, 1)

    def forward(self, past, current, query):
        with chainer.using_config("train", False), chainer.using_config("enable_backprop", False):
            e_char = self.char(past)
            sc = spatialise(e_char)
            cur = F.reshape(current, (current.shape[0], 2 * C, G, G))
            e_mental = F.tanh(self.mental_out(self.mental(F.concat([cur, sc], axis=1))))
            x = self.pred(F.concat([query, sc, e_mental], axis=1))
            pooled = F.average(x, axis=(2, 3))
            policy = F.log_softmax(self.policy(pooled))
            consume = F.sigmoid(self.consume(pooled))
            sr = F.reshape(self.sr(x), (x.shape[0], 2, G * G))
            sr = F.softmax(sr, axis=2)
            return policy, consume, F.reshape(sr, (-1, 2, G, G)), e_char


def make():
    m = ToMnet()
    rng = np.random.RandomState(4)
    for name, p in sorted(m.namedparams()):
        r = rng.normal(size=p.shape)
        if p.ndim > 1:
            p.array[...] = r * 1.4 / np.sqrt(np.prod(p.shape[1:]))
        else:
            p.array[...] = 1 + 0.3 * r if name.endswith("gamma") else 0.3 * r
    for l in m.links():
        if isinstance(l, L.BatchNormalization):
            l.avg_mean[...] = 0.3 * rng.normal(size=l.avg_mean.shape)
            l.avg_var[...] = rng.uniform(0.5, 1.5, size=l.avg_var.shape)
    return m


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(4, EPISODES, T, C, G, G)).astype("float32"),
            rng.normal(size=(4, 2, C, G, G)).astype("float32"),
            rng.normal(size=(4, C, G, G)).astype("float32"))
