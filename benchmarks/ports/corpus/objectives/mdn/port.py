"""Mixture density network with a Keras layer for the spectral norm and one joint head."""

import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
K, D = 5, 2


def unit(vector):
    return vector / tf.maximum(tf.norm(vector), 1e-12)


class SpectralDense(keras.layers.Layer):
    def __init__(self, units, bound=2.0, **kwargs):
        super().__init__(**kwargs)
        self.units, self.bound = units, bound

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units), name="kernel")
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")
        self.u = self.add_weight(shape=(1, self.units), trainable=False, name="u")

    def call(self, x):
        left = unit(tf.matmul(self.u, self.kernel, transpose_b=True))
        right = unit(tf.matmul(left, self.kernel))
        sigma = tf.reduce_sum(tf.matmul(left, self.kernel) * right)
        return tf.matmul(x, self.kernel) * (self.bound / sigma) + self.bias


class MixtureDensity(keras.Model):
    def __init__(self):
        super().__init__()
        self.one = SpectralDense(20)
        self.two = SpectralDense(20)
        self.head = keras.layers.Dense(K + 2 * K * D)

    def call(self, x, y):
        h = tf.nn.elu(self.one(x))
        h = h + tf.nn.elu(self.two(h))
        logits, mu, raw = tf.split(self.head(h), [K, K * D, K * D], axis=-1)
        pi = tf.nn.softmax(logits)
        log_pi = tf.nn.log_softmax(logits)
        mu = tf.reshape(mu, (-1, K, D))
        sigma = tf.reshape(tf.math.softplus(raw), (-1, K, D)) + 1e-3
        var = tf.square(sigma)

        quadratic = tf.square(y[:, None] - mu) / var
        log_det = tf.reduce_sum(tf.math.log(2.0 * np.pi * var), axis=-1)
        log_normal = -0.5 * (tf.reduce_sum(quadratic, axis=-1) + log_det)
        nll = -tf.reduce_logsumexp(log_pi + log_normal, axis=-1)

        uniform = tf.clip_by_value(tf.random.uniform(tf.shape(log_pi)), 1e-6, 1 - 1e-6)
        gumbel = -tf.math.log(-tf.math.log(uniform))
        soft = tf.nn.softmax((log_pi + gumbel) / 0.7)
        picked_mu = tf.einsum("bk,bkd->bd", soft, mu)
        picked_sigma = tf.einsum("bk,bkd->bd", soft, sigma)
        sample = picked_mu + picked_sigma * tf.random.normal(tf.shape(y))

        expected = tf.einsum("bk,bkd->bd", pi, mu)
        spread = tf.einsum("bk,bkd->bd", pi, var + tf.square(mu - expected[:, None]))
        return nll, sample, expected, spread


def make():
    net = MixtureDensity()
    net(tf.zeros((1, 6)), tf.zeros((1, 2)))
    return net


def load(net, reference):
    state = {k: v.numpy() for k, v in reference.state_dict().items()}
    for ours, name in ((net.one, "one"), (net.two, "two")):
        ours.kernel.assign(state[f"{name}.weight"].T)
        ours.bias.assign(state[f"{name}.bias"])
        ours.u.assign(state[f"{name}.u"][None])
    heads = ("logits", "means", "scales")
    kernel = np.concatenate([state[f"{h}.weight"] for h in heads]).T
    bias = np.concatenate([state[f"{h}.bias"] for h in heads])
    net.head.set_weights([kernel, bias])
