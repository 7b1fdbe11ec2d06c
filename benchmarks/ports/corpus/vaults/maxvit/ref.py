"""MaxViT (Tu et al. 2022): stem, one block of MBConv, window and grid attention, head; Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"


class SqueezeExcite(layers.Layer):
    def __init__(self, dim, reduced):
        super().__init__()
        self.reduce = layers.Dense(reduced, activation="silu")
        self.expand = layers.Dense(dim, activation="sigmoid")

    def call(self, x):
        s = ops.mean(x, axis=(1, 2), keepdims=True)
        return x * self.expand(self.reduce(s))


class MBConv(layers.Layer):
    def __init__(self, dim, expansion=3):
        super().__init__()
        hidden = dim * expansion
        self.pre_norm = layers.BatchNormalization(epsilon=1e-3)
        self.conv1 = layers.Conv2D(hidden, 1, use_bias=False)
        self.norm1 = layers.BatchNormalization(epsilon=1e-3)
        self.depthwise = layers.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)
        self.norm2 = layers.BatchNormalization(epsilon=1e-3)
        self.se = SqueezeExcite(hidden, dim // 2)
        self.conv3 = layers.Conv2D(dim * 2, 1)
        self.pool = layers.AveragePooling2D(2)
        self.shortcut = layers.Conv2D(dim * 2, 1)

    def call(self, x):
        short = self.shortcut(self.pool(x))
        y = self.pre_norm(x)
        y = ops.gelu(self.norm1(self.conv1(y)), approximate=True)
        y = ops.gelu(self.norm2(self.depthwise(y)), approximate=True)
        return short + self.conv3(self.se(y))


def relative_index(size):
    at = np.stack(np.meshgrid(np.arange(size), np.arange(size), indexing="ij"), -1).reshape(-1, 2)
    delta = at[:, None] - at[None] + size - 1
    return (delta[..., 0] * (2 * size - 1) + delta[..., 1]).astype("int32")


class RelativeAttention(layers.Layer):
    def __init__(self, dim, head_dim, size):
        super().__init__()
        self.heads, self.head_dim, self.size = dim // head_dim, head_dim, size
        self.index = relative_index(size)
        self.qkv = layers.Dense(3 * dim)
        self.out = layers.Dense(dim)

    def build(self, shape):
        self.table = self.add_weight(
            shape=((2 * self.size - 1) ** 2, self.heads), initializer="zeros", name="table"
        )
        super().build(shape)

    def call(self, x):  # (batch, windows, tokens, dim)
        b, g, n, _ = x.shape
        qkv = ops.reshape(self.qkv(x), (-1, g, n, 3, self.heads, self.head_dim))
        q, k, v = qkv[..., 0, :, :], qkv[..., 1, :, :], qkv[..., 2, :, :]
        q = q * self.head_dim**-0.5
        attention = ops.einsum("bgihd,bgjhd->bghij", q, k)
        bias = ops.take(self.table, self.index, axis=0)
        attention = attention + ops.transpose(bias, (2, 0, 1))
        attention = ops.softmax(attention, axis=-1)
        mixed = ops.einsum("bghij,bgjhd->bgihd", attention, v)
        return self.out(ops.reshape(mixed, (-1, g, n, self.heads * self.head_dim)))


class TransformerPart(layers.Layer):
    def __init__(self, dim, head_dim, size, grid):
        super().__init__()
        self.size, self.grid = size, grid
        self.norm1 = layers.LayerNormalization(epsilon=1e-5)
        self.attention = RelativeAttention(dim, head_dim, size)
        self.norm2 = layers.LayerNormalization(epsilon=1e-5)
        self.mlp1 = layers.Dense(2 * dim)
        self.mlp2 = layers.Dense(dim)

    def partition(self, x):
        _, h, w, c = x.shape
        s = self.size
        if self.grid:
            x = ops.reshape(x, (-1, s, h // s, s, w // s, c))
            x = ops.transpose(x, (0, 2, 4, 1, 3, 5))
        else:
            x = ops.reshape(x, (-1, h // s, s, w // s, s, c))
            x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
        return ops.reshape(x, (-1, (h // s) * (w // s), s * s, c))

    def reverse(self, x, h, w):
        s, c = self.size, x.shape[-1]
        x = ops.reshape(x, (-1, h // s, w // s, s, s, c))
        if self.grid:
            x = ops.transpose(x, (0, 3, 1, 4, 2, 5))
        else:
            x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
        return ops.reshape(x, (-1, h, w, c))

    def call(self, x):
        _, h, w, _ = x.shape
        y = self.attention(self.partition(self.norm1(x)))
        x = x + self.reverse(y, h, w)
        return x + self.mlp2(ops.gelu(self.mlp1(self.norm2(x)), approximate=True))


class MaxViT(keras.Model):
    def __init__(self, dim=8, classes=5):
        super().__init__()
        self.stem = layers.Conv2D(dim, 3, strides=2, padding="same")
        self.mbconv = MBConv(dim)
        self.block_attention = TransformerPart(2 * dim, 8, 2, grid=False)
        self.grid_attention = TransformerPart(2 * dim, 8, 2, grid=True)
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.pre_logits = layers.Dense(2 * dim, activation="tanh")
        self.head = layers.Dense(classes)

    def call(self, x):
        x = self.mbconv(self.stem(x))
        x = self.grid_attention(self.block_attention(x))
        x = self.norm(ops.mean(x, axis=(1, 2)))
        return self.head(self.pre_logits(x))


def make():
    net = MaxViT()
    net(np.zeros((1, 32, 32, 3), "float32"))
    rng = np.random.default_rng(41)
    for v in net.variables:
        last = v.path.split("/")[-1]
        if last in ("gamma", "moving_variance"):
            value = rng.uniform(0.6, 1.5, v.shape)
        elif last == "table":
            value = rng.normal(0, 1.0, v.shape)
        elif last == "kernel":
            fan = np.prod(v.shape[:2]) if v.shape[-1] == 1 else np.prod(v.shape[:-1])
            value = rng.normal(0, 1.3 / np.sqrt(fan), v.shape)
        else:
            value = rng.normal(0, 0.3, v.shape)
        v.assign(value.astype("float32"))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(4, 32, 32, 3)).astype("float32"),)
