"""Keras (functional API) port of the hierarchical gating recommender."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
ITEMS, L, CAND, D, UF, STEPS = 20, 5, 6, 8, 7, 3
TAU, DIV = 0.5, 0.4


def cosine(a, b):
    num = ops.sum(a * b, axis=-1)
    na = ops.sqrt(ops.sum(ops.square(a), axis=-1))
    nb = ops.sqrt(ops.sum(ops.square(b), axis=-1))
    return num / ops.maximum(na * nb, 1e-8)


def hierarchical_gating(e, u, mask):
    item_gate = layers.Dense(D, name="gate_item")(e)
    user_gate = layers.Dense(D, use_bias=False, name="gate_user")(u)
    feature = ops.sigmoid(item_gate + ops.expand_dims(user_gate, 1))
    gated = e * feature
    inst = ops.squeeze(layers.Dense(1, use_bias=False, name="inst_item")(gated), axis=-1)
    inst = ops.sigmoid(inst + layers.Dense(L, use_bias=False, name="inst_user")(u)) * mask
    pooled = ops.einsum("bl,bld->bd", inst, gated)
    return pooled / (ops.sum(inst, axis=1, keepdims=True) + 1e-6)


def slate(scores, cand):
    picks = []
    for _ in range(STEPS):
        p = ops.softmax(scores / TAU, axis=-1)
        picks.append(p)
        chosen = ops.einsum("bc,bcd->bd", p, cand)
        scores = scores - DIV * cosine(cand, ops.expand_dims(chosen, 1))
    return ops.stack(picks, axis=1), scores


def build():
    seq = keras.Input((L,), dtype="int64", name="seq")
    feats = keras.Input((UF,), name="user_feats")
    cands = keras.Input((CAND,), dtype="int64", name="cands")
    item = layers.Embedding(ITEMS, D, name="item")
    mask = ops.cast(ops.not_equal(seq, 0), "float32")
    e = item(seq) * ops.expand_dims(mask, -1)
    u = layers.Dense(D, activation="tanh", name="user")(feats)
    pooled = hierarchical_gating(e, u, mask)
    w = layers.Embedding(ITEMS, D, name="out_w")(cands)
    b = layers.Embedding(ITEMS, 1, name="out_b")(cands)
    query = u + pooled + ops.sum(e, axis=1)
    scores = ops.einsum("bd,bcd->bc", query, w) + ops.squeeze(b, axis=-1)
    picks, left = slate(scores, item(cands))
    return keras.Model([seq, feats, cands], [scores, picks, left])


def make():
    m = build()
    r = np.random.RandomState(53)
    for w in m.weights:
        a = r.randn(*w.shape)
        if w.name == "embeddings":
            a = 0.6 * a
        else:
            a = a / np.sqrt(w.shape[0]) if len(w.shape) > 1 else 0.3 * a
        w.assign(a.astype("float32"))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    seq = r.randint(1, ITEMS, (5, L)).astype("int64")
    seq[0, :2] = 0
    seq[3, :1] = 0
    cands = np.stack([r.permutation(np.arange(1, ITEMS))[:CAND] for _ in range(5)]).astype("int64")
    return seq, r.randn(5, UF).astype("float32"), cands


def load(ported, original):
    n = lambda t: t.detach().numpy()
    for name in ("item", "out_w", "out_b"):
        ported.get_layer(name).embeddings.assign(n(getattr(original, name).weight))
    for name in ("user", "gate_item"):
        ported.get_layer(name).kernel.assign(n(getattr(original, name).weight).T)
        ported.get_layer(name).bias.assign(n(getattr(original, name).bias))
    ported.get_layer("gate_user").kernel.assign(n(original.gate_user.weight).T)
    ported.get_layer("inst_item").kernel.assign(n(original.inst_item))
    ported.get_layer("inst_user").kernel.assign(n(original.inst_user))
