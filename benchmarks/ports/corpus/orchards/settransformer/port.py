"""Set Transformer in Keras 3: layers of our own, put together with the functional API."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
MAX_SET, N_FEATURES, UNITS, N_HEADS, N_INDUCING, N_SEEDS, N_OUT = 9, 5, 24, 4, 6, 3, 4


class Attend(layers.Layer):
    """The MAB: LN(h + rFF(h)), h = LN(Q + attention(Q, K, V))."""

    def __init__(self, **kw):
        super().__init__(**kw)
        self.q, self.k, self.v, self.ff = (layers.Dense(UNITS) for _ in range(4))
        self.norm1 = layers.LayerNormalization(epsilon=1e-5)
        self.norm2 = layers.LayerNormalization(epsilon=1e-5)

    def call(self, x, y, present=None):
        q, k, v = self.q(x), self.k(y), self.v(y)
        split = (-1, ops.shape(y)[1], N_HEADS, UNITS // N_HEADS)
        qh = ops.reshape(q, (-1, ops.shape(x)[1], N_HEADS, UNITS // N_HEADS))
        kh, vh = ops.reshape(k, split), ops.reshape(v, split)
        logits = ops.einsum("bqhd,bkhd->bhqk", qh, kh) / UNITS**0.5
        if present is not None:
            logits = logits - 1e9 * (1.0 - present[:, None, None, :])
        weights = ops.softmax(logits, axis=-1)
        context = ops.einsum("bhqk,bkhd->bqhd", weights, vh)
        context = ops.reshape(context, ops.shape(q))
        h = self.norm1(q + context)
        return self.norm2(h + ops.relu(self.ff(h)))


class Learned(layers.Layer):
    """A learned set, once for each example."""

    def __init__(self, count, **kw):
        super().__init__(**kw)
        self.count = count

    def build(self, shape):
        self.points = self.add_weight(name="points", shape=(1, self.count, UNITS), initializer="random_normal")

    def call(self, like):
        return ops.tile(self.points, (ops.shape(like)[0], 1, 1))


def isab(x, mask, name):
    inducing = Learned(N_INDUCING, name=name + "_points")(x)
    summary = Attend(name=name + "_in")(inducing, x, present=mask)
    return Attend(name=name + "_out")(x, summary)


def build():
    elements = keras.Input((MAX_SET, N_FEATURES), name="elements")
    mask = keras.Input((MAX_SET,), name="mask")
    h = isab(elements, mask, "isab1")
    h = isab(h, mask, "isab2")
    seeds = Learned(N_SEEDS, name="seeds")(h)
    pooled = Attend(name="pma")(seeds, h, present=mask)
    pooled = Attend(name="sab")(pooled, pooled)
    flat = layers.Flatten()(pooled)
    return keras.Model([elements, mask], layers.Dense(N_OUT, name="head")(flat))


def make(seed=17):
    keras.utils.set_random_seed(seed)
    net = build()
    rng = np.random.default_rng(seed)
    for v in net.weights:
        if v.name in ("bias", "beta"):
            v.assign(rng.normal(size=v.shape) * 0.2)
        elif v.name == "gamma":
            v.assign(rng.uniform(0.5, 1.5, size=v.shape))
        elif v.name == "points":
            v.assign(rng.normal(size=v.shape))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, MAX_SET + 1, size=5)
    present = (np.arange(MAX_SET) < sizes[:, None]).astype("float32")
    elements = rng.normal(size=(5, MAX_SET, N_FEATURES)).astype("float32") * present[..., None]
    return elements, present


def load(ported, original):
    def attend(name, theirs):
        ours = ported.get_layer(name)
        for dense, link in zip((ours.q, ours.k, ours.v, ours.ff), (theirs.fc_q, theirs.fc_k, theirs.fc_v, theirs.fc_o)):
            dense.set_weights([link.W.array.T, link.b.array])
        ours.norm1.set_weights([theirs.ln0.gamma.array, theirs.ln0.beta.array])
        ours.norm2.set_weights([theirs.ln1.gamma.array, theirs.ln1.beta.array])

    for name in ("isab1", "isab2"):
        theirs = original[name]
        ported.get_layer(name + "_points").set_weights([theirs.inducing.array])
        attend(name + "_in", theirs.gather)
        attend(name + "_out", theirs.scatter)
    ported.get_layer("seeds").set_weights([original.seeds.array])
    attend("pma", original.pma)
    attend("sab", original.sab)
    ported.get_layer("head").set_weights([original.head.W.array.T, original.head.b.array])
