"""Caser (Tang & Wang 2018): convolutional sequence embedding recommendation, Keras functional."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
B, L, D, NV, NH, ITEMS, UF, T = 4, 6, 8, 3, 4, 25, 5, 7


def build():
    seq = keras.Input((L,), dtype="int32")
    user = keras.Input((UF,))
    targets = keras.Input((T,), dtype="int32")
    emb = layers.Embedding(ITEMS, D, name="item_emb")(seq)
    valid = ops.cast(ops.not_equal(seq, 0), "float32")
    emb = emb * ops.expand_dims(valid, -1)
    img = ops.expand_dims(emb, -1)
    v = layers.Conv2D(NV, (L, 1), name="conv_v")(img)
    v = layers.Flatten()(v)
    pooled = []
    for h in range(1, L + 1):
        c = layers.Conv2D(NH, (h, D), activation="relu", name=f"conv_h{h}")(img)
        c = ops.max(c, axis=(1, 2))
        pooled.append(c)
    hfeat = layers.Concatenate()(pooled)
    z = layers.Concatenate()([v, hfeat])
    z = layers.Dense(D, activation="relu", name="fc1")(z)
    u = layers.Dense(D, name="user_emb")(user)
    x = layers.Concatenate()([z, u])
    w2 = layers.Embedding(ITEMS, 2 * D, name="W2")(targets)
    b2 = layers.Embedding(ITEMS, 1, name="b2")(targets)
    scores = ops.squeeze(ops.matmul(w2, ops.expand_dims(x, -1)), -1)
    scores = scores + ops.squeeze(b2, -1)
    return keras.Model([seq, user, targets], scores)


def make():
    m = build()
    r = np.random.RandomState(9)
    for w in m.weights:
        s = 0.8 if len(w.shape) == 2 and w.shape[0] == ITEMS else 0.35
        w.assign(s * r.randn(*w.shape))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    seq = r.randint(1, ITEMS, (B, L))
    seq[0, :2] = 0
    seq[2, :3] = 0
    seq[3, :1] = 0
    return (seq.astype("int32"), r.randn(B, UF).astype("float32"), r.randint(1, ITEMS, (B, T)).astype("int32"))


LISTIN = True
