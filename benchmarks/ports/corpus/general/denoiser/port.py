"""Keras denoiser with its DDIM update; channels last inside, channels first at the interface."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"

WIDTH, EMBED, GROUPS, DEPTH, STEPS = 24, 16, 6, 3, 50


def schedule(start=1e-3, end=0.05, steps=STEPS):
    """Products of (1 - beta), with a leading one for the step before the first."""
    alphas = 1.0 - np.linspace(start, end, steps)
    return np.concatenate([[1.0], np.cumprod(alphas)]).astype("float32")


class SinusoidalTime(layers.Layer):
    def __init__(self, size, **kwargs):
        super().__init__(**kwargs)
        half = size // 2
        self.freqs = np.exp(-np.log(10000.0) * np.arange(half) / half).astype("float32")

    def call(self, t):
        angles = ops.cast(t, "float32")[:, None] * self.freqs
        return ops.concatenate([ops.cos(angles), ops.sin(angles)], axis=-1)


def group_norm():
    return layers.GroupNormalization(groups=GROUPS, epsilon=1e-5)


def conv(filters):
    return layers.Conv1D(filters, 3, padding="same")


class FilmBlock(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.norm_1, self.conv_1 = group_norm(), conv(WIDTH)
        self.norm_2, self.conv_2 = group_norm(), conv(WIDTH)
        self.film = layers.Dense(2 * WIDTH)

    def call(self, x, emb):
        h = self.conv_1(keras.activations.silu(self.norm_1(x)))
        scale, shift = ops.split(self.film(emb)[:, None, :], 2, axis=-1)
        h = self.norm_2(h) * (1.0 + scale) + shift
        return x + self.conv_2(keras.activations.silu(h))


class DiffusionStep(keras.Model):
    def __init__(self, channels=3, **kwargs):
        super().__init__(**kwargs)
        self.alphas = schedule()
        self.time = SinusoidalTime(EMBED)
        self.dense_1 = layers.Dense(4 * EMBED, activation="silu")
        self.dense_2 = layers.Dense(4 * EMBED, activation="silu")
        self.stem = conv(WIDTH)
        self.blocks = [FilmBlock() for _ in range(DEPTH)]
        self.norm = group_norm()
        self.final = conv(channels)

    def noise(self, x, t):
        emb = self.dense_2(self.dense_1(self.time(t)))
        h = self.stem(x)
        for block in self.blocks:
            h = block(h, emb)
        return self.final(keras.activations.silu(self.norm(h)))

    def call(self, x, t):
        x = ops.transpose(x, (0, 2, 1))
        eps = self.noise(x, t)
        now = ops.take(self.alphas, t + 1)[:, None, None]
        before = ops.take(self.alphas, t)[:, None, None]
        start = (x - ops.sqrt(1.0 - now) * eps) / ops.sqrt(now)
        previous = ops.sqrt(before) * start + ops.sqrt(1.0 - before) * eps
        return ops.transpose(eps, (0, 2, 1)), ops.transpose(previous, (0, 2, 1))


def make(seed=50):
    keras.utils.set_random_seed(seed)
    model = DiffusionStep()
    model(np.zeros((1, 3, 16), np.float32), np.zeros((1,), np.int64))
    return model


def load(model, reference):
    def array(parameter):
        return parameter.detach().numpy()

    def linear(layer, module):
        layer.set_weights([array(module.weight).T, array(module.bias)])

    def convolution(layer, module):
        layer.set_weights([array(module.weight).transpose(2, 1, 0), array(module.bias)])

    def norm(layer, module):
        layer.set_weights([array(module.weight), array(module.bias)])

    linear(model.dense_1, reference.time_mlp[0])
    linear(model.dense_2, reference.time_mlp[2])
    convolution(model.stem, reference.inp)
    for mine, theirs in zip(model.blocks, reference.blocks):
        norm(mine.norm_1, theirs.in_norm)
        convolution(mine.conv_1, theirs.in_conv)
        linear(mine.film, theirs.emb)
        norm(mine.norm_2, theirs.out_norm)
        convolution(mine.conv_2, theirs.out_conv)
    norm(model.norm, reference.norm)
    convolution(model.final, reference.out)
