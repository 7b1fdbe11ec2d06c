"""A convolutional VAE in Keras layers (NHWC), with channels flattened in torch's order."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
Z = 8


class KVAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.c1 = layers.Conv2D(8, 4, 2, padding="same", activation="elu")
        self.c2 = layers.Conv2D(16, 4, 2, padding="same", activation="elu")
        self.mu, self.logvar = layers.Dense(Z), layers.Dense(Z)
        self.fc = layers.Dense(256, activation="elu")
        self.d1 = layers.Conv2DTranspose(8, 4, 2, padding="same", activation="elu")
        self.d2 = layers.Conv2DTranspose(1, 4, 2, padding="same")
        self.seed = keras.random.SeedGenerator(3)

    def call(self, x):
        h = self.c2(self.c1(x))
        h = ops.transpose(h, (0, 3, 1, 2))
        h = ops.reshape(h, (-1, 256))
        mu, logvar = self.mu(h), self.logvar(h)
        shape = ops.shape(mu)
        eps = keras.random.normal(shape, seed=self.seed)
        std = ops.exp(0.5 * logvar)
        z = mu + std * eps
        d = ops.transpose(ops.reshape(self.fc(z), (-1, 16, 4, 4)), (0, 2, 3, 1))
        logits = self.d2(self.d1(d))
        bce = ops.sum(ops.binary_crossentropy(x, logits, from_logits=True), axis=(1, 2, 3))
        terms = 1 + logvar - mu**2 - ops.exp(logvar)
        kl = -0.5 * ops.sum(terms, axis=1)
        return {"logits": logits, "bce": bce, "kl": kl}


def make():
    net = KVAE()
    net(np.zeros((5, 16, 16, 1), "float32"))
    return net


def load(net, ref):
    for k in ("c1", "c2", "mu", "logvar", "fc", "d1", "d2"):
        m = getattr(ref, k)
        w, b = m.weight.detach().numpy(), m.bias.detach().numpy()
        getattr(net, k).set_weights([w.T if w.ndim == 2 else w.transpose(2, 3, 1, 0), b])
