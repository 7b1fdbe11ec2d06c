import numpy as np
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
VOCAB, D, HW, HS, CLASSES = 16, 8, 6, 7, 5


class BiGRU(chainer.Chain):
    """Bidirectional StatelessGRU; the state is held where the mask is 0."""

    def __init__(self, n_in, n_hid):
        super().__init__()
        self.n_hid = n_hid
        with self.init_scope():
            self.fw = L.StatelessGRU(n_in, n_hid)
            self.bw = L.StatelessGRU(n_in, n_hid)

    def run(self, cell, xs, mask, steps):
        h = chainer.Variable(np.zeros((xs.shape[0], self.n_hid), "f"))
        out = [None] * len(steps)
        for t in steps:
            new = cell(h, xs[:, t])
            m = mask[:, t:t + 1]
            h = new * m + h * (1 - m)
            out[t] = h
        return F.stack(out, axis=1)

    def forward(self, xs, mask):
        steps = list(range(xs.shape[1]))
        f = self.run(self.fw, xs, mask, steps)
        b = self.run(self.bw, xs, mask, steps[::-1])
        return F.concat([f, b], axis=2)


class Attention(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.proj = L.Linear(n, n)
            self.context = chainer.Parameter(0.0, (n,))

    def forward(self, hs, mask):
        u = F.tanh(self.proj(hs, n_batch_axes=2))
        score = F.sum(u * F.broadcast_to(self.context, u.shape), axis=2)
        score = score + (mask - 1.0) * 1e4
        a = F.softmax(score, axis=1)
        a = F.broadcast_to(F.expand_dims(a, 2), hs.shape)
        return F.sum(a * hs, axis=1)


class HAN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(VOCAB, D)
            self.word_rnn = BiGRU(D, HW)
            self.word_att = Attention(2 * HW)
            self.sent_rnn = BiGRU(2 * HW, HS)
            self.sent_att = Attention(2 * HS)
            self.fc = L.Linear(2 * HS, CLASSES)

    def forward(self, docs):
        ids = docs.array if isinstance(docs, chainer.Variable) else docs
        b, s, w = ids.shape
        mask = (ids != 0).astype("f")
        sent_mask = mask[:, :, 0]
        words = self.embed(docs)
        words = F.reshape(words, (b * s, w, D))
        wmask = mask.reshape(b * s, w)
        h = self.word_rnn(words, wmask)
        sents = self.word_att(h, wmask)
        sents = F.reshape(sents, (b, s, 2 * HW))
        h = self.sent_rnn(sents, sent_mask)
        doc = self.sent_att(h, sent_mask)
        return F.log_softmax(self.fc(doc), axis=1)


def make():
    m = HAN()
    r = np.random.RandomState(91)
    for n, p in sorted(m.namedparams()):
        if p.ndim == 1:
            s = 0.8 if n.endswith("context") else 0.3
        else:
            s = 0.8 if n.startswith("/embed") else (1.5 / p.shape[1]) ** 0.5
        p.array[...] = r.randn(*p.shape) * s
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    ids = r.randint(1, VOCAB, (4, 3, 5)).astype("int64")
    ids[0, 1, 3:] = 0
    ids[1, 2] = 0
    ids[2, 0, 2:] = 0
    ids[3, 2, 4:] = 0
    ids[3, 1, 1:] = 0
    return (ids,)
