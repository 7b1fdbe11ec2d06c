"""VectorNet in Keras 3."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
B, P, V, D, H, K, TF = 4, 6, 5, 8, 8, 3, 5


def masked_max(x, mask):
    """max over the vectors of each polyline; 0 for an empty polyline"""
    m = ops.expand_dims(mask, -1)
    best = ops.max(ops.where(m, x, -1e4), axis=2)
    return ops.where(ops.any(m, axis=2), best, 0.0)


class PolylineLayer(layers.Layer):
    def __init__(self, h, **kw):
        super().__init__(**kw)
        self.dense = layers.Dense(h)
        self.norm = layers.LayerNormalization(epsilon=1e-5)

    def call(self, x, mask):
        h = ops.relu(self.norm(self.dense(x)))
        pooled = masked_max(h, mask)[:, :, None]
        return ops.concatenate([h, ops.broadcast_to(pooled, ops.shape(h))], axis=-1)


class Interaction(layers.Layer):
    def __init__(self, d, **kw):
        super().__init__(**kw)
        self.d = d
        self.wq, self.wk, self.wv = (layers.Dense(d, name=n) for n in "qkv")

    def call(self, x, mask):
        scores = ops.einsum("bid,bjd->bij", self.wq(x) * self.d ** -0.5, self.wk(x))
        scores = ops.where(ops.expand_dims(mask, 1), scores, -1e9)
        att = ops.softmax(scores, axis=-1)
        return ops.matmul(att, self.wv(x))


class VectorNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.sub1, self.sub2 = PolylineLayer(H), PolylineLayer(H)
        self.interaction = Interaction(2 * H + 2)
        self.hidden = layers.Dense(16)
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.traj = layers.Dense(K * TF * 2)
        self.conf = layers.Dense(K, activation="softmax")

    def call(self, vectors, valid):
        mask = ops.greater(valid, 0.5)
        present = ops.any(mask, axis=-1)
        h = self.sub2(self.sub1(vectors, mask), mask)
        feat = masked_max(h, mask)
        feat = ops.normalize(feat, axis=-1, order=2)
        start = -masked_max(-vectors[..., :2], mask)
        ctx = self.interaction(ops.concatenate([feat, start], axis=-1), present)
        agent = ops.relu(self.norm(self.hidden(ctx[:, 0])))
        offsets = ops.reshape(self.traj(agent), (-1, K, TF, 2))
        last = vectors[:, 0, -1, 2:4]
        pos = ops.cumsum(offsets, axis=2) + last[:, None, None]
        return pos, self.conf(agent)


def make():
    m = VectorNet()
    m(*inputs(0))
    r = np.random.default_rng(52)
    for w in m.weights:
        s = w.shape
        v = r.normal(size=s)
        if "gamma" in w.path:
            v = 1 + 0.2 * v
        else:
            v = 0.15 * v if len(s) == 1 else v / np.sqrt(s[0])
        w.assign(v.astype("float32"))
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    x = (0.3 * r.normal(size=(B, P, V, D))).astype("float32")
    m = np.ones((B, P, V), "float32")
    for b in range(B):
        for p in range(1, P):
            m[b, p, r.integers(2, V + 1):] = 0
    m[1, 5] = 0
    m[3, 4:] = 0
    return x, m


def load(ported, original):
    n = lambda t: t.detach().numpy()
    d = lambda k, t: k.set_weights([n(t.weight).T, n(t.bias)])
    g = lambda k, t: k.set_weights([n(t.weight), n(t.bias)])
    for k, t in ((ported.sub1, original.sub[0]), (ported.sub2, original.sub[1])):
        d(k.dense, t.fc), g(k.norm, t.norm)
    i, o = ported.interaction, original.glob
    d(i.wq, o.q), d(i.wk, o.k), d(i.wv, o.v)
    d(ported.hidden, original.fc), g(ported.norm, original.norm)
    d(ported.traj, original.traj), d(ported.conf, original.conf)
