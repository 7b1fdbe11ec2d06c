"""NARM as a subclassed Keras model."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
N_ITEMS, MAX_LEN = 40, 9


class AdditiveAttention(layers.Layer):
    """Un-normalised attention of the last state over all states."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.query_proj = layers.Dense(units, use_bias=False)
        self.key_proj = layers.Dense(units, use_bias=False)
        self.energy = layers.Dense(1, use_bias=False)

    def call(self, query, states, valid):
        hidden = ops.sigmoid(ops.expand_dims(self.query_proj(query), 1) + self.key_proj(states))
        weights = self.energy(hidden)
        weights = ops.where(valid[..., None], weights, 0.0)
        return ops.sum(weights * states, axis=1)


class Narm(keras.Model):
    def __init__(self, dim=16, units=20):
        super().__init__()
        self.item_embedding = layers.Embedding(N_ITEMS + 1, dim)
        self.encoder_g = layers.GRU(units, reset_after=False)
        self.encoder_l = layers.GRU(units, reset_after=False, return_sequences=True)
        self.attention = AdditiveAttention(units)
        self.project = layers.Dense(dim, use_bias=False)

    def call(self, items):
        valid = ops.not_equal(items, 0)
        e = self.item_embedding(items)
        h_last = self.encoder_g(e, mask=valid)
        h_all = self.encoder_l(e, mask=valid)
        c_local = self.attention(h_last, h_all, valid)
        session = self.project(ops.concatenate([h_last, c_local], axis=-1))
        candidates = self.item_embedding.embeddings[1:]
        return ops.softmax(ops.matmul(session, ops.transpose(candidates)), axis=-1)


def make(seed=1):
    keras.utils.set_random_seed(seed)
    net = Narm()
    net(inputs(0))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    items = rng.integers(1, N_ITEMS + 1, size=(6, MAX_LEN)).astype("int32")
    for row, n in enumerate((9, 4, 6, 2, 7, 5)):
        items[row, n:] = 0
    return items


def load(ported, original):
    ported.item_embedding.set_weights([original.embed.W.array])
    for layer, cell in (
        (ported.encoder_g, original.global_gru),
        (ported.encoder_l, original.local_gru),
    ):
        kernel = np.concatenate([cell.wz.W.array, cell.wr.W.array, cell.wh.W.array]).T
        recurrent = np.concatenate([cell.uz.W.array, cell.ur.W.array, cell.uh.W.array]).T
        bias = np.concatenate([cell.wz.b.array, cell.wr.b.array, cell.wh.b.array])
        layer.set_weights([kernel, recurrent, bias])
    ported.attention.query_proj.set_weights([original.a1.W.array.T])
    ported.attention.key_proj.set_weights([original.a2.W.array.T])
    ported.attention.energy.set_weights([original.v.W.array.T])
    ported.project.set_weights([original.bilinear.W.array.T])
