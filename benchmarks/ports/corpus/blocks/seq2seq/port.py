"""The translator in Chainer, its recurrence written out."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
SOURCE, TARGET, EMBED, HIDDEN = 30, 25, 12, 16


class GRU(chainer.Chain):
    """torch's: the reset gate is applied behind the recurrent matrix."""

    def __init__(self, size):
        super().__init__()
        with self.init_scope():
            self.x = L.Linear(size, 3 * HIDDEN)
            self.h = L.Linear(HIDDEN, 3 * HIDDEN)

    def __call__(self, h, x):
        xr, xz, xn = F.split_axis(self.x(x), 3, axis=1)
        hr, hz, hn = F.split_axis(self.h(h), 3, axis=1)
        r = F.sigmoid(xr + hr)
        z = F.sigmoid(xz + hz)
        n = F.tanh(xn + r * hn)
        return n + z * (h - n)


class Seq2Seq(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed_source = L.EmbedID(SOURCE, EMBED)
            self.embed_target = L.EmbedID(TARGET, EMBED)
            self.forth, self.back = GRU(EMBED), GRU(EMBED)
            self.bridge = L.Linear(2 * HIDDEN, HIDDEN)
            self.query = L.Linear(HIDDEN, HIDDEN)
            self.keys = L.Linear(2 * HIDDEN, HIDDEN, nobias=True)
            self.score = L.Linear(HIDDEN, 1, nobias=True)
            self.cell = GRU(EMBED + 2 * HIDDEN)
            self.out = L.Linear(3 * HIDDEN + EMBED, TARGET)

    def encode(self, source):
        steps = F.separate(self.embed_source(source), axis=1)
        h = np.zeros((source.shape[0], HIDDEN), dtype=np.float32)
        forth, back = [], []
        g = h
        for x in steps:
            h = self.forth(h, x)
            forth.append(h)
        for x in reversed(steps):
            g = self.back(g, x)
            back.insert(0, g)
        memory = F.concat((F.stack(forth, axis=1), F.stack(back, axis=1)), axis=2)
        return memory, F.tanh(self.bridge(F.concat((h, g))))

    def attend(self, h, memory, keys, padded):
        batch, length, _ = memory.shape
        query = F.broadcast_to(self.query(h)[:, None], keys.shape)
        scores = self.score(F.tanh(query + keys), n_batch_axes=2)
        scores = F.reshape(scores, (batch, length))
        scores = F.where(padded, np.full(scores.shape, -1e10, "float32"), scores)
        weights = F.softmax(scores, axis=1)
        return F.sum(memory * F.broadcast_to(weights[:, :, None], memory.shape), axis=1)

    def __call__(self, source, target):
        memory, h = self.encode(source)
        keys = self.keys(memory, n_batch_axes=2)
        padded = source == 0
        logits = []
        for t in range(target.shape[1]):
            y = self.embed_target(target[:, t])
            context = self.attend(h, memory, keys, padded)
            h = self.cell(h, F.concat((y, context)))
            logits.append(self.out(F.concat((h, context, y))))
        return F.stack(logits, axis=1)


def make():
    return Seq2Seq()


def load(port, ref):
    def numbers(tensor):
        return tensor.detach().numpy().copy()

    def linear(ours, weight, bias=None):
        ours.W.array[...] = numbers(weight)
        if bias is not None:
            ours.b.array[...] = numbers(bias)

    encoder, decoder = ref.encoder, ref.decoder
    port.embed_source.W.array[...] = numbers(encoder.embedding.weight)
    port.embed_target.W.array[...] = numbers(decoder.embedding.weight)
    rnn, cell = encoder.rnn, decoder.cell
    linear(port.forth.x, rnn.weight_ih_l0, rnn.bias_ih_l0)
    linear(port.forth.h, rnn.weight_hh_l0, rnn.bias_hh_l0)
    linear(port.back.x, rnn.weight_ih_l0_reverse, rnn.bias_ih_l0_reverse)
    linear(port.back.h, rnn.weight_hh_l0_reverse, rnn.bias_hh_l0_reverse)
    linear(port.cell.x, cell.weight_ih, cell.bias_ih)
    linear(port.cell.h, cell.weight_hh, cell.bias_hh)
    linear(port.bridge, encoder.fc.weight, encoder.fc.bias)
    energy = decoder.attention.energy
    linear(port.query, energy.weight[:, :HIDDEN], energy.bias)
    linear(port.keys, energy.weight[:, HIDDEN:])
    linear(port.score, decoder.attention.v.weight)
    linear(port.out, decoder.out.weight, decoder.out.bias)
