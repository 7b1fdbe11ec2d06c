"""Quasi-recurrent network (Bradbury et al. 2017) in Chainer: sentiment of sentences of different lengths."""
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
VOCAB, EMBED, UNITS, WINDOW, CLASSES = 50, 12, 10, 2, 3


class QRNNLayer(chainer.Chain):
    def __init__(self, n_in, n_units):
        super().__init__()
        self.n_units = n_units
        with self.init_scope():
            self.conv = L.Convolution1D(n_in, 3 * n_units, WINDOW, stride=1, pad=WINDOW - 1)

    def forward(self, xs):
        # xs: (batch, channels, time)
        steps = xs.shape[2]
        gates = self.conv(xs)[:, :, :steps]
        z, f, o = F.split_axis(gates, 3, axis=1)
        z, f, o = F.tanh(z), F.sigmoid(f), F.sigmoid(o)
        c = chainer.Variable(np.zeros((xs.shape[0], self.n_units), xs.dtype))
        hs = []
        for t in range(steps):
            c = f[:, :, t] * c + (1 - f[:, :, t]) * z[:, :, t]
            hs.append(o[:, :, t] * c)
        return F.stack(hs, axis=2)


class QRNN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(VOCAB, EMBED)
            self.layer1 = QRNNLayer(EMBED, UNITS)
            self.layer2 = QRNNLayer(EMBED + UNITS, UNITS)
            self.out = L.Linear(UNITS, CLASSES)

    def forward(self, words, lengths):
        x = F.transpose(self.embed(words), (0, 2, 1))
        h1 = self.layer1(x)
        h2 = self.layer2(F.concat([x, h1], axis=1))
        batch = np.arange(len(lengths))
        last = F.get_item(h2, (batch, slice(None), lengths - 1))
        return self.out(F.dropout(last, 0.3))


def make():
    rng = np.random.RandomState(51)
    net = QRNN()
    for p in net.params():
        p.array[...] = rng.normal(0, 0.45, p.shape).astype("f")
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    lengths = np.array([9, 4, 7, 2, 6], dtype="int32")
    words = rng.integers(1, VOCAB, (5, 9)).astype("int32")
    words[np.arange(9) >= lengths[:, None]] = 0
    return words, lengths
