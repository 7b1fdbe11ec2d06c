"""The noise predictor in Keras, NHWC, from ready-made layers."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
CH, GROUPS, TEMB, SIDE = 16, 4, 32, 12


def group_norm():
    return layers.GroupNormalization(GROUPS, axis=-1, epsilon=1e-5)


def conv(c, k=3):
    return layers.Conv2D(c, k, padding="same")


def timestep_embedding(t):
    half = TEMB // 2
    freqs = np.exp(-np.log(10000) * np.arange(half) / (half - 1)).astype("float32")
    args = ops.cast(t, "float32")[:, None] * freqs[None]
    return ops.concatenate([ops.sin(args), ops.cos(args)], axis=-1)


class ResBlock(layers.Layer):
    def __init__(self, c, project):
        super().__init__()
        self.n1, self.c1, self.n2, self.c2 = group_norm(), conv(c), group_norm(), conv(c)
        self.film = layers.Dense(2 * c)
        self.short = conv(c, 1) if project else layers.Identity()

    def call(self, x, emb):
        h = self.c1(ops.silu(self.n1(x)))
        scale, shift = ops.split(self.film(ops.silu(emb))[:, None, None, :], 2, axis=-1)
        h = self.n2(h) * (1.0 + scale) + shift
        return self.short(x) + self.c2(ops.silu(h))


class SpatialAttention(layers.Layer):
    def __init__(self, c):
        super().__init__()
        self.norm = group_norm()
        self.mha = layers.MultiHeadAttention(1, c)

    def call(self, x):
        b, h, w, c = ops.shape(x)
        tokens = ops.reshape(self.norm(x), (b, h * w, c))
        return x + ops.reshape(self.mha(tokens, tokens), (b, h, w, c))


class Denoiser(keras.Model):
    def __init__(self):
        super().__init__()
        self.time1, self.time2 = layers.Dense(TEMB, activation="silu"), layers.Dense(TEMB)
        self.stem, self.enc1 = conv(CH), ResBlock(CH, False)
        self.pad = layers.ZeroPadding2D(1)
        self.down = layers.Conv2D(CH, 3, strides=2)
        self.enc2, self.attention = ResBlock(2 * CH, True), SpatialAttention(2 * CH)
        self.upsample, self.up = layers.UpSampling2D(2), conv(CH)
        self.dec, self.norm, self.head = ResBlock(CH, True), group_norm(), conv(3)

    def call(self, x, t):
        emb = self.time2(self.time1(timestep_embedding(t)))
        skip = self.enc1(self.stem(x), emb)
        low = self.enc2(self.down(self.pad(skip)), emb)
        high = self.up(self.upsample(self.attention(low)))
        out = self.dec(ops.concatenate([high, skip], axis=-1), emb)
        return self.head(ops.silu(self.norm(out)))


def make(seed=0):
    net, rng = Denoiser(), np.random.default_rng(seed)
    net(ops.zeros((1, SIDE, SIDE, 3)), ops.zeros((1,), "int64"))
    for w in net.weights:
        scale = np.prod(w.shape[:-1]) ** -0.5 if len(w.shape) > 2 else 0.2
        w.assign(float(w.name == "gamma") + scale * rng.normal(size=w.shape))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    x, t = rng.normal(size=(4, 3, 12, 12)).astype("float32"), rng.integers(0, 1000, 4)
    return x.transpose(0, 2, 3, 1), t


def load(ported, original):
    def array(p):
        return p.detach().numpy()

    def put(layer, module):
        if hasattr(module, "gamma"):
            return layer.set_weights([array(module.gamma), array(module.beta)])
        w = array(module.weight)
        layer.set_weights([w.transpose(2, 3, 1, 0) if w.ndim == 4 else w.T, array(module.bias)])

    def put_block(mine, theirs):
        pairs = (mine.n1, theirs.norm1), (mine.c1, theirs.conv1), (mine.n2, theirs.norm2), (mine.c2, theirs.conv2)
        for a, b in pairs + ((mine.film, theirs.film),):
            put(a, b)
        if mine.short.weights:
            put(mine.short, theirs.short)

    put(ported.time1, original.time[0]), put(ported.time2, original.time[2])
    for name in ("stem", "down", "up", "norm", "head"):
        put(getattr(ported, name), getattr(original, name))
    for name in ("enc1", "enc2", "dec"):
        put_block(getattr(ported, name), getattr(original, name))
    put(ported.attention.norm, original.attention.norm)
    c = 2 * CH
    w, b = array(original.attention.qkv.weight)[..., 0, 0], array(original.attention.qkv.bias)
    wo, bo = array(original.attention.out.weight)[..., 0, 0], array(original.attention.out.bias)
    kernels = [x for i in range(3) for x in (w[i * c : i * c + c].T[:, None], b[i * c : i * c + c][None])]
    ported.attention.mha.set_weights([*kernels, wo.T[None], bo])
