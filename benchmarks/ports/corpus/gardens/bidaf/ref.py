"""Bi-directional attention flow (Seo et al. 2017) for span extraction, Chainer."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
VOCAB, EMB, HID = 60, 16, 10


class Highway(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.plain = L.Linear(n, n)
            self.gate = L.Linear(n, n)

    def forward(self, x):
        g = F.sigmoid(self.gate(x, n_batch_axes=2))
        h = F.relu(self.plain(x, n_batch_axes=2))
        return g * h + (1 - g) * x


class BiDAF(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(VOCAB, EMB, ignore_label=0)
            self.hw1 = Highway(EMB)
            self.hw2 = Highway(EMB)
            self.context = L.NStepBiLSTM(1, EMB, HID, 0.0)
            self.sim = L.Linear(6 * HID, 1, nobias=True)
            self.modeling = L.NStepBiLSTM(1, 8 * HID, HID, 0.0)
            self.end_rnn = L.NStepBiLSTM(1, 2 * HID, HID, 0.0)
            self.start = L.Linear(10 * HID, 1)
            self.end = L.Linear(10 * HID, 1)

    def run(self, rnn, x, lengths):
        xs = [x[i, :n] for i, n in enumerate(lengths)]
        _, _, ys = rnn(None, None, xs)
        return F.pad_sequence(ys, x.shape[1], 0)

    def encode(self, ids, lengths):
        x = self.hw2(self.hw1(self.embed(ids)))
        return self.run(self.context, x, lengths)

    def attention(self, h, u, hmask, umask):
        b, t, d = h.shape
        j = u.shape[1]
        hh = F.broadcast_to(F.expand_dims(h, 2), (b, t, j, d))
        uu = F.broadcast_to(F.expand_dims(u, 1), (b, t, j, d))
        s = self.sim(F.concat([hh, uu, hh * uu], axis=3), n_batch_axes=3)[..., 0]
        low = np.full(s.shape, -1e9, "f")
        s = F.where(np.broadcast_to(hmask[:, :, None] & umask[:, None, :], s.shape), s, low)
        c2q = F.matmul(F.softmax(s, axis=2), u)
        q2c_w = F.softmax(F.max(s, axis=2), axis=1)
        q2c = F.matmul(F.expand_dims(q2c_w, 1), h)
        q2c = F.broadcast_to(q2c, h.shape)
        return F.concat([h, c2q, h * c2q, h * q2c], axis=2)

    def forward(self, ctx, qst):
        hmask, umask = ctx != 0, qst != 0
        hl, ul = hmask.sum(1), umask.sum(1)
        h = self.encode(ctx, hl)
        u = self.encode(qst, ul)
        g = self.attention(h, u, hmask, umask)
        m = self.run(self.modeling, g, hl)
        m2 = self.run(self.end_rnn, m, hl)
        begin = self.start(F.concat([g, m], axis=2), n_batch_axes=2)[..., 0]
        end = self.end(F.concat([g, m2], axis=2), n_batch_axes=2)[..., 0]
        low = np.full(begin.shape, -1e9, "f")
        return (F.softmax(F.where(hmask, begin, low), axis=1),
                F.softmax(F.where(hmask, end, low), axis=1))


def make(seed=2):
    chainer.config.train = False
    r = np.random.RandomState(seed)
    net = BiDAF()
    for name, p in sorted(net.namedparams()):
        if p.array.ndim == 1:
            p.array[...] = r.normal(0, 0.2, p.shape)
        elif "embed" in name:
            p.array[...] = r.normal(0, 0.8, p.shape)
        elif name.split("/")[1] in ("sim", "start", "end"):
            p.array[...] = r.normal(0, 0.6, p.shape)
        else:
            p.array[...] = r.normal(0, 1.2 / np.sqrt(p.shape[1]), p.shape)
    return net


def inputs(seed=0):
    r = np.random.RandomState(seed)
    ctx = r.randint(1, VOCAB, (4, 14)).astype("i")
    qst = r.randint(1, VOCAB, (4, 6)).astype("i")
    for i, (a, b) in enumerate([(14, 6), (9, 4), (11, 5), (7, 3)]):
        ctx[i, a:] = 0
        qst[i, b:] = 0
    return ctx, qst
