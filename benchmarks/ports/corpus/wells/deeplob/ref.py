"""DeepLOB: limit order book trader, Keras functional API."""
import numpy as np
import keras
from keras import layers

FRAMEWORK = "keras"
LAYOUT = "NHWC"
T = 16


def leaky(x):
    return layers.LeakyReLU(negative_slope=0.01)(x)


def lob_block(x, c, width):
    stride = width if width < 10 else 1
    x = leaky(layers.Conv2D(c, (1, width), strides=(1, stride))(x))
    x = leaky(layers.Conv2D(c, (4, 1), padding="same")(x))
    return leaky(layers.Conv2D(c, (4, 1), padding="same")(x))


def inception(x, c):
    a = leaky(layers.Conv2D(c, (1, 1), padding="same")(x))
    a = leaky(layers.Conv2D(c, (3, 1), padding="same")(a))
    b = leaky(layers.Conv2D(c, (1, 1), padding="same")(x))
    b = leaky(layers.Conv2D(c, (5, 1), padding="same")(b))
    p = layers.MaxPooling2D((3, 1), strides=(1, 1), padding="same")(x)
    p = leaky(layers.Conv2D(c, (1, 1), padding="same")(p))
    return layers.Concatenate(axis=-1)([a, b, p])


def build():
    inp = keras.Input((T, 40, 1))
    x = lob_block(inp, 6, 2)
    x = lob_block(x, 6, 2)
    x = lob_block(x, 6, 10)
    x = inception(x, 8)
    x = layers.Reshape((T, 24))(x)
    seq = layers.LSTM(12, return_sequences=True)(x)
    last = layers.Lambda(lambda s: s[:, -1, :])(seq)
    probs = layers.Dense(3, activation="softmax")(last)
    size = layers.Dense(1, activation="tanh")(seq)
    return keras.Model(inp, [probs, size])


def make():
    m = build()
    r = np.random.default_rng(21)
    for w in m.weights:
        s = w.shape
        v = 0.2 * r.normal(size=s) if len(s) == 1 else 1.3 * r.normal(size=s) / np.sqrt(np.prod(s[:-1]))
        w.assign(v.astype("float32"))
    return m


def inputs(seed):
    return (np.random.default_rng(seed).normal(size=(4, T, 40, 1)).astype("float32"),)
