"""GRU4Rec in Keras 3: a recurrent cell of its own (the paper's convention of the update gate)."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
ITEMS, T, NEG, E, H = 20, 4, 6, 8, 12
BPREG = 0.5


class PaperGRUCell(layers.Layer):
    def __init__(self, units, **kw):
        super().__init__(**kw)
        self.units = units

    def build(self, shape):
        u = self.units
        self.kernel = self.add_weight(shape=(shape[-1], 3 * u), name="kernel")
        self.bias = self.add_weight(shape=(3 * u,), name="bias")
        self.rec_gates = self.add_weight(shape=(u, 2 * u), name="rec_gates")
        self.rec_gates_bias = self.add_weight(shape=(2 * u,), name="rec_gates_bias")
        self.rec_cand = self.add_weight(shape=(u, u), name="rec_cand")
        self.rec_cand_bias = self.add_weight(shape=(u,), name="rec_cand_bias")

    def call(self, x, h):
        xr, xz, xh = ops.split(ops.matmul(x, self.kernel) + self.bias, 3, axis=-1)
        hr, hz = ops.split(ops.matmul(h, self.rec_gates) + self.rec_gates_bias, 2, axis=-1)
        r = ops.sigmoid(xr + hr)
        z = ops.sigmoid(xz + hz)
        cand = ops.tanh(xh + ops.matmul(r * h, self.rec_cand) + self.rec_cand_bias)
        return (1.0 - z) * h + z * cand


class GRU4Rec(keras.Model):
    def __init__(self):
        super().__init__()
        self.items = layers.Embedding(ITEMS, E, name="items")
        self.item_bias = layers.Embedding(ITEMS, 1, name="item_bias")
        self.ln = layers.LayerNormalization(epsilon=1e-6, name="ln")
        self.cells = [PaperGRUCell(H, name="cell0"), PaperGRUCell(H, name="cell1")]
        self.proj = layers.Dense(E, name="proj")

    def run_session(self, x, mask):
        states = [ops.zeros((x.shape[0], H)) for _ in self.cells]
        outs = []
        for t in range(T):
            y = x[:, t]
            keep = mask[:, t, None]
            for i, cell in enumerate(self.cells):
                y = cell(y, states[i])
                states[i] = keep * y + (1.0 - keep) * states[i]
            outs.append(ops.elu(self.proj(states[-1]), alpha=0.5))
        return ops.stack(outs, axis=1), states[-1]

    def call(self, session, mask, candidates):
        x = self.ln(self.items(session))
        out, last = self.run_session(x, mask)
        scores = ops.einsum("bte,btke->btk", out, self.items(candidates))
        scores = scores + ops.squeeze(self.item_bias(candidates), -1)
        pos, neg = scores[..., :1], scores[..., 1:]
        w = ops.softmax(neg, axis=-1)
        bpr = -ops.log(ops.sum(w * ops.sigmoid(pos - neg), axis=-1) + 1e-24)
        bpr = bpr + BPREG * ops.sum(w * ops.square(neg), axis=-1)
        top1 = ops.sum(w * (ops.sigmoid(neg - pos) + ops.sigmoid(ops.square(neg))), axis=-1)
        weight = mask / ops.sum(mask, axis=1, keepdims=True)
        return scores, bpr * weight, top1 * weight, last


def make():
    m = GRU4Rec()
    m(*[ops.convert_to_tensor(a) for a in inputs(0)])
    rng = np.random.default_rng(6)
    for v in m.weights:
        v.assign((rng.normal(size=v.shape) * 0.3 + (1 if "gamma" in v.path else 0)).astype("float32"))
    return m


def load(ported, original):
    ported.items.set_weights([original.embed.W.array])
    ported.item_bias.set_weights([original.out_bias.W.array])
    ported.ln.set_weights([original.ln.gamma.array, original.ln.beta.array])
    ported.proj.set_weights([original.proj.W.array.T, original.proj.b.array])
    for cell, g in zip(ported.cells, (original.gru1, original.gru2)):
        cell.kernel.assign(np.concatenate([g.W_r.W.array.T, g.W_z.W.array.T, g.W.W.array.T], 1))
        cell.bias.assign(np.concatenate([g.W_r.b.array, g.W_z.b.array, g.W.b.array]))
        cell.rec_gates.assign(np.concatenate([g.U_r.W.array.T, g.U_z.W.array.T], 1))
        cell.rec_gates_bias.assign(np.concatenate([g.U_r.b.array, g.U_z.b.array]))
        cell.rec_cand.assign(g.U.W.array.T)
        cell.rec_cand_bias.assign(g.U.b.array)


def inputs(seed):
    rng = np.random.default_rng(seed)
    session = rng.integers(0, ITEMS, size=(6, T)).astype("int32")
    mask = (np.arange(T)[None] >= rng.integers(0, T - 1, size=(6, 1))).astype("float32")
    cand = np.stack([rng.permutation(ITEMS)[:NEG + 1] for _ in range(6 * T)]).reshape(6, T, NEG + 1).astype("int32")
    return session, mask, cand
