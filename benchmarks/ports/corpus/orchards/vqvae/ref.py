"""VQ-VAE (van den Oord et al. 2017) on small images, Keras, channels last."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
SIDE, WIDTH, CODE, CODES = 16, 24, 8, 32


@keras.saving.register_keras_serializable("vq")
class Quantizer(layers.Layer):
    def build(self, shape):
        self.codebook = self.add_weight(
            name="codebook", shape=(CODES, shape[-1]), initializer=keras.initializers.RandomNormal(stddev=0.5)
        )

    def call(self, z):
        flat = ops.reshape(z, (-1, CODE))
        distance = (
            ops.sum(flat**2, axis=1, keepdims=True)
            - 2 * ops.matmul(flat, ops.transpose(self.codebook))
            + ops.sum(self.codebook**2, axis=1)
        )
        nearest = ops.argmin(distance, axis=1)
        chosen = ops.reshape(ops.take(self.codebook, nearest, axis=0), ops.shape(z))
        commitment = ops.mean((chosen - z) ** 2, axis=(1, 2, 3))
        return chosen, commitment


class Residual(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.three = layers.Conv2D(16, 3, padding="same")
        self.one = layers.Conv2D(WIDTH, 1)

    def call(self, x):
        h = self.three(ops.relu(x))
        h = self.one(ops.relu(h))
        return x + h


def build():
    image = keras.Input((SIDE, SIDE, 3))
    h = layers.Conv2D(WIDTH // 2, 3, strides=2, padding="same", activation="relu", name="down1")(image)
    h = layers.Conv2D(WIDTH, 3, strides=2, padding="same", name="down2")(h)
    h = Residual(name="enc_res1")(h)
    h = Residual(name="enc_res2")(h)
    z = layers.Conv2D(CODE, 1, name="to_code")(ops.relu(h))
    quantized, commitment = Quantizer(name="vq")(z)
    h = layers.Conv2D(WIDTH, 3, padding="same", name="from_code")(quantized)
    h = Residual(name="dec_res")(h)
    h = layers.Conv2DTranspose(WIDTH // 2, 4, strides=2, padding="same", activation="relu", name="up1")(ops.relu(h))
    out = layers.Conv2DTranspose(3, 4, strides=2, padding="same", name="up2")(h)
    return keras.Model(image, [out, commitment])


def make(seed=0):
    keras.utils.set_random_seed(seed)
    net = build()
    rng = np.random.default_rng(seed)
    for v in net.variables:
        if v.name == "bias":
            v.assign(rng.normal(size=v.shape) * 0.15)
        elif v.name == "kernel":
            v.assign(ops.convert_to_numpy(v) * 1.4)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    coarse = rng.uniform(size=(5, 4, 4, 3)).repeat(4, axis=1).repeat(4, axis=2)
    return ((coarse + 0.3 * rng.normal(size=coarse.shape)).astype("float32") - 0.5,)
