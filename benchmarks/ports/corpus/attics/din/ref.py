"""Deep Interest Network (Zhou et al., 2018) as a functional Keras model."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
N_USERS, N_ITEMS, N_CATES, T, D = 40, 90, 15, 9, 8


class Dice(layers.Layer):
    def build(self, shape):
        self.bn = layers.BatchNormalization(center=False, scale=False, epsilon=1e-8, name="bn")
        self.bn.build(shape)
        self.alpha = self.add_weight(shape=(shape[-1],), name="alpha")

    def call(self, x):
        p = ops.sigmoid(self.bn(x, training=False))
        return p * x + (1.0 - p) * self.alpha * x


class InterestAttention(layers.Layer):
    """Sum of the history, weighted by how near each item is to the candidate."""

    def __init__(self, units=(20, 10), **kw):
        super().__init__(**kw)
        self.mlp = [layers.Dense(u, activation="sigmoid") for u in units]
        self.score = layers.Dense(1)

    def build(self, q_shape, k_shape, m_shape):
        width = 4 * q_shape[-1]
        for d in self.mlp + [self.score]:
            d.build((None, None, width))
            width = d.units

    def call(self, q, k, m):
        tiled = ops.repeat(ops.expand_dims(q, 1), ops.shape(k)[1], axis=1)
        h = ops.concatenate([tiled, k, tiled - k, tiled * k], axis=-1)
        for dense in self.mlp:
            h = dense(h)
        score = ops.transpose(self.score(h), (0, 2, 1))
        score = score / ops.sqrt(ops.cast(ops.shape(k)[-1], "float32"))
        keep = ops.expand_dims(m, 1) > 0
        score = ops.where(keep, score, -4294967295.0)
        weights = ops.softmax(score, axis=-1)
        return ops.squeeze(ops.matmul(weights, k), 1)


def build():
    user = keras.Input((), dtype="int32", name="user")
    item = keras.Input((), dtype="int32", name="item")
    cate = keras.Input((), dtype="int32", name="cate")
    hist_i = keras.Input((T,), dtype="int32", name="hist_items")
    hist_c = keras.Input((T,), dtype="int32", name="hist_cates")
    emb_u = layers.Embedding(N_USERS, D, name="user_emb")
    emb_i = layers.Embedding(N_ITEMS, D, name="item_emb")
    emb_c = layers.Embedding(N_CATES, D, name="cate_emb")
    bias = layers.Embedding(N_ITEMS, 1, name="item_bias")
    mask = layers.Lambda(lambda v: ops.cast(ops.not_equal(v, 0), "float32"), name="mask")(hist_i)
    q = layers.Concatenate()([emb_i(item), emb_c(cate)])
    keys = layers.Concatenate()([emb_i(hist_i), emb_c(hist_c)])
    interest = InterestAttention(name="attention")(q, keys, mask)
    interest = layers.BatchNormalization(epsilon=1e-3, name="hist_bn")(interest)
    interest = layers.Dense(2 * D, name="hist_fc")(interest)
    x = layers.Concatenate()([emb_u(user), q, interest, layers.Multiply()([q, interest])])
    x = layers.BatchNormalization(epsilon=1e-3, name="bn1")(x)
    x = Dice(name="dice1")(layers.Dense(24, name="fc1")(x))
    x = Dice(name="dice2")(layers.Dense(12, name="fc2")(x))
    logit = layers.Add()([layers.Dense(1, name="fc3")(x), bias(item)])
    return keras.Model([user, item, cate, hist_i, hist_c], layers.Activation("sigmoid")(logit))


def make(seed=3):
    model = build()
    r = np.random.default_rng(seed)
    for w in model.weights:
        z = r.standard_normal(w.shape)
        if "variance" in w.name:
            z = r.uniform(0.4, 1.8, w.shape)
        elif w.name == "gamma":
            z = 1 + 0.3 * z
        elif "embed" in w.name:
            z = 0.8 * z
        elif len(w.shape) == 2:
            z = 1.5 * z / np.sqrt(w.shape[0])
        else:
            z = 0.3 * z
        w.assign(z)
    return model


def inputs(seed):
    r = np.random.default_rng(seed)
    b = 6
    hist_i, hist_c = r.integers(1, N_ITEMS, (b, T)), r.integers(1, N_CATES, (b, T))
    for i, n in enumerate(r.integers(3, T + 1, b)):
        hist_i[i, n:] = 0
        hist_c[i, n:] = 0
    arrays = (r.integers(0, N_USERS, b), r.integers(1, N_ITEMS, b), r.integers(1, N_CATES, b), hist_i, hist_c)
    return tuple(a.astype("int32") for a in arrays)
