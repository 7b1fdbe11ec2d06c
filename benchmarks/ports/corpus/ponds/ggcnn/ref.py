"""GG-CNN: pixelwise grasp quality, angle and width from a depth image (Keras functional API)."""
import os
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
N = 24
FILTERS = (8, 6, 4)


def make():
    inp = keras.Input((N, N, 1), name="depth")
    x = layers.Conv2D(FILTERS[0], 9, strides=3, padding="same", name="enc1")(inp)
    x = layers.BatchNormalization(name="bn1")(x)
    x = layers.Activation("relu")(x)
    x = layers.Conv2D(FILTERS[1], 5, strides=2, padding="same", name="enc2")(x)
    x = layers.BatchNormalization(name="bn2")(x)
    x = layers.Activation("relu")(x)
    x = layers.Conv2D(FILTERS[2], 3, strides=2, padding="same", activation="relu", name="enc3")(x)
    x = layers.Conv2DTranspose(FILTERS[2], 3, strides=2, padding="same", activation="relu", name="dec1")(x)
    x = layers.Conv2DTranspose(FILTERS[1], 5, strides=2, padding="same", activation="relu", name="dec2")(x)
    x = layers.Conv2DTranspose(FILTERS[0], 9, strides=3, padding="same", activation="relu", name="dec3")(x)
    pos = layers.Conv2D(1, 2, padding="same", activation="sigmoid", name="pos")(x)
    cos = layers.Conv2D(1, 2, padding="same", name="cos")(x)
    sin = layers.Conv2D(1, 2, padding="same", name="sin")(x)
    width = layers.Conv2D(1, 2, padding="same", name="width")(x)
    norm = ops.sqrt(ops.square(cos) + ops.square(sin) + 1e-6)
    angle = 0.5 * ops.arctan2(sin / norm, cos / norm)
    width = ops.clip(width, -1.0, 1.0) * 150.0
    m = keras.Model(inp, [pos, angle, width])
    r = np.random.RandomState(2)
    for w in m.weights:
        s = tuple(w.shape)
        if len(s) == 4:
            v = r.randn(*s) * (1.6 / np.sqrt(s[0] * s[1] * min(s[2], s[3])))
        elif "variance" in w.path:
            v = r.uniform(0.01, 0.06, s)
        elif "gamma" in w.path:
            v = r.uniform(0.2, 0.4, s)
        else:
            v = r.randn(*s) * 0.15
        w.assign(v.astype("f"))
    return m


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, N, N, 1).astype("f") * 0.5,)
