"""FT-Transformer (Gorishniy et al. 2021) in Keras."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
NUM, CARDS, D, HEADS, FF, DEPTH, OUT = 5, (4, 6), 16, 4, 12, 2, 3


class FeatureTokenizer(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.weight = self.add_weight(shape=(NUM, D), initializer="normal", name="num_weight")
        self.bias = self.add_weight(shape=(NUM + len(CARDS), D), initializer="zeros", name="token_bias")
        self.table = layers.Embedding(sum(CARDS), D, name="categories")
        self.cls = self.add_weight(shape=(1, 1, D), initializer="normal", name="cls")
        self.offsets = np.cumsum((0,) + CARDS[:-1]).astype("int64")

    def call(self, x_num, x_cat):
        num = x_num[:, :, None] * self.weight
        cat = self.table(x_cat + self.offsets)
        tokens = ops.concatenate([num, cat], axis=1) + self.bias
        cls = ops.broadcast_to(self.cls, (x_num.shape[0], 1, D))
        return ops.concatenate([tokens, cls], axis=1)          # CLS is last


class Block(layers.Layer):
    def __init__(self, first, last, **kw):
        super().__init__(**kw)
        self.first, self.last = first, last
        if not first:
            self.attn_norm = layers.LayerNormalization(name="attn_norm")
        self.attn = layers.MultiHeadAttention(HEADS, D // HEADS, name="attn")
        self.ffn_norm = layers.LayerNormalization(name="ffn_norm")
        self.lin1 = layers.Dense(2 * FF, name="lin1")
        self.lin2 = layers.Dense(D, name="lin2")

    def call(self, x):
        h = x if self.first else self.attn_norm(x)
        q = h[:, -1:] if self.last else h
        skip = x[:, -1:] if self.last else x
        x = skip + self.attn(q, h, h)
        h = self.lin1(self.ffn_norm(x))
        a, b = ops.split(h, 2, axis=-1)
        return x + self.lin2(a * ops.relu(b))


class FTTransformer(keras.Model):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.tokenizer = FeatureTokenizer(name="tokenizer")
        self.blocks = [Block(i == 0, i == DEPTH - 1, name=f"block{i}") for i in range(DEPTH)]
        self.head_norm = layers.LayerNormalization(name="head_norm")
        self.head = layers.Dense(OUT, name="head")

    def call(self, x_num, x_cat):
        x = self.tokenizer(x_num, x_cat)
        for block in self.blocks:
            x = block(x)
        return self.head(ops.relu(self.head_norm(x[:, -1])))


def make():
    m = FTTransformer()
    m(*inputs(0))
    rng = np.random.RandomState(21)
    for w in m.weights:
        z = rng.randn(*w.shape).astype("float32")
        w.assign(1 + 0.2 * z if "gamma" in w.path else 0.3 * z)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    cats = np.stack([r.randint(0, c, 6) for c in CARDS], 1).astype("int64")
    return r.randn(6, NUM).astype("float32"), cats
