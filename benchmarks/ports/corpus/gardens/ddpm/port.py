"""DDPM U-Net, Keras functional model (channels last)."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
CH, EMB = 8, 24


@keras.saving.register_keras_serializable()
class TimeEmbedding(keras.layers.Layer):
    def __init__(self, dim, **kw):
        super().__init__(**kw)
        self.dim = dim

    def call(self, t):
        half = self.dim // 2
        freq = 10000.0 ** (-np.arange(half, dtype="float32") / half)
        ang = ops.cast(t, "float32")[:, None] * freq
        return ops.concatenate([ops.sin(ang), ops.cos(ang)], axis=-1)


def gn(x, name):
    return layers.GroupNormalization(4, epsilon=1e-5, name=name)(x)


def conv(x, filters, name, size=3):
    return layers.Conv2D(filters, size, padding="same", name=name)(x)


def res_block(x, emb, filters, name):
    h = conv(ops.silu(gn(x, name + ".norm1")), filters, name + ".conv1")
    t = layers.Dense(filters, name=name + ".temb")(ops.silu(emb))
    h = h + t[:, None, None, :]
    h = conv(ops.silu(gn(h, name + ".norm2")), filters, name + ".conv2")
    if x.shape[-1] != filters:
        x = conv(x, filters, name + ".skip", 1)
    return h + x


def attention(x, name):
    _, hh, ww, c = x.shape
    y = gn(x, name + ".norm")
    q, k, v = (layers.Reshape((hh * ww, c))(conv(y, c, f"{name}.{n}", 1)) for n in "qkv")
    w = ops.softmax(ops.einsum("bic,bjc->bij", q, k) / c ** 0.5, axis=-1)
    y = layers.Reshape((hh, ww, c))(ops.einsum("bij,bjc->bic", w, v))
    return x + conv(y, c, name + ".out", 1)


def make(seed=60):
    keras.utils.set_random_seed(seed)
    x = keras.Input((16, 16, 3), name="x")
    t = keras.Input((), dtype="int64", name="t")
    e = TimeEmbedding(2 * CH)(t)
    e = layers.Dense(EMB, activation="silu", name="time.0")(e)
    e = layers.Dense(EMB, name="time.2")(e)

    h0 = conv(x, CH, "stem")
    h1 = res_block(h0, e, CH, "down1")
    p = layers.ZeroPadding2D(1)(h1)
    p = layers.Conv2D(CH, 3, strides=2, padding="valid", name="pool")(p)
    h2 = res_block(p, e, 2 * CH, "down2")

    m = res_block(h2, e, 2 * CH, "mid")
    m = attention(m, "attn")

    u = res_block(layers.Concatenate()([m, h2]), e, 2 * CH, "up2")
    u = conv(layers.UpSampling2D(2)(u), CH, "upconv")
    u = res_block(layers.Concatenate()([u, h1]), e, CH, "up1")
    u = res_block(layers.Concatenate()([u, h0]), e, CH, "up0")
    y = conv(ops.silu(gn(u, "norm")), 3, "head")
    return keras.Model([x, t], y)


def inputs(seed=0):
    r = np.random.default_rng(seed)
    x = r.normal(size=(4, 3, 16, 16)).astype("float32")
    t = r.integers(1, 1000, 4)
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)), t


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}
    for layer in ported.layers:
        if not layer.weights:
            continue
        w, b = sd[layer.name + ".weight"], sd[layer.name + ".bias"]
        if w.ndim == 4:
            w = w.transpose(2, 3, 1, 0)
        elif w.ndim == 2:
            w = w.T
        layer.set_weights([w, b])
