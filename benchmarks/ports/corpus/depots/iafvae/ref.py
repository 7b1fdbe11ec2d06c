"""A convolutional VAE with inverse autoregressive flow (Kingma et al. 2016), in Keras."""

import math

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
LATENT, HIDDEN, CONTEXT, FLOWS = 6, 14, 8, 2
FREE_BITS = 0.25


def made_masks(inputs, hidden):
    """Degrees 1..D in, cyclic in the middle: outputs depend on earlier inputs alone."""
    m_in = np.arange(1, inputs + 1)
    m_hidden = np.arange(hidden) % (inputs - 1) + 1
    first = (m_hidden[None, :] >= m_in[:, None]).astype("float32")
    last = (m_in[None, :] > m_hidden[:, None]).astype("float32")
    return first, last


class MaskedDense(layers.Layer):
    def __init__(self, mask):
        super().__init__()
        self.mask = mask

    def build(self, shape):
        self.kernel = self.add_weight(shape=self.mask.shape, name="kernel")
        self.bias = self.add_weight(shape=self.mask.shape[1:], name="bias")

    def call(self, x):
        return ops.matmul(x, self.kernel * self.mask) + self.bias


class IAFStep(layers.Layer):
    def __init__(self):
        super().__init__()
        first, last = made_masks(LATENT, HIDDEN)
        self.inner = MaskedDense(first)
        self.context = layers.Dense(HIDDEN, use_bias=False)
        self.to_m = MaskedDense(last)
        self.to_s = MaskedDense(last)

    def call(self, z, h):
        hidden = ops.elu(self.inner(z) + self.context(h))
        m, s = self.to_m(hidden), self.to_s(hidden)
        gate = ops.sigmoid(s + 1.5)
        z = gate * z + (1.0 - gate) * m
        return z, ops.sum(ops.log(gate), axis=-1, keepdims=True)


class Encoder(layers.Layer):
    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv2D(6, 3, strides=2, padding="same", activation="elu")
        self.conv2 = layers.Conv2D(8, 3, strides=2, padding="same", activation="elu")
        self.flatten = layers.Flatten()
        self.hidden = layers.Dense(16, activation="elu")
        self.mean = layers.Dense(LATENT)
        self.logvar = layers.Dense(LATENT)
        self.context = layers.Dense(CONTEXT, activation="elu")

    def call(self, x):
        x = self.hidden(self.flatten(self.conv2(self.conv1(x))))
        return self.mean(x), self.logvar(x), self.context(x)


class Decoder(layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(3 * 4 * 8, activation="elu")
        self.up1 = layers.Conv2DTranspose(6, 4, strides=2, padding="same", activation="elu")
        self.up2 = layers.Conv2DTranspose(1, 4, strides=2, padding="same")

    def call(self, z):
        x = ops.reshape(self.dense(z), (-1, 3, 4, 8))
        return self.up2(self.up1(x))


def log_normal(x, mean, logvar):
    return -0.5 * (math.log(2 * math.pi) + logvar + ops.square(x - mean) / ops.exp(logvar))


class VAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.flows = [IAFStep() for _ in range(FLOWS)]
        self.decoder = Decoder()

    def call(self, image, noise):
        mean, logvar, h = self.encoder(image)
        z = mean + ops.exp(0.5 * logvar) * noise
        log_q = ops.sum(log_normal(z, mean, logvar), axis=-1, keepdims=True)
        for i, flow in enumerate(self.flows):
            if i > 0:
                z = ops.flip(z, axis=-1)
            z, logdet = flow(z, h)
            log_q = log_q - logdet
        log_p = ops.sum(log_normal(z, 0.0, ops.zeros_like(z)), axis=-1, keepdims=True)
        kl = ops.maximum(log_q - log_p, FREE_BITS)
        logits = self.decoder(z)
        bce = ops.maximum(logits, 0.0) - logits * image + ops.log1p(ops.exp(-ops.abs(logits)))
        reconstruction = ops.sum(bce, axis=(1, 2))
        return ops.sigmoid(logits), z, reconstruction + kl


def make():
    keras.utils.set_random_seed(61)
    model = VAE()
    model(*inputs(0))
    rng = np.random.default_rng(62)
    for v in model.trainable_variables:
        if "bias" in v.path:
            v.assign(rng.normal(0, 0.3, v.shape))
        elif "masked" in v.path:
            v.assign(rng.normal(0, 0.7, v.shape))
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    image = rng.uniform(0, 1, (5, 12, 16, 1)).astype("float32")
    return image, rng.normal(size=(5, LATENT)).astype("float32")
