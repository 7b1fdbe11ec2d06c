"""Residual dense network in Keras (functional API)."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
RGB_MEAN = np.array([0.4488, 0.4371, 0.4040], "float32")


class Shift(layers.Layer):
    def __init__(self, sign, **kw):
        super().__init__(**kw)
        self.sign = sign

    def call(self, x):
        return x + self.sign * RGB_MEAN


class DepthToSpace(layers.Layer):
    def __init__(self, r, **kw):
        super().__init__(**kw)
        self.r = r

    def call(self, x):
        _, h, w, c = x.shape
        r = self.r
        x = ops.reshape(x, (-1, h, w, r, r, c // r ** 2))
        x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
        return ops.reshape(x, (-1, h * r, w * r, c // r ** 2))


def conv(x, filters, k, name, act=None):
    return layers.Conv2D(filters, k, padding="same", activation=act, name=name)(x)


def rdb(x, g0, g, c, name):
    feats = [x]
    for i in range(c):
        inp = layers.Concatenate(name="%s_cat%d" % (name, i))(feats) if i else x
        feats.append(conv(inp, g, 3, "%s_conv%d" % (name, i), "relu"))
    h = layers.Concatenate(name=name + "_cat")(feats)
    h = conv(h, g0, 1, name + "_lff")
    return layers.Add()([h, x])


def build(d=3, g0=8, g=4, c=3, scale=2):
    inp = keras.Input((8, 10, 3))
    x = Shift(-1.0)(inp)
    shallow = conv(x, g0, 3, "sfe1")
    x = conv(shallow, g0, 3, "sfe2")
    outs = []
    for i in range(d):
        x = rdb(x, g0, g, c, "rdb%d" % i)
        outs.append(x)
    x = layers.Concatenate(name="gff_cat")(outs)
    x = conv(x, g0, 1, "gff1")
    x = conv(x, g0, 3, "gff2")
    x = layers.Add(name="global_residual")([x, shallow])
    x = conv(x, g0 * scale ** 2, 3, "up1")
    x = DepthToSpace(scale)(x)
    x = conv(x, 3, 3, "up2")
    return keras.Model(inp, Shift(1.0)(x))


def make():
    m = build()
    r = np.random.RandomState(2)
    for v in m.weights:
        s = tuple(v.shape)
        v.assign(r.normal(0, 1.2 / np.sqrt(np.prod(s[:-1])) if len(s) > 1 else 0.2, s))
    return m


def inputs(seed):
    x = np.random.RandomState(seed).rand(4, 3, 8, 10).astype("f")
    return (np.ascontiguousarray(x.transpose(0, 2, 3, 1)),)


def load(ported, original):
    for name, link in original.namedlinks(skipself=True):
        if hasattr(link, "W"):
            l = ported.get_layer(name[1:].replace("/", "_"))
            l.set_weights([link.W.array.transpose(2, 3, 1, 0), link.b.array])
