"""Convolutional VAE, 28x28 images, in Keras (NHWC)."""
import keras
import tensorflow as tf

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"


class KVAE(keras.Model):
    def __init__(self, latent=10):
        super().__init__()
        self.latent = latent
        self.c1 = keras.layers.Conv2D(16, 3, strides=2, padding="valid")
        self.c2 = keras.layers.Conv2D(32, 3, strides=2)
        self.mu = keras.layers.Dense(latent)
        self.logvar = keras.layers.Dense(latent)
        self.fc = keras.layers.Dense(32 * 49, activation="relu")
        self.d1 = keras.layers.Conv2DTranspose(16, 4, strides=2, padding="same", activation="relu")
        self.d2 = keras.layers.Conv2DTranspose(1, 4, strides=2, padding="same")
        self.pad = keras.layers.ZeroPadding2D(1)

    def call(self, x):
        h = tf.nn.relu(self.c1(self.pad(x)))
        h = tf.nn.relu(self.c2(self.pad(h)))
        h = tf.transpose(h, (0, 3, 1, 2))
        h = tf.reshape(h, (-1, 32 * 49))
        mu, logvar = self.mu(h), self.logvar(h)
        std = tf.exp(0.5 * logvar)
        eps = tf.random.normal(tf.shape(std))
        z = mu + std * eps
        h = self.fc(z)
        h = tf.transpose(tf.reshape(h, (-1, 32, 7, 7)), (0, 2, 3, 1))
        h = self.d2(self.d1(h))
        recon = tf.sigmoid(h)
        return {"recon": recon, "mu": mu, "logvar": logvar}


def make():
    net = KVAE()
    net(tf.zeros((1, 28, 28, 1)))
    return net


def load(net, ref):
    for name in ("c1", "c2", "mu", "logvar", "fc", "d1", "d2"):
        w, b = (p.detach().numpy() for p in getattr(ref, name).parameters())
        getattr(net, name).set_weights([w.transpose(2, 3, 1, 0) if w.ndim == 4 else w.T, b])
