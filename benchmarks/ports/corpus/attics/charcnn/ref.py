"""Character-aware language model (Kim et al., 2016): char CNN, highway, LSTM over words."""
import numpy as np
import chainer
from chainer import functions as F, links as L

FRAMEWORK = "chainer"


class Highway(chainer.Chain):
    def __init__(self, size):
        super().__init__()
        with self.init_scope():
            self.plain = L.Linear(size, size)
            self.transform = L.Linear(size, size)

    def forward(self, x):
        t = F.sigmoid(self.transform(x))
        return t * F.relu(self.plain(x)) + (1 - t) * x


class CharCNN(chainer.Chain):
    def __init__(self, n_chars, dim, widths, filters):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_chars, dim)
            self.convs = chainer.ChainList(*[
                L.Convolution2D(1, n, ksize=(w, dim)) for w, n in zip(widths, filters)])

    def forward(self, words):                         # B C -> B sum(filters)
        e = F.expand_dims(self.embed(words), 1)       # B 1 C D
        return F.concat([F.max(F.tanh(conv(e)), axis=(2, 3)) for conv in self.convs], axis=1)


class CharLM(chainer.Chain):
    def __init__(self, n_chars=30, dim=7, widths=(1, 2, 3, 4), filters=(4, 6, 6, 8), units=16, vocab=25):
        super().__init__()
        size = sum(filters)
        with self.init_scope():
            self.cnn = CharCNN(n_chars, dim, widths, filters)
            self.bn = L.BatchNormalization(size)
            self.highways = chainer.ChainList(Highway(size), Highway(size))
            self.lstm1 = L.LSTM(size, units)
            self.lstm2 = L.LSTM(units, units)
            self.out = L.Linear(units, vocab)

    def forward(self, chars):                         # B T C
        self.lstm1.reset_state()
        self.lstm2.reset_state()
        logits = []
        for t in range(chars.shape[1]):
            x = self.bn(self.cnn(chars[:, t]))
            for highway in self.highways:
                x = highway(x)
            h = self.lstm1(x)
            h = self.lstm2(h)
            logits.append(self.out(h))
        return F.log_softmax(F.stack(logits, axis=1), axis=2)


def make(seed=31):
    model = CharLM()
    rs = np.random.RandomState(seed)
    for name, p in sorted(model.namedparams()):
        z = rs.randn(*p.shape)
        if name.endswith("gamma"):
            z = 1 + 0.2 * z
        elif name.endswith("embed/W"):
            z = 0.7 * z
        elif p.ndim > 1:
            z = 1.2 * z / np.sqrt(np.prod(p.shape[1:]))
        else:
            z = 0.3 * z
        p.array[...] = z
    model.bn.avg_mean[...] = 0.3 * rs.randn(*model.bn.avg_mean.shape)
    model.bn.avg_var[...] = rs.uniform(0.2, 0.9, model.bn.avg_var.shape)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    chars = np.zeros((5, 6, 9), np.int32)             # 0 pad, 1 begin, 2 end
    for b in range(5):
        for t in range(6):
            n = rng.integers(2, 8)
            chars[b, t, :n + 2] = np.r_[1, rng.integers(3, 30, n), 2]
    return chars
