"""ESIM for Keras 3, subclassed, on keras.layers.LSTM."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"


class BiLSTM(layers.Layer):
    def __init__(self, units):
        super().__init__()
        kw = dict(return_sequences=True, activation="tanh", recurrent_activation="sigmoid")
        self.fwd = layers.LSTM(units, **kw)
        self.bwd = layers.LSTM(units, go_backwards=True, **kw)

    def call(self, x, mask):
        left = self.fwd(x, mask=mask)
        right = ops.flip(self.bwd(x, mask=mask), axis=1)
        return ops.concatenate([left, right], axis=-1)


class ESIM(keras.Model):
    def __init__(self, vocab=21, emb=6, units=5, classes=3):
        super().__init__()
        self.embedding = layers.Embedding(vocab, emb)
        self.encoder = BiLSTM(units)
        self.projection = layers.Dense(units, activation="relu")
        self.composition = BiLSTM(units)
        self.hidden = layers.Dense(units, activation="tanh")
        self.classifier = layers.Dense(classes)

    def attend(self, scores, values, mask):
        scores = ops.where(mask[:, None, :], scores, -1e7)
        return ops.matmul(ops.softmax(scores, axis=-1), values)

    def compose(self, x, aligned, mask):
        m = ops.concatenate([x, aligned, x - aligned, x * aligned], axis=-1)
        v = self.composition(self.projection(m), mask)
        live = ops.cast(mask, "float32")[..., None]
        average = ops.sum(v * live, axis=1) / ops.sum(live, axis=1)
        largest = ops.max(ops.where(mask[..., None], v, -1e7), axis=1)
        return ops.concatenate([average, largest], axis=-1)

    def call(self, premise, hypothesis):
        mask_a, mask_b = premise != 0, hypothesis != 0
        a = self.encoder(self.embedding(premise), mask_a)
        b = self.encoder(self.embedding(hypothesis), mask_b)
        scores = ops.einsum("bid,bjd->bij", a, b)
        a_aligned = self.attend(scores, b, mask_b)
        b_aligned = self.attend(ops.swapaxes(scores, 1, 2), a, mask_a)
        v = [self.compose(a, a_aligned, mask_a), self.compose(b, b_aligned, mask_b)]
        return self.classifier(self.hidden(ops.concatenate(v, axis=-1)))


def make():
    net = ESIM()
    net(*inputs(0))
    rng = np.random.default_rng(8)
    for v in net.weights:
        v.assign(rng.normal(0, 0.4, v.shape))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    premise = rng.integers(1, 21, (5, 6))
    hypothesis = rng.integers(1, 21, (5, 6))
    premise[np.arange(6)[None] >= np.array([6, 4, 5, 6, 3])[:, None]] = 0
    hypothesis[np.arange(6)[None] >= np.array([3, 6, 4, 5, 5])[:, None]] = 0
    return premise.astype("int32"), hypothesis.astype("int32")


def load(ported, original):
    def dense(layer, link):
        layer.set_weights([link.W.array.T, link.b.array])

    def gates(w):
        """Chainer interleaves a, i, f, o unit by unit; Keras has i, f, c, o in blocks."""
        a, i, f, o = np.moveaxis(w.reshape(-1, 4, *w.shape[1:]), 1, 0)
        return np.concatenate([i, f, a, o])

    def lstm(layer, cell):
        up, lateral = cell.upward, cell.lateral
        layer.set_weights([gates(up.W.array).T, gates(lateral.W.array).T, gates(up.b.array)])

    ported.embedding.set_weights([original.embed.W.array])
    for ours, theirs in ((ported.encoder, original.encoder), (ported.composition, original.composition)):
        lstm(ours.fwd, theirs.forward_cell)
        lstm(ours.bwd, theirs.backward_cell)
    dense(ported.projection, original.projection)
    dense(ported.hidden, original.hidden)
    dense(ported.classifier, original.classifier)
