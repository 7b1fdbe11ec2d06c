"""The Swin block in Keras."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
DIM, HEADS, WS, SHIFT, RES = 24, 3, 4, 2, 8


def relative_index():
    r = np.arange(WS)
    coords = np.stack(np.meshgrid(r, r, indexing="ij"), -1).reshape(-1, 2)
    rel = coords[:, None, :] - coords[None, :, :] + WS - 1
    return rel[..., 0] * (2 * WS - 1) + rel[..., 1]


def to_windows(x):
    n = RES // WS
    x = tf.reshape(x, (-1, n, WS, n, WS, x.shape[-1]))
    return tf.reshape(tf.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, WS * WS, x.shape[-1]))


def from_windows(x):
    n = RES // WS
    x = tf.reshape(x, (-1, n, n, WS, WS, DIM))
    return tf.reshape(tf.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, RES, RES, DIM))


def attention_mask():
    region = np.zeros(RES, int)
    region[-WS:-SHIFT] = 1
    region[-SHIFT:] = 2
    grid = (3 * region[:, None] + region[None, :]).astype("float32")
    win = to_windows(tf.constant(grid[None, :, :, None])).numpy()[..., 0]
    return np.where(win[:, None, :] != win[:, :, None], -100.0, 0.0).astype("float32")


class WindowAttention(layers.Layer):
    def __init__(self):
        super().__init__()
        self.qkv = layers.Dense(3 * DIM)
        self.proj = layers.Dense(DIM)
        self.index = relative_index()
        self.scale = (DIM // HEADS) ** -0.5

    def build(self, shape):
        self.table = self.add_weight(shape=((2 * WS - 1) ** 2, HEADS), name="table")

    def call(self, x, mask):
        n = WS * WS
        qkv = tf.reshape(self.qkv(x), (-1, n, 3, HEADS, DIM // HEADS))
        q, k, v = [tf.transpose(t, (0, 2, 1, 3)) for t in tf.unstack(qkv, axis=2)]
        attn = tf.matmul(q * self.scale, k, transpose_b=True)
        bias = tf.gather(self.table, self.index)
        attn = attn + tf.transpose(bias, (2, 0, 1))[None]
        attn = tf.reshape(attn, (-1, mask.shape[0], HEADS, n, n)) + mask[None, :, None]
        attn = tf.nn.softmax(tf.reshape(attn, (-1, HEADS, n, n)))
        out = tf.transpose(tf.matmul(attn, v), (0, 2, 1, 3))
        return self.proj(tf.reshape(out, (-1, n, DIM)))


class SwinBlock(keras.Model):
    def __init__(self):
        super().__init__()
        self.norm1 = layers.LayerNormalization(epsilon=1e-5)
        self.norm2 = layers.LayerNormalization(epsilon=1e-5)
        self.attn = WindowAttention()
        self.fc1 = layers.Dense(4 * DIM)
        self.fc2 = layers.Dense(DIM)
        self.mask = attention_mask()

    def call(self, x):
        y = tf.roll(self.norm1(x), shift=[-SHIFT, -SHIFT], axis=[1, 2])
        y = from_windows(self.attn(to_windows(y), self.mask))
        y = tf.roll(y, shift=[SHIFT, SHIFT], axis=[1, 2])
        x = x + y
        return x + self.fc2(tf.nn.gelu(self.fc1(self.norm2(x))))


def npy(t):
    return t.detach().cpu().numpy()


def dense(layer, linear):
    w = [npy(linear.weight).T]
    if linear.bias is not None:
        w.append(npy(linear.bias))
    layer.set_weights(w)


def norm(layer, ln):
    layer.set_weights([npy(ln.weight), npy(ln.bias)])


def make():
    net = SwinBlock()
    net(tf.zeros((1, RES, RES, DIM)))
    return net


def load(net, ref):
    norm(net.norm1, ref.norm1)
    norm(net.norm2, ref.norm2)
    dense(net.fc1, ref.fc1)
    dense(net.fc2, ref.fc2)
    dense(net.attn.qkv, ref.attn.qkv)
    dense(net.attn.proj, ref.attn.proj)
    net.attn.table.assign(npy(ref.attn.table))
