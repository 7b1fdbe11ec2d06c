"""gMLP in Keras 3."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
V, N, D, FF, DA, DEPTH = 20, 10, 12, 24, 6, 2


class TinyAttention(layers.Layer):
    def __init__(self, dim, dim_out, dim_inner, **kw):
        super().__init__(**kw)
        self.scale = dim_inner ** -0.5
        self.to_qkv = layers.Dense(dim_inner * 3, use_bias=False)
        self.to_out = layers.Dense(dim_out)

    def call(self, x):
        n = x.shape[1]
        q, k, v = ops.split(self.to_qkv(x), 3, axis=-1)
        sim = ops.matmul(q, ops.transpose(k, (0, 2, 1))) * self.scale
        causal = ops.tril(ops.ones((n, n)))
        sim = ops.where(causal > 0, sim, -1e9)
        return self.to_out(ops.matmul(ops.softmax(sim, axis=-1), v))


class SpatialGatingUnit(layers.Layer):
    def __init__(self, dim, n, **kw):
        super().__init__(**kw)
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.kernel = self.add_weight(shape=(n, n), name="kernel")
        self.bias = self.add_weight(shape=(n, 1), name="bias")

    def call(self, x, gate_res):
        res, gate = ops.split(x, 2, axis=-1)
        gate = self.norm(gate)
        w = ops.tril(self.kernel)
        gate = ops.matmul(w, gate) + self.bias
        gate = gate + gate_res
        return gate * res


class GMLPBlock(layers.Layer):
    def __init__(self, dim, dim_ff, n, dim_attn, **kw):
        super().__init__(**kw)
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.attn = TinyAttention(dim, dim_ff // 2, dim_attn)
        self.proj_in = layers.Dense(dim_ff)
        self.sgu = SpatialGatingUnit(dim_ff, n)
        self.proj_out = layers.Dense(dim)

    def call(self, inputs):
        shortcut = inputs
        x = self.norm(inputs)
        gate_res = self.attn(x)
        x = ops.gelu(self.proj_in(x), approximate=False)
        x = self.sgu(x, gate_res)
        return self.proj_out(x) + shortcut


class GMLP(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Embedding(V, D)
        self.blocks = [GMLPBlock(D, FF, N, DA) for _ in range(DEPTH)]
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.to_logits = layers.Dense(V)

    def call(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.to_logits(self.norm(x))


def make():
    m = GMLP()
    m(inputs(0)[0])
    r = np.random.RandomState(5)
    for w in m.weights:
        a = r.randn(*w.shape)
        w.assign(1 + 0.2 * a if "gamma" in w.name else 0.35 * a)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randint(0, V, (4, N)),)


def load(p, o):
    n = lambda t: t.detach().numpy()

    def dense(a, b):
        a.set_weights([n(b.weight).T] + ([n(b.bias)] if b.bias is not None else []))

    def norm(a, b):
        a.set_weights([n(b.weight), n(b.bias)])
    p.embed.set_weights([n(o.embed.weight)])
    for a, b in zip(p.blocks, o.layers):
        norm(a.norm, b.norm)
        dense(a.attn.to_qkv, b.attn.to_qkv)
        dense(a.attn.to_out, b.attn.to_out)
        dense(a.proj_in, b.proj_in)
        dense(a.proj_out, b.proj_out)
        norm(a.sgu.norm, b.sgu.norm)
        a.sgu.kernel.assign(n(b.sgu.weight))
        a.sgu.bias.assign(n(b.sgu.bias)[:, None])
    norm(p.norm, o.norm)
    dense(p.to_logits, o.to_logits)
