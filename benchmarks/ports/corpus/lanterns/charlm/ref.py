"""Character-aware language model (Kim et al. 2016): char CNN, highway, LSTM, softmax over words."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
CHARS, VOCAB = 30, 40


class Highway(chainer.Chain):
    def __init__(self, size):
        super().__init__()
        with self.init_scope():
            self.plain = L.Linear(size, size)
            self.gate = L.Linear(size, size)

    def forward(self, x):
        t = F.sigmoid(self.gate(x))
        return t * F.relu(self.plain(x)) + (1 - t) * x


class CharEncoder(chainer.Chain):
    def __init__(self, dim, widths, channels):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(CHARS, dim)
            self.convs = chainer.ChainList(
                *[L.Convolution1D(dim, c, w) for w, c in zip(widths, channels)])
            self.highways = chainer.ChainList(*[Highway(sum(channels)) for _ in range(2)])

    def forward(self, chars):
        e = F.transpose(self.embed(chars), (0, 2, 1))
        feats = []
        for conv in self.convs:
            feats.append(F.max(F.tanh(conv(e)), axis=2))
        h = F.concat(feats, axis=1)
        for highway in self.highways:
            h = highway(h)
        return h


class CharLM(chainer.Chain):
    def __init__(self, dim=10, widths=(1, 2, 3), channels=(6, 8, 10), hidden=18):
        super().__init__()
        self.hidden = hidden
        with self.init_scope():
            self.words = CharEncoder(dim, widths, channels)
            self.lstm = L.StatelessLSTM(sum(channels), hidden)
            self.out = L.Linear(hidden, VOCAB)

    def forward(self, chars):
        batch, steps, width = chars.shape
        x = self.words(F.reshape(chars, (batch * steps, width)))
        x = F.reshape(x, (batch, steps, -1))
        c = h = None
        logits = []
        for t in range(steps):
            c, h = self.lstm(c, h, x[:, t])
            logits.append(self.out(h))
        return F.log_softmax(F.stack(logits, axis=1), axis=2)


def make(seed=0):
    rng = np.random.RandomState(seed)
    model = CharLM()
    for name, param in sorted(model.namedparams()):
        noise = rng.randn(*param.shape).astype("f")
        if param.ndim == 1:
            param.array[...] = 0.2 * noise
            if "gate" in name:
                param.array[...] -= 1
        elif "embed" in name:
            param.array[...] = noise
        else:
            param.array[...] = noise / np.sqrt(np.prod(param.shape[1:]))
    return model


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    chars = rng.randint(1, CHARS, size=(5, 7, 9)).astype("i")
    lengths = rng.randint(3, 10, size=(5, 7, 1))
    return np.where(np.arange(9) < lengths, chars, 0).astype("i")
