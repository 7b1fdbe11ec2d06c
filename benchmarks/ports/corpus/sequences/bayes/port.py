"""The Bayesian network as a tf.Module."""
import math

import tensorflow as tf

FRAMEWORK = "tensorflow"
PRIOR = 0.3


class TFBayesLinear(tf.Module):
    def copy(self, layer):
        n = lambda p: p.detach().numpy()
        self.w_mu, self.w_rho = tf.Variable(n(layer.w_mu).T), tf.Variable(n(layer.w_rho).T)
        self.b_mu, self.b_rho = tf.Variable(n(layer.b_mu)), tf.Variable(n(layer.b_rho))

    def sigma(self, rho):
        return tf.nn.softplus(rho)

    def kl(self, mu, sigma):
        log = math.log(PRIOR) - tf.math.log(sigma)
        terms = log + (sigma**2 + mu**2) / (2 * PRIOR**2) - 0.5
        return tf.reduce_sum(terms)

    def __call__(self, x):
        ws, bs = self.sigma(self.w_rho), self.sigma(self.b_rho)
        noise = tf.random.normal(ws.shape)
        w = self.w_mu + ws * noise
        b = self.b_mu + bs * tf.random.normal(bs.shape)
        kl = self.kl(self.w_mu, ws)
        kl = kl + self.kl(self.b_mu, bs)
        return tf.matmul(x, w) + b, kl


class TFBayesNet(tf.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = TFBayesLinear(), TFBayesLinear()

    def __call__(self, x):
        h, kl1 = self.l1(x)
        y, kl2 = self.l2(tf.nn.relu(h))
        return tf.nn.log_softmax(y, axis=-1), kl1 + kl2


def make():
    return TFBayesNet()


def load(k, t):
    k.l1.copy(t.l1)
    k.l2.copy(t.l2)
