"""Tiny ViT with a class token, in Keras."""
import keras
import tensorflow as tf
from keras import ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"


class KAttention(keras.layers.Layer):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dim = heads, dim
        self.qkv, self.proj = keras.layers.Dense(3 * dim), keras.layers.Dense(dim)

    def call(self, x):
        hd = self.dim // self.heads
        n = x.shape[1]
        qkv = ops.transpose(ops.reshape(self.qkv(x), (-1, n, 3, self.heads, hd)), (2, 0, 3, 1, 4))
        q, k, v = qkv[0], qkv[1], qkv[2]
        logits = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2)))
        logits = logits * hd**-0.5
        attn = ops.softmax(logits, axis=-1)
        out = ops.transpose(ops.matmul(attn, v), (0, 2, 1, 3))
        return self.proj(ops.reshape(out, (-1, n, self.dim)))


class KBlock(keras.layers.Layer):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = keras.layers.LayerNormalization(epsilon=1e-6)
        self.norm2 = keras.layers.LayerNormalization(epsilon=1e-6)
        self.attn = KAttention(dim, heads)
        self.fc1, self.fc2 = keras.layers.Dense(4 * dim), keras.layers.Dense(dim)

    def call(self, x):
        x = x + self.attn(self.norm1(x))
        h = keras.activations.gelu(self.fc1(self.norm2(x)), approximate=False)
        return x + self.fc2(h)


class KViT(keras.Model):
    def __init__(self, dim=48, heads=4, depth=2, classes=10):
        super().__init__()
        self.patch = keras.layers.Conv2D(dim, 8, strides=8)
        self.cls = self.add_weight(shape=(1, 1, dim), name="cls")
        self.pos = self.add_weight(shape=(1, 17, dim), name="pos")
        self.blocks = [KBlock(dim, heads) for _ in range(depth)]
        self.norm = keras.layers.LayerNormalization(epsilon=1e-6)
        self.head = keras.layers.Dense(classes)

    def call(self, x):
        x = self.patch(x)
        x = ops.reshape(x, (-1, 16, x.shape[-1]))
        cls = ops.broadcast_to(self.cls, (ops.shape(x)[0], 1, x.shape[-1]))
        x = ops.concatenate([cls, x], axis=1) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def make():
    net = KViT()
    net(tf.zeros((1, 32, 32, 3)))
    return net


def load(net, ref):
    def copy(mine, theirs):
        w, b = theirs.weight.detach().numpy(), theirs.bias.detach().numpy()
        mine.set_weights([w.transpose(2, 3, 1, 0) if w.ndim == 4 else w.T, b])

    copy(net.patch, ref.patch), copy(net.norm, ref.norm), copy(net.head, ref.head)
    net.cls.assign(ref.cls.detach().numpy()), net.pos.assign(ref.pos.detach().numpy())
    for mine, theirs in zip(net.blocks, ref.blocks):
        for n in ("norm1", "norm2", "fc1", "fc2"):
            copy(getattr(mine, n), getattr(theirs, n))
        copy(mine.attn.qkv, theirs.attn.qkv), copy(mine.attn.proj, theirs.attn.proj)
