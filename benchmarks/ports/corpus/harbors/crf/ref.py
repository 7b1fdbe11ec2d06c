"""A tagger with characters, a BiLSTM and a CRF (Ma & Hovy 2016) in Chainer."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
WORDS, CHARS, TAGS, LETTERS = 40, 26, 6, 7
WORD_DIM, CHAR_DIM, FILTERS, UNITS = 12, 8, 10, 14


class Tagger(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.word = L.EmbedID(WORDS, WORD_DIM)
            self.char = L.EmbedID(CHARS, CHAR_DIM)
            self.conv = L.Convolution1D(CHAR_DIM, FILTERS, 3, pad=1)
            self.rnn = L.NStepBiLSTM(1, WORD_DIM + FILTERS, UNITS, 0.0)
            self.project = L.Linear(2 * UNITS, TAGS)
            self.cost = chainer.Parameter(0, (TAGS, TAGS))

    def spell(self, chars):
        b, t, n = chars.shape
        x = self.char(chars.reshape(b * t, n)).transpose(0, 2, 1)
        x = F.max(F.tanh(self.conv(x)), axis=2)
        return F.reshape(x, (b, t, FILTERS))

    def emissions(self, words, chars):
        x = F.concat([self.word(words), self.spell(chars)], axis=2)
        _, _, hs = self.rnn(None, None, [x[i] for i in range(len(x))])
        return self.project(F.stack(hs), n_batch_axes=2)

    def forward(self, words, chars, tags):
        scores = self.emissions(words, chars)
        steps = range(words.shape[1])
        loss = F.crf1d(self.cost, [scores[:, i] for i in steps], [tags[:, i] for i in steps], reduce="no")
        return loss, scores


def make(seed=0):
    net, rng = Tagger(), np.random.default_rng(seed)
    for name, p in sorted(net.namedparams()):
        scale = np.prod(p.shape[1:]) ** -0.5 if p.ndim > 1 else 0.2
        p.array[...] = rng.normal(0, scale * (3 if name == "/cost" else 1), p.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    sizes = ((WORDS, (4, 9)), (CHARS, (4, 9, LETTERS)), (TAGS, (4, 9)))
    return tuple(rng.integers(0, n, shape).astype("int32") for n, shape in sizes)
