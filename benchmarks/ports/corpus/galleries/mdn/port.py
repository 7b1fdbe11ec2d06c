"""Mixture density network with dropout in train mode, its loss and a sample, in Keras."""
import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
MODE = "train"


class KMDN(keras.Model):
    def __init__(self, k=5):
        super().__init__()
        self.l1, self.l2 = keras.layers.Dense(40), keras.layers.Dense(40)
        self.drop1 = keras.layers.Dropout(0.2)
        self.drop2 = keras.layers.Dropout(0.2)
        self.pi, self.mu, self.sigma = (keras.layers.Dense(k) for _ in range(3))

    def call(self, x, y, training=None):
        h = self.drop1(tf.tanh(self.l1(x)), training=training)
        h = self.drop2(tf.tanh(self.l2(h)), training=training)
        logits, mu, log_sigma = self.pi(h), self.mu(h), self.sigma(h)
        sigma = tf.exp(log_sigma)
        normal = -0.5 * tf.square((y - mu) / sigma) - tf.math.log(sigma) - 0.5 * np.log(2 * np.pi)
        nll = -tf.reduce_logsumexp(tf.nn.log_softmax(logits) + normal, axis=1)
        k = tf.random.categorical(logits, 1)[:, 0]
        m, s = tf.gather(mu, k, batch_dims=1), tf.gather(sigma, k, batch_dims=1)
        return {"nll": nll, "sample": m + s * tf.random.normal(tf.shape(m))}


def make():
    net = KMDN()
    net(tf.zeros((2, 7)), tf.zeros((2, 1)))
    return net


def load(net, ref):
    for n in ("l1", "l2", "pi", "mu", "sigma"):
        layer = getattr(ref, n)
        getattr(net, n).set_weights([layer.weight.detach().numpy().T, layer.bias.detach().numpy()])
