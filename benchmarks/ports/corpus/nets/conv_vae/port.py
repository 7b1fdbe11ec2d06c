"""Convolutional VAE in Keras: Sequential encoder trunk and decoder inside a subclassed model."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"

LATENT = 5
BN = dict(epsilon=2e-5, momentum=0.9)


def build_trunk():
    return keras.Sequential([
        keras.Input((16, 16, 1)),
        layers.ZeroPadding2D(((1, 1), (1, 1))),
        layers.Conv2D(6, 3, strides=2, padding="valid", name="conv1"),
        layers.BatchNormalization(name="bn1", **BN),
        layers.LeakyReLU(negative_slope=0.2),
        layers.ZeroPadding2D(((1, 1), (1, 1))),
        layers.Conv2D(8, 3, strides=2, padding="valid", name="conv2"),
        layers.BatchNormalization(name="bn2", **BN),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Flatten(),
    ], name="trunk")


def build_decoder():
    return keras.Sequential([
        keras.Input((LATENT,)),
        layers.Dense(4 * 4 * 8, activation="relu", name="fc"),
        layers.Reshape((4, 4, 8)),
        layers.Conv2DTranspose(6, 4, strides=2, padding="same", activation="relu", name="deconv1"),
        layers.Conv2DTranspose(1, 4, strides=2, padding="same", name="deconv2"),
        layers.Reshape((16, 16)),
    ], name="decoder")


class ConvVAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.trunk = build_trunk()
        self.to_mu = layers.Dense(LATENT)
        self.to_log_var = layers.Dense(LATENT)
        self.decoder = build_decoder()

    def sample(self, mu, log_var):
        eps = tf.random.normal(tf.shape(mu))
        return mu + tf.exp(0.5 * log_var) * eps

    def call(self, x):
        h = self.trunk(x, training=False)
        mu, log_var = self.to_mu(h), self.to_log_var(h)
        logits = self.decoder(self.sample(mu, log_var))
        bce = tf.nn.sigmoid_cross_entropy_with_logits(labels=x[..., 0], logits=logits)
        rec = tf.reduce_sum(bce, axis=[1, 2])
        kl = -0.5 * tf.reduce_sum(1.0 + log_var - tf.square(mu) - tf.exp(log_var), axis=1)
        return {"logits": logits, "mu": mu, "ln_var": log_var, "elbo": -(rec + kl)}


def make():
    model = ConvVAE()
    model(np.zeros((1, 16, 16, 1), np.float32))
    return model


def inputs(seed):
    rng = np.random.RandomState(seed)
    yy, xx = np.mgrid[0:16, 0:16] / 15.0
    img = [np.sin(6 * (a * xx + b * yy) + c) for a, b, c in rng.uniform(-1, 1, (5, 3))]
    return np.clip(np.array(img) * 0.5 + 0.5 + 0.1 * rng.randn(5, 16, 16), 0, 1).astype(np.float32)[..., None]


def load(port_model, ref_model):
    r, trunk, dec = ref_model, port_model.trunk, port_model.decoder
    for name in ("conv1", "conv2"):
        link = getattr(r, name)
        trunk.get_layer(name).set_weights([link.W.array.transpose(2, 3, 1, 0), link.b.array])
    for name in ("bn1", "bn2"):
        link = getattr(r, name)
        trunk.get_layer(name).set_weights(
            [link.gamma.array, link.beta.array, np.asarray(link.avg_mean), np.asarray(link.avg_var)])

    # chainer flattens (C, H, W), keras flattens (H, W, C)
    order = np.arange(8 * 4 * 4).reshape(8, 4, 4).transpose(1, 2, 0).ravel()
    port_model.to_mu.set_weights([r.mu.W.array[:, order].T, r.mu.b.array])
    port_model.to_log_var.set_weights([r.ln_var.W.array[:, order].T, r.ln_var.b.array])
    dec.get_layer("fc").set_weights([r.fc.W.array[order].T, r.fc.b.array[order]])

    for name in ("deconv1", "deconv2"):
        link = getattr(r, name)
        dec.get_layer(name).set_weights([link.W.array.transpose(2, 3, 1, 0), link.b.array])
    return port_model
