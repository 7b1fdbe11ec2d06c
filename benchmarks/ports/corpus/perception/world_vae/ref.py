"""The VAE of World Models in Keras, small, with its two losses."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
LATENT = 7


class Sampling(layers.Layer):
    """Reparametrised draw of z."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        mean, log_var = inputs
        epsilon = keras.random.normal(shape=ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * epsilon


def build_encoder():
    image = keras.Input(shape=(32, 32, 3))
    x = layers.Conv2D(8, 4, strides=2, activation="relu", name="c1")(image)
    x = layers.Conv2D(12, 4, strides=2, activation="relu", name="c2")(x)
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu", name="c3")(x)
    x = layers.Flatten()(x)
    mean = layers.Dense(LATENT, name="z_mean")(x)
    log_var = layers.Dense(LATENT, name="z_log_var")(x)
    return keras.Model(image, [mean, log_var], name="encoder")


def build_decoder():
    latent = keras.Input(shape=(LATENT,))
    x = layers.Dense(4 * 4 * 16, name="d0")(latent)
    x = layers.Reshape((4, 4, 16))(x)
    x = layers.Conv2DTranspose(12, 3, strides=2, padding="same", activation="relu", name="t1")(x)
    x = layers.Conv2DTranspose(8, 4, strides=2, padding="same", activation="relu", name="t2")(x)
    x = layers.Conv2DTranspose(3, 4, strides=2, padding="same", activation="sigmoid", name="t3")(x)
    return keras.Model(latent, x, name="decoder")


class VAE(keras.Model):
    def __init__(self, beta=0.5, **kwargs):
        super().__init__(**kwargs)
        self.encoder, self.decoder, self.sampling = build_encoder(), build_decoder(), Sampling()
        self.beta = beta

    def call(self, image):
        mean, log_var = self.encoder(image)
        z = self.sampling([mean, log_var])
        reconstruction = self.decoder(z)
        error = ops.sum(ops.square(image - reconstruction), axis=(1, 2, 3))
        kl = -0.5 * ops.sum(1 + log_var - ops.square(mean) - ops.exp(log_var), axis=1)
        loss = ops.mean(error + self.beta * kl)
        return reconstruction, mean, log_var, loss


def make():
    keras.utils.set_random_seed(10)
    vae = VAE()
    vae(np.zeros((1, 32, 32, 3), "float32"))
    rng = np.random.default_rng(3)
    for weight in vae.trainable_weights:
        if len(weight.shape) == 1:
            weight.assign(rng.normal(scale=0.1, size=weight.shape))
    return vae


def inputs(seed):
    return np.random.default_rng(seed).uniform(size=(4, 32, 32, 3)).astype("float32")
