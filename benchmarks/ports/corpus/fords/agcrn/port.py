"""AGCRN in Keras."""
import numpy as np
import keras
from keras import ops

FRAMEWORK = "keras"
N, T, CIN, H, D, K, HOR, COUT = 7, 4, 2, 8, 4, 3, 3, 2


class NodeAdaptiveGCN(keras.layers.Layer):
    def __init__(self, units, cheb_k, embed_dim, dim_in, **kw):
        super().__init__(**kw)
        self.cheb_k = cheb_k
        self.weights_pool = self.add_weight(shape=(embed_dim, cheb_k, dim_in, units),
                                            initializer="glorot_uniform", name="weights_pool")
        self.bias_pool = self.add_weight(shape=(embed_dim, units), initializer="zeros", name="bias_pool")

    def call(self, x, emb):
        adj = ops.softmax(ops.relu(ops.matmul(emb, ops.transpose(emb))), axis=-1)
        polys = [ops.eye(N), adj]
        for _ in range(2, self.cheb_k):
            polys.append(2.0 * ops.matmul(adj, polys[-1]) - polys[-2])
        polys = ops.stack(polys, axis=0)
        w = ops.einsum("nd,dkio->nkio", emb, self.weights_pool)
        b = ops.matmul(emb, self.bias_pool)
        mixed = ops.einsum("knm,bmc->bnkc", polys, x)
        return ops.einsum("bnki,nkio->bno", mixed, w) + b


class AGCRNCell(keras.layers.Layer):
    def __init__(self, units, dim_in, **kw):
        super().__init__(**kw)
        self.gate = NodeAdaptiveGCN(2 * units, K, D, dim_in + units, name="gate")
        self.update = NodeAdaptiveGCN(units, K, D, dim_in + units, name="update")

    def call(self, x, h, emb):
        zr = ops.sigmoid(self.gate(ops.concatenate([x, h], axis=-1), emb))
        z, r = ops.split(zr, 2, axis=-1)
        cand = ops.concatenate([x, z * h], axis=-1)
        hc = ops.tanh(self.update(cand, emb))
        return r * h + (1.0 - r) * hc


class AGCRN(keras.Model):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.emb = self.add_weight(shape=(N, D), initializer="normal", name="node_embeddings")
        self.cell0 = AGCRNCell(H, CIN, name="cell0")
        self.cell1 = AGCRNCell(H, H, name="cell1")
        self.end = keras.layers.Dense(HOR * COUT, name="end")

    def call(self, x):
        seq = [x[:, t] for t in range(T)]
        for cell in (self.cell0, self.cell1):
            h = ops.zeros((x.shape[0], N, H))
            outs = []
            for xt in seq:
                h = cell(xt, h, self.emb)
                outs.append(h)
            seq = outs
        y = self.end(seq[-1])                                # B, N, HOR*C
        y = ops.reshape(y, (-1, N, HOR, COUT))
        return ops.transpose(y, (0, 2, 1, 3))


def make():
    m = AGCRN()
    m(np.zeros((4, T, N, CIN), "float32"))
    rng = np.random.RandomState(5)
    for w in m.weights:
        w.assign(rng.randn(*w.shape).astype("float32") * 0.4)
    return m


inputs = lambda seed: (np.random.RandomState(seed).randn(4, T, N, CIN).astype("float32"),)


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}
    ported.emb.assign(sd["node_embeddings"])
    for i, cell in enumerate((ported.cell0, ported.cell1)):
        for part in ("gate", "update"):
            getattr(cell, part).weights_pool.assign(sd[f"cells.{i}.{part}.weights_pool"])
            getattr(cell, part).bias_pool.assign(sd[f"cells.{i}.{part}.bias_pool"])
    ported.end.kernel.assign(sd["end_conv.weight"][:, 0, 0, :].T)
    ported.end.bias.assign(sd["end_conv.bias"])
