"""STAMP with the Keras functional API."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
ITEMS, D, L = 15, 8, 7


class ScoreItems(layers.Layer):
    """Scores of all items with the (shared) item embedding."""

    def __init__(self, embedding, **kw):
        super().__init__(**kw)
        self.embedding = embedding

    def call(self, query):
        return ops.sigmoid(ops.matmul(query, ops.transpose(self.embedding.embeddings[1:])))


def build():
    seq = keras.Input((L,), dtype="int32")
    embedding = layers.Embedding(ITEMS + 1, D, name="emb")
    mask = ops.cast(ops.not_equal(seq, 0), "float32")
    length = ops.sum(mask, axis=1, keepdims=True)
    x = embedding(seq)
    mean = ops.sum(x * mask[..., None], axis=1) / length
    is_last = ops.one_hot(ops.cast(length[:, 0] - 1, "int32"), L)
    last = ops.einsum("bl,bld->bd", is_last, x)

    ctx = layers.Dense(D, use_bias=False, name="w1")(x)
    asp = layers.RepeatVector(L)(layers.Dense(D, use_bias=False, name="w2")(last))
    avg = layers.RepeatVector(L)(layers.Dense(D, name="w3")(mean))
    hidden = ops.sigmoid(layers.Add()([ctx, asp, avg]))
    alpha = layers.Dense(1, use_bias=False, name="w0")(hidden)[..., 0] * mask
    memory = layers.Dot(axes=(1, 1))([alpha, x]) + mean

    h_s = layers.Dense(D, activation="tanh", name="mlp_a")(memory)
    h_t = layers.Dense(D, activation="tanh", name="mlp_b")(last)
    scores = ScoreItems(embedding, name="scores")(layers.Multiply()([h_s, h_t]))
    return keras.Model(seq, [ops.log_softmax(scores, axis=-1), alpha])


def make():
    m = build()
    r = np.random.RandomState(29)
    for w in m.weights:
        w.assign(0.4 * r.randn(*w.shape).astype("float32"))
    return m


def load(ported, original):
    def a(t):
        return t.detach().numpy()

    o = original
    ported.get_layer("emb").embeddings.assign(a(o.emb.weight))
    for n in ("w0", "w1", "w2"):
        ported.get_layer(n).set_weights([a(getattr(o, n).weight).T])
    ported.get_layer("w3").set_weights([a(o.w3.weight).T, a(o.ba)])
    for n in ("mlp_a", "mlp_b"):
        ported.get_layer(n).set_weights([a(getattr(o, n).weight).T, a(getattr(o, n).bias)])


def inputs(seed):
    r = np.random.RandomState(seed)
    s = r.randint(1, ITEMS + 1, (6, L))
    for b, n in enumerate([7, 4, 5, 3, 6, 2]):
        s[b, n:] = 0
    return (s.astype("int32"),)
