"""ViT for Keras. Takes channels-first images, as the original service sends them."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"

CONFIG = {
    "patch": 4,
    "width": 32,
    "layers": 3,
    "heads": 4,
    "mlp": 64,
    "classes": 10,
    "tokens": 17,
    "epsilon": 1e-6,
}


def _norm(name):
    return layers.LayerNormalization(epsilon=CONFIG["epsilon"], name=name)


class FusedAttention(layers.Layer):
    """Self-attention with one dense layer for queries, keys and values."""

    def __init__(self, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.heads = heads
        self.size = width // heads
        self.in_proj = layers.Dense(3 * width)
        self.out_proj = layers.Dense(width)

    def call(self, x):
        tokens = ops.shape(x)[1]
        fused = ops.reshape(self.in_proj(x), (-1, tokens, 3, self.heads, self.size))
        q, k, v = fused[:, :, 0], fused[:, :, 1], fused[:, :, 2]
        logits = ops.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(self.size).astype("float32")
        mixed = ops.einsum("bhqk,bkhd->bqhd", ops.softmax(logits, axis=-1), v)
        return self.out_proj(ops.reshape(mixed, (-1, tokens, self.heads * self.size)))


class EncoderLayer(layers.Layer):
    def __init__(self, width, heads, hidden, **kwargs):
        super().__init__(**kwargs)
        self.ln_1 = _norm("ln_1")
        self.attention = FusedAttention(width, heads)
        self.ln_2 = _norm("ln_2")
        self.up = layers.Dense(hidden)
        self.down = layers.Dense(width)
        self.gamma_1 = self.add_weight(shape=(width,), initializer="ones", name="gamma_1")
        self.gamma_2 = self.add_weight(shape=(width,), initializer="ones", name="gamma_2")

    def call(self, x):
        x = x + self.gamma_1 * self.attention(self.ln_1(x))
        hidden = ops.gelu(self.up(self.ln_2(x)), approximate=False)
        return x + self.gamma_2 * self.down(hidden)


class VisionTransformer(keras.Model):
    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        width = config["width"]
        self.width = width
        self.stem = layers.Conv2D(width, config["patch"], strides=config["patch"])
        self.class_token = self.add_weight(shape=(1, 1, width), name="class_token")
        self.positions = self.add_weight(shape=(1, config["tokens"], width), name="positions")
        self.encoder = [
            EncoderLayer(width, config["heads"], config["mlp"]) for _ in range(config["layers"])
        ]
        self.ln_out = _norm("ln_out")
        self.classifier = layers.Dense(config["classes"])

    def call(self, images):
        grid = self.stem(ops.transpose(images, (0, 2, 3, 1)))
        patches = ops.reshape(grid, (ops.shape(grid)[0], -1, self.width))
        token = ops.broadcast_to(self.class_token, (ops.shape(grid)[0], 1, self.width))
        x = ops.concatenate([token, patches], axis=1)
        x = x + self.positions
        for layer in self.encoder:
            x = layer(x)
        return self.classifier(self.ln_out(x)[:, 0])


def make(seed=50):
    keras.utils.set_random_seed(seed)
    model = VisionTransformer(CONFIG)
    model(np.zeros((1, 3, 16, 16), np.float32))
    return model


def load(model, reference):
    state = {name: value.detach().numpy() for name, value in reference.state_dict().items()}

    def dense(layer, prefix):
        layer.set_weights([state[prefix + ".weight"].T, state[prefix + ".bias"]])

    def norm(layer, prefix):
        layer.set_weights([state[prefix + ".weight"], state[prefix + ".bias"]])

    kernel = state["patch_embed.proj.weight"].transpose(2, 3, 1, 0)
    model.stem.set_weights([kernel, state["patch_embed.proj.bias"]])
    model.class_token.assign(state["cls_token"])
    model.positions.assign(state["pos_embed"])
    for i, layer in enumerate(model.encoder):
        norm(layer.ln_1, f"blocks.{i}.norm1")
        norm(layer.ln_2, f"blocks.{i}.norm2")
        dense(layer.attention.in_proj, f"blocks.{i}.attn.qkv")
        dense(layer.attention.out_proj, f"blocks.{i}.attn.proj")
        dense(layer.up, f"blocks.{i}.mlp.fc1")
        dense(layer.down, f"blocks.{i}.mlp.fc2")
        layer.gamma_1.assign(state[f"blocks.{i}.ls1"])
        layer.gamma_2.assign(state[f"blocks.{i}.ls2"])
    norm(model.ln_out, "norm")
    dense(model.classifier, "head")
