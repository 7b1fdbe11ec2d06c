"""RealNVP on 6 dimensions: log-density and a sample, in TensorFlow."""
import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
D = 6


class TCoupling(keras.layers.Layer):
    def __init__(self, flip):
        super().__init__()
        self.mask = tf.cast(tf.range(D) % 2 == flip, tf.float32)
        self.net = keras.Sequential([keras.layers.Dense(32, "relu"), keras.layers.Dense(32, "relu"), keras.layers.Dense(2 * D)])

    def st(self, x):
        s, t = tf.split(self.net(x * self.mask), 2, axis=1)
        s = tf.tanh(s)
        free = 1 - self.mask
        return s * free, t * free

    def call(self, x):
        s, t = self.st(x)
        y = x * tf.exp(s) + t
        return y, tf.reduce_sum(s, 1)

    def inverse(self, y):
        s, t = self.st(y)
        return (y - t) * tf.exp(-s)


class TRealNVP(keras.Model):
    def __init__(self, depth=4):
        super().__init__()
        self.couplings = [TCoupling(i % 2) for i in range(depth)]

    def call(self, x):
        z, logdet = x, 0.0
        for coupling in self.couplings:
            z, ld = coupling(z)
            logdet += ld
        log_prob = -0.5 * tf.reduce_sum(z**2, 1) - 0.5 * D * np.log(2 * np.pi) + logdet
        sample = tf.random.normal(tf.shape(x), stddev=1.0)
        for coupling in self.couplings[::-1]:
            sample = coupling.inverse(sample)
        return log_prob, sample


def make():
    net = TRealNVP()
    net(tf.zeros((2, D)))
    return net


def load(net, ref):
    for mine, theirs in zip(net.couplings, ref.couplings):
        mine.net.set_weights([p.detach().numpy().T for p in theirs.net.parameters()])
