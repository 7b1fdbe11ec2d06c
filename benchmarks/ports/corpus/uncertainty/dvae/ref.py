"""A discrete VAE on small images with Gumbel-softmax codes, in Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
CODES, DIM, TAU, EPS = 12, 8, 0.7, 1e-20


def conv(filters, size, stride, activation=None, transpose=False):
    cls = layers.Conv2DTranspose if transpose else layers.Conv2D
    return cls(
        filters,
        size,
        strides=stride,
        padding="same",
        activation=activation,
        bias_initializer=keras.initializers.RandomNormal(stddev=0.1),
    )


class GumbelSoftmax(layers.Layer):
    def __init__(self, tau, **kwargs):
        super().__init__(**kwargs)
        self.tau = tau
        self.seed_generator = keras.random.SeedGenerator(21)

    def call(self, logits):
        u = keras.random.uniform(ops.shape(logits), seed=self.seed_generator)
        gumbel = -ops.log(-ops.log(u + EPS) + EPS)
        return ops.softmax((logits + gumbel) / self.tau, axis=-1)


class DiscreteVAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential(
            [
                keras.Input((12, 12, 3)),
                conv(10, 3, 2, "relu"),
                conv(10, 3, 2, "relu"),
                conv(CODES, 1, 1),
            ]
        )
        self.quantise = GumbelSoftmax(TAU)
        self.codebook = self.add_weight(shape=(CODES, DIM), initializer="random_normal", name="codebook")
        self.decoder = keras.Sequential(
            [
                keras.Input((3, 3, DIM)),
                conv(10, 4, 2, "relu", transpose=True),
                conv(3, 4, 2, transpose=True),
            ]
        )

    def call(self, images):
        logits = self.encoder(images * 2.0 - 1.0)
        codes = self.quantise(logits)
        z = ops.matmul(codes, self.codebook)
        recon = ops.sigmoid(self.decoder(z))
        mse = ops.mean(ops.square(images - recon), axis=(1, 2, 3))
        logq = ops.log_softmax(logits, axis=-1)
        kl = ops.sum(ops.exp(logq) * (logq + np.log(CODES)), axis=(1, 2, 3))
        return {"logits": logits, "codes": codes, "recon": recon, "mse": mse, "kl": kl}


def make():
    keras.utils.set_random_seed(5)
    model = DiscreteVAE()
    model.codebook.assign(3.0 * model.codebook * 10)
    return model


def inputs(seed):
    return np.random.default_rng(seed).uniform(size=(4, 12, 12, 3)).astype("float32")
