"""Swin in Keras, channels last."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
C, H, W, R = 24, 3, 4, 8


def to_windows(x, side):
    n, c = side // W, x.shape[-1]
    x = ops.transpose(ops.reshape(x, (-1, n, W, n, W, c)), (0, 1, 3, 2, 4, 5))
    return ops.reshape(x, (-1, n * n, W * W, c))  # batch, window, token, channel


def from_windows(x, side):
    n, c = side // W, x.shape[-1]
    x = ops.transpose(ops.reshape(x, (-1, n, n, W, W, c)), (0, 1, 3, 2, 4, 5))
    return ops.reshape(x, (-1, side, side, c))


def bias_index():
    y, x = np.divmod(np.arange(W * W), W)
    return (y[:, None] - y + W - 1) * (2 * W - 1) + x[:, None] - x + W - 1


def zones(side, s):
    band = np.searchsorted([side - W, side - s], np.arange(side), side="right")
    zone = band[:, None] * 3 + band
    n = side // W
    zone = zone.reshape(n, W, n, W).transpose(0, 2, 1, 3).reshape(n * n, W * W)
    return np.where(zone[:, :, None] == zone[:, None, :], 0, -100).astype("float32")


class WindowAttention(layers.Layer):
    def __init__(self, dim, heads, side, shift):
        super().__init__()
        self.heads, self.depth = heads, dim // heads
        self.qkv, self.proj = layers.Dense(3 * dim), layers.Dense(dim)
        self.index = bias_index()
        self.mask = zones(side, shift)[:, None] if shift else None
        self.table = self.add_weight(shape=((2 * W - 1) ** 2, heads), name="table")

    def call(self, x):
        n, c = x.shape[1], x.shape[-1]
        qkv = ops.reshape(self.qkv(x), (-1, n, W * W, 3, self.heads, self.depth))
        q, k, v = (qkv[:, :, :, i] for i in range(3))
        scores = ops.einsum("bnqhd,bnkhd->bnhqk", q, k) / self.depth**0.5
        scores = scores + ops.transpose(ops.take(self.table, self.index, axis=0), (2, 0, 1))
        if self.mask is not None:
            scores = scores + self.mask
        out = ops.einsum("bnhqk,bnkhd->bnqhd", ops.softmax(scores, axis=-1), v)
        return self.proj(ops.reshape(out, (-1, n, W * W, c)))


class SwinBlock(layers.Layer):
    def __init__(self, dim, heads, side, shift=0):
        super().__init__()
        self.side, self.shift = side, shift
        self.ln1 = layers.LayerNormalization(epsilon=1e-5)
        self.ln2 = layers.LayerNormalization(epsilon=1e-5)
        self.attention = WindowAttention(dim, heads, side, shift)
        self.up, self.down = layers.Dense(4 * dim), layers.Dense(dim)

    def call(self, x):
        h = ops.roll(self.ln1(x), (-self.shift, -self.shift), axis=(1, 2))
        h = from_windows(self.attention(to_windows(h, self.side)), self.side)
        x = x + ops.roll(h, (self.shift, self.shift), axis=(1, 2))
        return x + self.down(ops.gelu(self.up(self.ln2(x)), approximate=False))


class Swin(keras.Model):
    def __init__(self):
        super().__init__()
        self.patch = layers.Conv2D(C, 4, strides=4)
        self.patch_norm = layers.LayerNormalization(epsilon=1e-5)
        self.block0 = SwinBlock(C, H, R)
        self.block1 = SwinBlock(C, H, R, shift=W // 2)
        self.merge_norm = layers.LayerNormalization(epsilon=1e-5)
        self.merge = layers.Dense(2 * C, use_bias=False)
        self.block2 = SwinBlock(2 * C, 2 * H, R // 2)
        self.norm, self.head = layers.LayerNormalization(epsilon=1e-5), layers.Dense(10)

    def call(self, images):
        x = self.block1(self.block0(self.patch_norm(self.patch(images))))
        corners = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
        x = self.merge(self.merge_norm(ops.concatenate(corners, axis=-1)))
        return self.head(ops.mean(self.norm(self.block2(x)), axis=(1, 2)))


def make(seed=0):
    net, rng = Swin(), np.random.default_rng(seed)
    net(ops.zeros((1, 4 * R, 4 * R, 3)))
    for w in net.weights:
        scale = np.prod(w.shape[:-1]) ** -0.5 if len(w.shape) > 1 else 0.2
        w.assign(float(w.name == "gamma") + scale * rng.normal(size=w.shape))
    return net


def inputs(seed=0):
    return np.random.default_rng(seed).normal(0, 1, (4, 3, 32, 32)).astype("float32").transpose(0, 2, 3, 1)


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}

    def put(layer, name):
        w = sd[name + ".weight"]
        w = w.transpose(2, 3, 1, 0) if w.ndim == 4 else w.T
        layer.set_weights([w] + ([sd[name + ".bias"]] if name + ".bias" in sd else []))

    for name in ("patch", "patch_norm", "merge_norm", "merge", "norm", "head"):
        put(getattr(ported, name), name)
    for block, name in ((ported.block0, "blocks.0"), (ported.block1, "blocks.1"), (ported.block2, "last")):
        put(block.ln1, name + ".norm1"), put(block.ln2, name + ".norm2")
        put(block.attention.qkv, name + ".qkv"), put(block.attention.proj, name + ".proj")
        put(block.up, name + ".mlp.0"), put(block.down, name + ".mlp.2")
        block.attention.table.assign(sd[name + ".table"])
