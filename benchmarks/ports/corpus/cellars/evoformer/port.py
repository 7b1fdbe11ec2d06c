import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
_rng = np.random.RandomState(5)


def var(*shape, kind="w"):
    if kind == "scale":
        v = _rng.rand(*shape) + 0.5
    else:
        v = _rng.randn(*shape) * 0.3
    return tf.Variable(v.astype("float32"))


class LayerNorm(tf.Module):
    def __init__(self, c):
        super().__init__()
        self.scale = var(c, kind="scale")
        self.offset = var(c)

    def __call__(self, x):
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, self.offset, self.scale, 1e-5)


class Linear(tf.Module):
    def __init__(self, i, o, bias=True):
        super().__init__()
        self.w = var(i, o)
        self.b = var(o) if bias else None

    def __call__(self, x):
        y = tf.einsum("...i,io->...o", x, self.w)
        return y if self.b is None else y + self.b


class Attention(tf.Module):
    """As in the haiku code: weights with the heads as an axis of their own."""

    def __init__(self, c, heads, dim):
        super().__init__()
        self.key_dim = dim
        self.query_w = var(c, heads, dim)
        self.key_w = var(c, heads, dim)
        self.value_w = var(c, heads, dim)
        self.gating_w = var(c, heads, dim)
        self.gating_b = var(heads, dim)
        self.output_w = var(heads, dim, c)
        self.output_b = var(c)

    def __call__(self, data, bias, nonbatched_bias=None):
        q = tf.einsum("bgqa,ahc->bgqhc", data, self.query_w) * self.key_dim ** (-0.5)
        k = tf.einsum("bgka,ahc->bgkhc", data, self.key_w)
        v = tf.einsum("bgka,ahc->bgkhc", data, self.value_w)
        logits = tf.einsum("bgqhc,bgkhc->bghqk", q, k) + bias
        if nonbatched_bias is not None:
            logits += tf.expand_dims(nonbatched_bias, 1)
        weights = tf.nn.softmax(logits)
        avg = tf.einsum("bghqk,bgkhc->bgqhc", weights, v)
        gate = tf.sigmoid(tf.einsum("bgqa,ahc->bgqhc", data, self.gating_w) + self.gating_b)
        avg *= gate
        return tf.einsum("bgqhc,hco->bgqo", avg, self.output_w) + self.output_b


class RowAttention(tf.Module):
    def __init__(self, cm, cz, heads, dim):
        super().__init__()
        self.query_norm = LayerNorm(cm)
        self.feat_2d_norm = LayerNorm(cz)
        self.feat_2d_weights = var(cz, heads)
        self.attention = Attention(cm, heads, dim)

    def __call__(self, msa, pair, mask):
        bias = (1e9 * (mask - 1.0))[:, :, None, None, :]
        pair = self.feat_2d_norm(pair)
        nb = tf.einsum("bqkc,ch->bhqk", pair, self.feat_2d_weights)
        msa = self.query_norm(msa)
        return self.attention(msa, bias, nb)


class ColumnAttention(tf.Module):
    def __init__(self, cm, heads, dim):
        super().__init__()
        self.query_norm = LayerNorm(cm)
        self.attention = Attention(cm, heads, dim)

    def __call__(self, msa, mask):
        msa = tf.transpose(msa, [0, 2, 1, 3])
        mask = tf.transpose(mask, [0, 2, 1])
        bias = (1e9 * (mask - 1.0))[:, :, None, None, :]
        out = self.attention(self.query_norm(msa), bias)
        return tf.transpose(out, [0, 2, 1, 3])


class Transition(tf.Module):
    def __init__(self, c, n=2):
        super().__init__()
        self.input_norm = LayerNorm(c)
        self.t1 = Linear(c, n * c)
        self.t2 = Linear(n * c, c)

    def __call__(self, x):
        return self.t2(tf.nn.relu(self.t1(self.input_norm(x))))


class OuterProductMean(tf.Module):
    def __init__(self, cm, cz, hid):
        super().__init__()
        self.norm = LayerNorm(cm)
        self.left = Linear(cm, hid)
        self.right = Linear(cm, hid)
        self.output_w = var(hid, hid, cz)
        self.output_b = var(cz)

    def __call__(self, act, mask):
        mask = mask[..., None]
        act = self.norm(act)
        left = mask * self.left(act)
        right = mask * self.right(act)
        outer = tf.einsum("bsic,bsje->bijce", left, right)
        act = tf.einsum("bijce,cef->bijf", outer, self.output_w) + self.output_b
        norm = tf.einsum("bsic,bsjc->bijc", mask, mask)
        return act / (1e-3 + norm)


