"""ESIM (Chen et al. 2017) in Chainer, with masked BiLSTMs stepped by hand."""
import parity  # noqa: F401  (lets chainer load)
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import Chain

FRAMEWORK = "chainer"


class BiLSTM(Chain):
    def __init__(self, n_in, units):
        super().__init__()
        self.units = units
        with self.init_scope():
            self.forward_cell = L.StatelessLSTM(n_in, units)
            self.backward_cell = L.StatelessLSTM(n_in, units)

    def run(self, cell, x, mask, steps):
        b = x.shape[0]
        c = h = np.zeros((b, self.units), "float32")
        out = {}
        for t in steps:
            new_c, new_h = cell(c, h, x[:, t])
            live = np.broadcast_to(mask[:, t, None], (b, self.units))
            c, h = F.where(live, new_c, c), F.where(live, new_h, h)
            out[t] = h
        return F.stack([out[t] for t in range(x.shape[1])], axis=1)

    def forward(self, x, mask):
        n = x.shape[1]
        forwards = self.run(self.forward_cell, x, mask, range(n))
        backwards = self.run(self.backward_cell, x, mask, range(n - 1, -1, -1))
        return F.concat([forwards, backwards], axis=2)


def masked_softmax(scores, mask):
    return F.softmax(F.where(np.broadcast_to(mask, scores.shape), scores, np.full(scores.shape, -1e7, "float32")), axis=2)


class ESIM(Chain):
    def __init__(self, vocab=21, emb=6, units=5, classes=3):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(vocab, emb)
            self.encoder = BiLSTM(emb, units)
            self.projection = L.Linear(8 * units, units)
            self.composition = BiLSTM(units, units)
            self.hidden = L.Linear(8 * units, units)
            self.classifier = L.Linear(units, classes)

    def enhance(self, own, other, mask):
        m = F.concat([own, other, own - other, own * other], axis=2)
        return self.composition(F.relu(self.projection(m, n_batch_axes=2)), mask)

    def pool(self, v, mask):
        live = mask[:, :, None].astype("float32")
        average = F.sum(v * np.broadcast_to(live, v.shape), axis=1) / np.broadcast_to(live.sum(1), (len(live), v.shape[2]))
        largest = F.max(v + np.broadcast_to((live - 1) * 1e7, v.shape), axis=1)
        return F.concat([average, largest], axis=1)

    def forward(self, premise, hypothesis):
        mask_p, mask_h = premise > 0, hypothesis > 0
        a = self.encoder(self.embed(premise), mask_p)
        b = self.encoder(self.embed(hypothesis), mask_h)
        scores = F.matmul(a, b, transb=True)
        a_soft = F.matmul(masked_softmax(scores, mask_h[:, None, :]), b)
        b_soft = F.matmul(masked_softmax(F.transpose(scores, (0, 2, 1)), mask_p[:, None, :]), a)
        v_a = self.pool(self.enhance(a, a_soft, mask_p), mask_p)
        v_b = self.pool(self.enhance(b, b_soft, mask_h), mask_h)
        h = F.tanh(self.hidden(F.concat([v_a, v_b], axis=1)))
        return self.classifier(h)


def make():
    net = ESIM()
    rng = np.random.default_rng(81)
    for name, p in sorted(net.namedparams()):
        std = 1.5 / np.sqrt(p.shape[1]) if p.array.ndim > 1 else 0.4
        p.array[...] = rng.normal(0, std, p.shape)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    premise = rng.integers(1, 21, (5, 6))
    hypothesis = rng.integers(1, 21, (5, 6))
    premise[np.arange(6)[None] >= np.array([6, 4, 5, 6, 3])[:, None]] = 0
    hypothesis[np.arange(6)[None] >= np.array([3, 6, 4, 5, 5])[:, None]] = 0
    return premise.astype("int32"), hypothesis.astype("int32")
