"""The beta-VAE in Keras."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
MODE = "train"
LAYOUT = "NHWC"
Z, BETA = 6, 4.0


class KVAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv2D(6, 4, 2, padding="same", activation="relu")
        self.conv2 = layers.Conv2D(10, 4, 2, padding="same", activation="relu")
        self.stats = layers.Dense(2 * Z)
        self.fc = layers.Dense(160, activation="relu")
        self.deconv1 = layers.Conv2DTranspose(6, 4, 2, padding="same", activation="relu")
        self.deconv2 = layers.Conv2DTranspose(1, 4, 2, padding="same")

    def call(self, x):
        h = self.conv2(self.conv1(x))
        h = tf.reshape(tf.transpose(h, (0, 3, 1, 2)), (h.shape[0], -1))
        mu, logvar = tf.split(self.stats(h), 2, axis=1)
        noise = tf.random.normal(tf.shape(mu))
        z = mu + noise * tf.exp(0.5 * logvar)
        h = tf.transpose(tf.reshape(self.fc(z), (-1, 10, 4, 4)), (0, 2, 3, 1))
        logits = self.deconv2(self.deconv1(h))
        probs = tf.sigmoid(logits)
        nll = tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits)
        nll = tf.reduce_sum(nll, axis=(1, 2, 3))
        kl = 1 + logvar - tf.square(mu) - tf.exp(logvar)
        kl = -0.5 * tf.reduce_sum(kl, axis=1)
        return {"probs": probs, "loss": nll + BETA * kl}


def make():
    net = KVAE()
    net(np.zeros((1, 16, 16, 1), "float32"))
    return net


def load(net, ref):
    for name in ("conv1", "conv2", "stats", "fc", "deconv1", "deconv2"):
        t = getattr(ref, name)
        w = t.weight.detach().numpy()
        w = w.transpose(2, 3, 1, 0) if w.ndim == 4 else w.T
        getattr(net, name).set_weights([w, t.bias.detach().numpy()])
