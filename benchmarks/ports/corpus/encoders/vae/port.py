"""The beta-VAE in Keras, NHWC."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
B, Z, S, BETA = 4, 5, 16, 4.0


class VAEKeras(keras.Model):
    def __init__(self):
        super().__init__()
        self.pad = layers.ZeroPadding2D(1)
        self.e1, self.e2 = layers.Conv2D(8, 4, 2, activation="relu"), layers.Conv2D(16, 4, 2, activation="relu")
        self.mu, self.logvar, self.fc = layers.Dense(Z), layers.Dense(Z), layers.Dense(256)
        self.d1 = layers.Conv2DTranspose(8, 4, 2, padding="same")
        self.d2 = layers.Conv2DTranspose(1, 4, 2, padding="same")
        self.leaky = layers.LeakyReLU(negative_slope=0.2)

    def call(self, x):
        h = self.e2(self.pad(self.e1(self.pad(x))))
        h = ops.reshape(ops.transpose(h, (0, 3, 1, 2)), (-1, 256))
        mu, logvar = self.mu(h), self.logvar(h)
        logvar = ops.clip(logvar, -6.0, 2.0)
        noise = tf.random.normal(tf.shape(mu))
        z = mu + ops.exp(0.5 * logvar) * noise
        y = self.leaky(self.fc(z))
        y = ops.transpose(ops.reshape(y, (-1, 16, 4, 4)), (0, 2, 3, 1))
        y = self.leaky(self.d1(y))
        recon = ops.sigmoid(self.d2(y))
        terms = mu ** 2 + ops.exp(logvar) - 1 - logvar
        kl = 0.5 * ops.sum(terms, axis=1)
        rec = ops.sum((recon - x) ** 2, axis=(1, 2, 3))
        loss = rec + BETA * kl
        return {"recon": recon, "kl": kl, "loss": loss}


def np_(p):
    return p.detach().numpy()


def make():
    net = VAEKeras()
    net(np.zeros((B, S, S, 1), "float32"))
    return net


def load(net, ref):
    for k, c in ((net.e1, ref.e1), (net.e2, ref.e2), (net.d1, ref.d1), (net.d2, ref.d2)):
        w = np_(c.weight).transpose(2, 3, 1, 0)
        k.set_weights([w, np_(c.bias)])
    for k, c in ((net.mu, ref.mu), (net.logvar, ref.logvar), (net.fc, ref.fc)):
        k.set_weights([np_(c.weight).T, np_(c.bias)])
