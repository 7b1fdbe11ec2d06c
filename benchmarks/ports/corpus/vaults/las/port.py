"""Listen, Attend and Spell in Chainer."""
import parity  # noqa: F401  (lets chainer load)
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import Chain, Sequential

FRAMEWORK = "chainer"


class PyramidalBiLSTM(Chain):
    def __init__(self, n_in, units):
        super().__init__()
        with self.init_scope():
            self.rnn = L.NStepBiLSTM(1, 2 * n_in, units, dropout=0.0)

    def forward(self, x):
        b, t, f = x.shape
        x = F.reshape(x, (b, t // 2, 2 * f))
        _, _, ys = self.rnn(None, None, [x[i] for i in range(b)])
        return F.stack(ys, axis=0)


class Attention(Chain):
    def __init__(self, n_state, n_features, dim):
        super().__init__()
        with self.init_scope():
            self.phi = L.Linear(n_state, dim)
            self.psi = L.Linear(n_features, dim)

    def keys(self, features):
        return F.tanh(self.psi(features, n_batch_axes=2))

    def forward(self, state, keys, features):
        query = F.tanh(self.phi(state))
        energy = F.matmul(keys, F.expand_dims(query, 2))
        score = F.softmax(F.squeeze(energy, 2), axis=1)
        context = F.matmul(F.expand_dims(score, 1), features)
        return score, F.squeeze(context, 1)


class Speller(Chain):
    def __init__(self, vocab, emb, units, n_features):
        super().__init__()
        self.units = units
        with self.init_scope():
            self.embed = L.EmbedID(vocab, emb)
            self.lstm0 = L.StatelessLSTM(emb + n_features, units)
            self.lstm1 = L.StatelessLSTM(units, units)
            self.attention = Attention(units, n_features, 6)
            self.out = L.Linear(units + n_features, vocab)

    def forward(self, features, tokens):
        b, steps = tokens.shape
        keys = self.attention.keys(features)
        c0 = h0 = c1 = h1 = np.zeros((b, self.units), "float32")
        context = features[:, 0]
        logits, scores = [], []
        for t in range(steps):
            x = F.concat([self.embed(tokens[:, t]), context], axis=1)
            c0, h0 = self.lstm0(c0, h0, x)
            c1, h1 = self.lstm1(c1, h1, h0)
            score, context = self.attention(h1, keys, features)
            logits.append(self.out(F.concat([h1, context], axis=1)))
            scores.append(score)
        return F.log_softmax(F.stack(logits, axis=1), axis=2), F.stack(scores, axis=1)


class LAS(Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.listener = Sequential(PyramidalBiLSTM(5, 4), PyramidalBiLSTM(8, 4))
            self.speller = Speller(9, 5, 7, 8)

    def forward(self, x, tokens):
        return self.speller(self.listener(x), tokens)


def make():
    net = LAS()
    rng = np.random.default_rng(10)
    for _, p in sorted(net.namedparams()):
        p.array[...] = rng.normal(0, 0.4, p.shape)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4, 16, 5)).astype("float32")
    return x, rng.integers(0, 9, (4, 4)).astype("int32")


def load(ported, original):
    s = {k: v.numpy() for k, v in original.state_dict().items()}

    def linear(link, name):
        link.W.array[...] = s[name + ".weight"]
        link.b.array[...] = s[name + ".bias"]

    def nstep(rnn, name):
        # torch: i, f, g, o in blocks; Chainer: 0 i, 1 f, 2 g, 3 o, then the same of the state
        for link, suffix in zip(rnn, ("", "_reverse")):
            for at, kind in ((0, "ih"), (4, "hh")):
                w = np.split(s[f"{name}.weight_{kind}_l0{suffix}"], 4)
                b = np.split(s[f"{name}.bias_{kind}_l0{suffix}"], 4)
                for j in range(4):
                    getattr(link, f"w{at + j}").array[...] = w[j]
                    getattr(link, f"b{at + j}").array[...] = b[j]

    def interleave(w):
        i, f, g, o = np.split(w, 4)
        return np.stack([g, i, f, o], 1).reshape(w.shape)

    def cell(link, name):
        link.upward.W.array[...] = interleave(s[name + ".weight_ih"])
        link.upward.b.array[...] = interleave(s[name + ".bias_ih"] + s[name + ".bias_hh"])
        link.lateral.W.array[...] = interleave(s[name + ".weight_hh"])

    nstep(ported.listener[0].rnn, "listener.layer0.lstm")
    nstep(ported.listener[1].rnn, "listener.layer1.lstm")
    speller = ported.speller
    speller.embed.W.array[...] = s["speller.embedding.weight"]
    cell(speller.lstm0, "speller.cell0")
    cell(speller.lstm1, "speller.cell1")
    linear(speller.attention.phi, "speller.attention.phi")
    linear(speller.attention.psi, "speller.attention.psi")
    linear(speller.out, "speller.character")