class TriangleMultiplication(tf.Module):
    def __init__(self, cz, hid, equation):
        super().__init__()
        self.equation = equation
        self.left_norm_input = LayerNorm(cz)
        self.left_projection = Linear(cz, hid)
        self.left_gate = Linear(cz, hid)
        self.right_projection = Linear(cz, hid)
        self.right_gate = Linear(cz, hid)
        self.center_norm = LayerNorm(hid)
        self.output_projection = Linear(hid, cz)
        self.gating_linear = Linear(cz, cz)

    def __call__(self, act):
        act = self.left_norm_input(act)
        left = self.left_projection(act) * tf.sigmoid(self.left_gate(act))
        right = self.right_projection(act) * tf.sigmoid(self.right_gate(act))
        x = tf.einsum(self.equation, left, right)
        x = self.output_projection(self.center_norm(x))
        return x * tf.sigmoid(self.gating_linear(act))


class Iteration(tf.Module):
    def __init__(self, cm, cz):
        super().__init__()
        self.row = RowAttention(cm, cz, 2, 6)
        self.col = ColumnAttention(cm, 2, 6)
        self.msa_transition = Transition(cm)
        self.outer_product_mean = OuterProductMean(cm, cz, 5)
        self.outgoing = TriangleMultiplication(cz, 6, "bikc,bjkc->bijc")
        self.incoming = TriangleMultiplication(cz, 6, "bkic,bkjc->bijc")
        self.pair_transition = Transition(cz)

    def __call__(self, msa, pair, mask):
        msa += self.row(msa, pair, mask)
        msa += self.col(msa, mask)
        msa += self.msa_transition(msa)
        pair += self.outer_product_mean(msa, mask)
        for f in (self.outgoing, self.incoming, self.pair_transition):
            pair += f(pair)
        return msa, pair


class Evoformer(tf.Module):
    def __init__(self, cm=16, cz=8, cs=12, blocks=2):
        super().__init__()
        self.blocks = [Iteration(cm, cz) for _ in range(blocks)]
        self.single_activations = Linear(cm, cs)

    def __call__(self, msa, pair, mask):
        for b in self.blocks:
            msa, pair = b(msa, pair, mask)
        return self.single_activations(msa[:, 0]), pair


def make():
    global _rng
    _rng = np.random.RandomState(5)
    return Evoformer()


def inputs(seed):
    r = np.random.RandomState(seed)
    m = r.randn(4, 5, 7, 16).astype("float32")
    z = r.randn(4, 7, 7, 8).astype("float32")
    mask = np.ones((4, 5, 7), "float32")
    mask[1, 3:] = 0
    mask[2, 4, 2:] = 0
    mask[3, 2:4, 5] = 0
    return m, z, mask


def load(ported, original):
    def n(p):
        return p.detach().numpy()

    def lin(a, b):
        a.w.assign(n(b.weight).T)
        a.b.assign(n(b.bias))

    def ln(a, b):
        a.scale.assign(n(b.weight))
        a.offset.assign(n(b.bias))

    def att(a, b):
        for v, l in ((a.query_w, b.linear_q), (a.key_w, b.linear_k), (a.value_w, b.linear_v), (a.gating_w, b.linear_g)):
            v.assign(n(l.weight).T.reshape(-1, b.h, b.d))
        a.gating_b.assign(n(b.linear_g.bias).reshape(b.h, b.d))
        a.output_w.assign(n(b.linear_o.weight).T.reshape(b.h, b.d, -1))
        a.output_b.assign(n(b.linear_o.bias))

    def trans(a, b):
        ln(a.input_norm, b.norm)
        lin(a.t1, b.linear_1)
        lin(a.t2, b.linear_2)

    def tri(a, b):
        ln(a.left_norm_input, b.norm_in)
        ln(a.center_norm, b.norm_out)
        lin(a.left_projection, b.linear_a_p)
        lin(a.left_gate, b.linear_a_g)
        lin(a.right_projection, b.linear_b_p)
        lin(a.right_gate, b.linear_b_g)
        lin(a.output_projection, b.linear_z)
        lin(a.gating_linear, b.linear_g)

    for a, b in zip(ported.blocks, original.blocks):
        ln(a.row.query_norm, b.row.norm_m)
        ln(a.row.feat_2d_norm, b.row.norm_z)
        a.row.feat_2d_weights.assign(n(b.row.linear_z.weight).T)
        att(a.row.attention, b.row.mha)
        ln(a.col.query_norm, b.col.norm_m)
        att(a.col.attention, b.col.mha)
        trans(a.msa_transition, b.trans_m)
        trans(a.pair_transition, b.trans_z)
        o, p = a.outer_product_mean, b.opm
        ln(o.norm, p.norm)
        lin(o.left, p.linear_1)
        lin(o.right, p.linear_2)
        o.output_w.assign(n(p.linear_out.weight).T.reshape(5, 5, -1))
        o.output_b.assign(n(p.linear_out.bias))
        tri(a.outgoing, b.tri_out)
        tri(a.incoming, b.tri_in)
    lin(ported.single_activations, original.linear)
