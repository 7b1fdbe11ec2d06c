"""Bidirectional GRU speech encoder with lengths, in Keras (masked)."""
import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"


class KEncoder(keras.Model):
    def __init__(self, hidden=24, out=16):
        super().__init__()
        self.inp = keras.layers.Dense(32, activation="relu")
        self.fwd = keras.layers.GRU(hidden, return_sequences=True, reset_after=True)
        self.bwd = keras.layers.GRU(hidden, return_sequences=True, reset_after=True, go_backwards=True)
        self.out = keras.layers.Dense(out)

    def call(self, mels, lengths):
        x = self.inp(mels)
        steps = tf.range(tf.shape(x)[1], dtype=lengths.dtype)[None]
        mask = steps < lengths[:, None]
        f = self.fwd(x, mask=mask)
        b = self.bwd(x, mask=mask)
        b = tf.reverse(b, axis=[1])
        h = tf.concat([f, b], axis=-1)
        h = h * tf.cast(mask, h.dtype)[..., None]
        pooled = tf.reduce_sum(h, axis=1) / tf.cast(lengths, h.dtype)[:, None]
        return tf.math.l2_normalize(self.out(pooled), axis=1)


def make():
    net = KEncoder()
    net(tf.zeros((2, 15, 20)), tf.constant([15, 3]))
    return net


def load(net, ref):
    for n in ("inp", "out"):
        layer = getattr(ref, n)
        getattr(net, n).set_weights([layer.weight.detach().numpy().T, layer.bias.detach().numpy()])

    def order(a):
        r, z, n = np.split(a, 3, axis=0)
        return np.concatenate([z, r, n], axis=0)

    for mine, suffix in ((net.fwd, "l0"), (net.bwd, "l0_reverse")):
        wi, wh, bi, bh = (order(getattr(ref.gru, f"{k}_{suffix}").detach().numpy()) for k in
                          ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        mine.set_weights([wi.T, wh.T, np.stack([bi, bh])])
