"""The ViT as a functional Keras model over channels-last images."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
SIZE, PATCH, DIM, HEADS, DEPTH, CLASSES = 24, 6, 32, 4, 2, 5
GRID = SIZE // PATCH


class Tokens(layers.Layer):
    """Puts the class token in front and adds the positions."""

    def build(self, shape):
        self.cls = self.add_weight(shape=(1, 1, DIM), name="cls")
        self.positions = self.add_weight(shape=(1, GRID * GRID + 1, DIM), name="positions")

    def call(self, x):
        cls = ops.tile(self.cls, (ops.shape(x)[0], 1, 1))
        x = ops.concatenate([cls, x], axis=1)
        return x + self.positions


class LayerScale(layers.Layer):
    def build(self, shape):
        self.gamma = self.add_weight(shape=(shape[-1],), initializer="ones", name="gamma")

    def call(self, x):
        return x * self.gamma


def patches(images):
    x = ops.reshape(images, (-1, GRID, PATCH, GRID, PATCH, 3))
    x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
    return ops.reshape(x, (-1, GRID * GRID, PATCH * PATCH * 3))


def gelu(x):
    return 0.5 * x * (1.0 + ops.erf(x / np.float32(np.sqrt(2.0))))


def block(x, i):
    h = layers.LayerNormalization(epsilon=1e-6, name=f"ln1_{i}")(x)
    attention = layers.MultiHeadAttention(HEADS, DIM // HEADS, name=f"mha_{i}")
    h = attention(h, h)
    h = LayerScale(name=f"ls1_{i}")(h)
    x = x + h
    h = layers.LayerNormalization(epsilon=1e-6, name=f"ln2_{i}")(x)
    h = layers.Dense(DIM * 4, name=f"up_{i}")(h)
    h = gelu(h)
    h = layers.Dense(DIM, name=f"down_{i}")(h)
    h = LayerScale(name=f"ls2_{i}")(h)
    x = x + h
    return x


def make():
    images = keras.Input((SIZE, SIZE, 3))
    x = patches(images)
    x = layers.Dense(DIM, name="embed")(x)
    x = Tokens(name="tokens")(x)
    for i in range(DEPTH):
        x = block(x, i)
    x = layers.LayerNormalization(epsilon=1e-6, name="ln")(x)
    x = x[:, 0]
    return keras.Model(images, layers.Dense(CLASSES, name="head")(x))


def load(port, ref):
    state = {name: tensor.detach().numpy() for name, tensor in ref.named_parameters()}

    def put(layer, *arrays):
        port.get_layer(layer).set_weights(list(arrays))

    kernel = state["patch_embed.weight"]  # (out, channels, rows, columns)
    put("embed", kernel.transpose(2, 3, 1, 0).reshape(-1, DIM), state["patch_embed.bias"])
    put("tokens", state["cls_token"], state["pos_embed"])
    for i in range(DEPTH):
        p = f"blocks.{i}."
        w = state[p + "attn.qkv.weight"].T.reshape(DIM, 3, HEADS, DIM // HEADS)
        b = state[p + "attn.qkv.bias"].reshape(3, HEADS, DIM // HEADS)
        out = state[p + "attn.proj.weight"].T.reshape(HEADS, DIM // HEADS, DIM)
        put(f"mha_{i}", w[:, 0], b[0], w[:, 1], b[1], w[:, 2], b[2], out, state[p + "attn.proj.bias"])
        put(f"ln1_{i}", state[p + "norm1.weight"], state[p + "norm1.bias"])
        put(f"ln2_{i}", state[p + "norm2.weight"], state[p + "norm2.bias"])
        put(f"ls1_{i}", state[p + "gamma1"])
        put(f"ls2_{i}", state[p + "gamma2"])
        put(f"up_{i}", state[p + "mlp.fc1.weight"].T, state[p + "mlp.fc1.bias"])
        put(f"down_{i}", state[p + "mlp.fc2.weight"].T, state[p + "mlp.fc2.bias"])
    put("ln", state["norm.weight"], state["norm.bias"])
    put("head", state["head.weight"].T, state["head.bias"])
