"""Dual-path RNN separation in Keras (subclassing)."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
N, B, H, K, SPK = 8, 6, 5, 8, 2
SAMPLES = 84


class BiLSTM(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.fwd = layers.LSTM(units, return_sequences=True)
        self.bwd = layers.LSTM(units, return_sequences=True, go_backwards=True)

    def call(self, x):
        back = ops.flip(self.bwd(x), axis=1)
        return ops.concatenate([self.fwd(x), back], axis=-1)


class PathRNN(layers.Layer):
    """BiLSTM over axis 2 of (batch, rows, steps, features), projection, global norm."""

    def __init__(self):
        super().__init__()
        self.rnn = BiLSTM(H)
        self.proj = layers.Dense(B)
        self.norm = layers.GroupNormalization(groups=1, epsilon=1e-8)

    def call(self, x):
        _, rows, steps, f = x.shape
        y = self.rnn(ops.reshape(x, (-1, steps, f)))
        y = ops.reshape(self.proj(y), (-1, rows, steps, f))
        return self.norm(y)


class DualPathBlock(layers.Layer):
    def __init__(self):
        super().__init__()
        self.intra = PathRNN()
        self.inter = PathRNN()

    def call(self, x):  # (B, S, K, F)
        x = x + self.intra(x)
        y = self.inter(ops.transpose(x, (0, 2, 1, 3)))
        return x + ops.transpose(y, (0, 2, 1, 3))


def frames(x, k):
    p = k // 2
    x = ops.pad(x, [[0, 0], [p, p], [0, 0]])
    halves = ops.reshape(x, (-1, x.shape[1] // p, p, x.shape[2]))
    return ops.concatenate([halves[:, :-1], halves[:, 1:]], axis=2)


def merge(x, length):
    _, s, k, f = x.shape
    p = k // 2
    zero = ops.zeros_like(x[:, :1, :p])
    a = ops.concatenate([x[:, :, :p], zero], axis=1)
    b = ops.concatenate([zero, x[:, :, p:]], axis=1)
    y = ops.reshape(a + b, (-1, (s + 1) * p, f))
    return y[:, p:p + length]


class DPRNN(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = layers.Conv1D(N, 8, strides=4, use_bias=False, activation="relu")
        self.norm = layers.GroupNormalization(groups=1, epsilon=1e-8)
        self.bottleneck = layers.Dense(B)
        self.stack = [DualPathBlock() for _ in range(2)]
        self.prelu = layers.PReLU(shared_axes=[1, 2, 3])
        self.mask_conv = layers.Dense(SPK * B)
        self.value = layers.Dense(N, activation="tanh")
        self.gate = layers.Dense(N, activation="sigmoid")
        self.decoder = layers.Conv1DTranspose(1, 8, strides=4, use_bias=False)

    def call(self, wav):
        w = self.encoder(wav[:, :, None])
        x = self.bottleneck(self.norm(w))
        length = x.shape[1]
        x = frames(x, K)
        for blk in self.stack:
            x = blk(x)
        x = self.mask_conv(self.prelu(x))
        s = x.shape[1]
        x = ops.reshape(x, (-1, s, K, SPK, B))
        x = ops.transpose(x, (0, 3, 1, 2, 4))
        x = merge(ops.reshape(x, (-1, s, K, B)), length)
        m = ops.relu(self.value(x) * self.gate(x))
        m = ops.reshape(m, (-1, SPK, length, N))
        y = ops.reshape(m * w[:, None], (-1, length, N))
        return ops.reshape(self.decoder(y), (-1, SPK, SAMPLES))


def make():
    keras.utils.set_random_seed(5)
    m = DPRNN()
    m(inputs(0)[0])
    r = np.random.RandomState(5)
    for v in m.weights:
        v.assign(r.normal(1.0 if "gamma" in v.path else 0.0, 0.3, v.shape))
    return m


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, SAMPLES).astype("float32"),)


def load(ported, original):
    s = {k: v.numpy() for k, v in original.state_dict().items()}

    def dense(l, n):
        w = s[n + ".weight"]
        l.set_weights([w.reshape(w.shape[0], -1).T, s[n + ".bias"]])

    def norm(l, n):
        l.set_weights([s[n + ".weight"], s[n + ".bias"]])

    def path(l, n):
        for cell, d in ((l.rnn.fwd, ""), (l.rnn.bwd, "_reverse")):
            g = {k: s["%s_rnn.%s_l0%s" % (n, k, d)] for k in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
            cell.set_weights([g["weight_ih"].T, g["weight_hh"].T, g["bias_ih"] + g["bias_hh"]])
        dense(l.proj, n + "_linear")
        norm(l.norm, n + "_norm")

    ported.encoder.set_weights([s["encoder.weight"].transpose(2, 1, 0)])
    ported.decoder.set_weights([s["decoder.weight"].transpose(2, 1, 0)])
    norm(ported.norm, "norm")
    dense(ported.bottleneck, "bottleneck")
    for i, blk in enumerate(ported.stack):
        path(blk.intra, "blocks.%d.intra" % i)
        path(blk.inter, "blocks.%d.inter" % i)
    ported.prelu.set_weights([s["prelu.weight"].reshape(1, 1, 1)])
    dense(ported.mask_conv, "mask_conv")
    dense(ported.value, "out")
    dense(ported.gate, "gate")
