"""The small AlphaStar in Keras 3 (maps inside are channels last)."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
SIDE, KEY, NEG = 8, 12, -1e9


class Gated(layers.Layer):
    def __init__(self, inner, units):
        super().__init__()
        self.gate = layers.Dense(inner, activation="sigmoid")
        self.project = layers.Dense(units)

    def call(self, x, context):
        return self.project(x * self.gate(context))


class MiniStar(keras.Model):
    def __init__(self):
        super().__init__()
        self.ent1 = layers.Dense(32, activation="relu")
        self.ent2 = layers.Dense(16)
        self.ent_mean = layers.Dense(16, activation="relu")
        self.to_map = layers.Dense(6, activation="relu")
        self.conv = layers.Conv2D(10, 3, padding="same", activation="relu")
        self.pool = layers.MaxPooling2D(2)
        self.flat = layers.Dense(24, activation="relu")
        self.context = layers.Dense(16, activation="relu")
        self.core = layers.LSTMCell(40)
        self.res = layers.Dense(40, activation="relu")
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.type_head = Gated(40, 7)
        self.type_table = layers.Embedding(7, 24)
        self.auto = Gated(40, 24)
        self.keys = layers.Dense(KEY)
        self.first_query = layers.Dense(20, activation="relu")
        self.pointer = layers.LSTMCell(20)
        self.pointer_key = layers.Dense(KEY)
        self.feed_back = layers.Dense(24, activation="relu")
        self.target_key = layers.Dense(KEY)
        self.value = layers.Dense(1)

    def canvas(self, e, xy, planes):
        where = ops.one_hot(xy[..., 1] * SIDE + xy[..., 0], SIDE * SIDE, dtype="float32")
        drawn = ops.einsum("bnp,bnc->bpc", where, self.to_map(e))
        drawn = ops.reshape(drawn, (-1, SIDE, SIDE, 6))
        return ops.concatenate([drawn, ops.transpose(planes, (0, 2, 3, 1))], axis=-1)

    def select(self, auto, keys, mask, picked):
        allowed = mask
        h = self.first_query(auto)
        c = ops.zeros_like(h)
        previous = ops.zeros_like(keys[:, 0])
        rows = []
        for i in range(picked.shape[1]):
            _, (h, c) = self.pointer(previous, [h, c])
            row = ops.sum(keys * self.pointer_key(h)[:, None], axis=-1)
            rows.append(ops.where(allowed > 0, row, NEG))
            hot = ops.one_hot(picked[:, i], keys.shape[1], dtype="float32")
            previous = ops.einsum("bn,bnk->bk", hot, keys)
            auto = auto + self.feed_back(previous)
            allowed = allowed * (1.0 - hot)
        return auto, ops.log_softmax(ops.stack(rows, axis=1), axis=-1)

    def call(self, entities, mask, xy, planes, scalars, h, c, action_type, picked):
        b = entities.shape[0]
        e = self.ent2(self.ent1(entities)) * mask[..., None]
        pooled = self.ent_mean(ops.sum(e, axis=1) / ops.sum(mask, axis=1, keepdims=True))
        maps = self.pool(self.conv(self.canvas(e, xy, planes)))
        spatial = self.flat(ops.reshape(ops.transpose(maps, (0, 3, 1, 2)), (b, -1)))
        context = self.context(scalars)
        out, (h, c) = self.core(ops.concatenate([context, pooled, spatial], axis=-1), [h, c])
        logits = self.type_head(self.norm(out + self.res(out)), context)
        auto = self.auto(out, context) + self.type_table(action_type)
        keys = self.keys(e)
        auto, units = self.select(auto, keys, mask, picked)
        target = ops.squeeze(ops.matmul(keys, self.target_key(auto)[..., None]), axis=-1)
        target = ops.log_softmax(ops.where(mask > 0, target, NEG), axis=-1)
        return {"type": logits, "units": units, "target": target, "h": h, "c": c,
                "value": ops.squeeze(self.value(out), axis=-1)}


def make(seed=19):
    keras.utils.set_random_seed(seed)
    net = MiniStar()
    net(*[ops.convert_to_tensor(x) for x in inputs(1)])
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    f = lambda *s: rng.normal(size=s).astype("float32")
    mask = np.ones((4, 9), "float32")
    mask[0, 7:] = mask[2, 5:] = mask[3, 8:] = 0
    xy = rng.integers(0, 8, (4, 9, 2)).astype("int64")
    picked = np.array([[0, 3, 2], [8, 1, 4], [2, 4, 0], [6, 5, 7]], "int64")
    return (f(4, 9, 11), mask, xy, f(4, 2, 8, 8), f(4, 13), np.tanh(f(4, 40)), f(4, 40),
            rng.integers(0, 7, 4).astype("int64"), picked)


def load(ported, original):
    n = lambda t: t.detach().numpy()
    o = original
    for ours, theirs in ((ported.ent1, o.entity[0]), (ported.ent2, o.entity[2]),
                         (ported.ent_mean, o.entity_mean), (ported.to_map, o.scatter_proj),
                         (ported.flat, o.spatial), (ported.context, o.scalar), (ported.res, o.type_res),
                         (ported.type_head.gate, o.type_glu.gate), (ported.type_head.project, o.type_glu.out),
                         (ported.auto.gate, o.auto.gate), (ported.auto.project, o.auto.out),
                         (ported.keys, o.keys), (ported.first_query, o.query),
                         (ported.pointer_key, o.pointer_out), (ported.feed_back, o.back),
                         (ported.target_key, o.target_query), (ported.value, o.baseline)):
        ours.set_weights([n(theirs.weight).T, n(theirs.bias)])
    ported.conv.set_weights([n(o.conv.weight).transpose(2, 3, 1, 0), n(o.conv.bias)])
    ported.norm.set_weights([n(o.type_norm.weight), n(o.type_norm.bias)])
    ported.type_table.set_weights([n(o.type_embed.weight)])
    for ours, theirs in ((ported.core, o.core), (ported.pointer, o.pointer)):
        ours.set_weights([n(theirs.weight_ih).T, n(theirs.weight_hh).T, n(theirs.bias_ih) + n(theirs.bias_hh)])
