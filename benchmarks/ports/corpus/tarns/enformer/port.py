"""Enformer in TensorFlow: functions over a dictionary of raw variables, channels last."""
import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
LENGTH, STEM, DIM, HEADS, KEY, VALUE, BASIS, TARGET, TRACKS = 32, 8, 12, 2, 4, 6, 3, 4, 5


def gelu(x):
    return tf.sigmoid(1.702 * x) * x


def batch_norm(p, name, x):
    return tf.nn.batch_normalization(x, p[name + "/mean"], p[name + "/var"], p[name + "/beta"], p[name + "/gamma"], 1e-5)


def layer_norm(p, name, x):
    mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, var, p[name + "/beta"], p[name + "/gamma"], 1e-5)


def conv(p, name, x):
    return tf.nn.conv1d(x, p[name + "/w"], stride=1, padding="SAME") + p[name + "/b"]


def linear(p, name, x):
    y = tf.tensordot(x, p[name + "/w"], 1)
    return y + p[name + "/b"] if name + "/b" in p else y


def conv_block(p, name, x):
    return conv(p, name + "/conv", gelu(batch_norm(p, name + "/bn", x)))


def softmax_pool(p, name, x):
    b, n, c = x.shape
    x = tf.reshape(x, [-1, n // 2, 2, c])
    weights = tf.nn.softmax(tf.tensordot(x, p[name], 1), axis=2)
    return tf.reduce_sum(x * weights, axis=2)


def position_features(n):
    pos = tf.range(-n + 1, n, dtype=tf.float32)
    dist = tf.abs(pos)[:, None]
    half_life = tf.pow(2.0, tf.linspace(1.0, math.log2(n), BASIS))
    decay = tf.exp(-math.log(2.0) * dist / half_life)
    widths = tf.pow(2.0, tf.range(1, BASIS + 1, dtype=tf.float32)) - 1.0
    central = tf.cast(dist < widths, tf.float32)
    feats = tf.concat([decay, central], axis=-1)
    return tf.concat([feats, tf.sign(pos)[:, None] * feats], axis=-1)


def attention(p, x):
    n = x.shape[1]

    def heads(name):
        y = linear(p, name, x)
        return tf.transpose(tf.reshape(y, [-1, n, HEADS, y.shape[-1] // HEADS]), [0, 2, 1, 3])

    q, k, v = heads("attn/q"), heads("attn/k"), heads("attn/v")
    q = q / math.sqrt(KEY)
    content = tf.matmul(q + p["attn/content_bias"][None, :, None], k, transpose_b=True)
    r = tf.reshape(linear(p, "attn/rel_k", position_features(n)), [2 * n - 1, HEADS, KEY])
    rel = tf.einsum("bhid,jhd->bhij", q + p["attn/pos_bias"][None, :, None], r)
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    index = tf.constant(j - i + n - 1)
    index = tf.broadcast_to(index, tf.shape(content))
    rel = tf.gather(rel, index, batch_dims=3)
    weights = tf.nn.softmax(content + rel)
    y = tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3])
    return linear(p, "attn/out", tf.reshape(y, [-1, n, HEADS * VALUE]))


def enformer(p, seq):
    x = conv(p, "stem/conv", seq)
    x = x + conv_block(p, "stem/res", x)
    x = softmax_pool(p, "stem/pool", x)
    x = conv_block(p, "tower", x)
    x = x + conv_block(p, "tower/res", x)
    x = softmax_pool(p, "tower/pool", x)
    x = x + attention(p, layer_norm(p, "ln1", x))
    h = layer_norm(p, "ln2", x)
    h = tf.nn.relu(linear(p, "ff/up", h))
    x = x + linear(p, "ff/down", h)
    start = (x.shape[1] - TARGET) // 2
    x = x[:, start:start + TARGET]
    x = gelu(linear(p, "final", x))
    return tf.nn.softplus(linear(p, "head", x))


def init(seed):
    rs = np.random.RandomState(seed)
    p = {}

    def add(name, shape, base=0.0, scale=0.3):
        p[name] = tf.Variable((base + scale * rs.randn(*shape)).astype("float32"), name=name)

    def norm(name, dim, stats):
        add(name + "/gamma", [dim], 1.0)
        add(name + "/beta", [dim])
        if stats:
            add(name + "/mean", [dim])
            p[name + "/var"] = tf.Variable((0.5 + rs.rand(dim)).astype("float32"), name=name + "/var")

    def lin(name, a, b, bias=True):
        add(name + "/w", [a, b])
        if bias:
            add(name + "/b", [b])

    def block(name, a, b, k):
        norm(name + "/bn", a, True)
        add(name + "/conv/w", [k, a, b])
        add(name + "/conv/b", [b])

    add("stem/conv/w", [5, 4, STEM])
    add("stem/conv/b", [STEM])
    block("stem/res", STEM, STEM, 1)
    add("stem/pool", [STEM, STEM])
    block("tower", STEM, DIM, 5)
    block("tower/res", DIM, DIM, 1)
    add("tower/pool", [DIM, DIM])
    norm("ln1", DIM, False)
    norm("ln2", DIM, False)
    lin("attn/q", DIM, HEADS * KEY, False)
    lin("attn/k", DIM, HEADS * KEY, False)
    lin("attn/v", DIM, HEADS * VALUE, False)
    lin("attn/rel_k", 4 * BASIS, HEADS * KEY, False)
    lin("attn/out", HEADS * VALUE, DIM)
    add("attn/content_bias", [HEADS, KEY])
    add("attn/pos_bias", [HEADS, KEY])
    lin("ff/up", DIM, 2 * DIM)
    lin("ff/down", 2 * DIM, DIM)
    lin("final", DIM, 2 * DIM)
    lin("head", 2 * DIM, TRACKS)
    return p


class Model:
    def __init__(self, seed):
        self.params = init(seed)

    def __call__(self, seq):
        return enformer(self.params, seq)


def make():
    return Model(18)


def inputs(seed):
    rs = np.random.RandomState(seed)
    return (np.eye(4, dtype="float32")[rs.randint(0, 4, (4, LENGTH))],)


def load(ported, original):
    p = ported.params

    def put(name, t):
        p[name].assign(t.detach().numpy())

    def lin(name, m):
        put(name + "/w", m.weight.T)
        if m.bias is not None:
            put(name + "/b", m.bias)

    def cv(name, m):
        put(name + "/w", m.weight.permute(2, 1, 0))
        put(name + "/b", m.bias)

    def norm(name, m):
        put(name + "/gamma", m.weight)
        put(name + "/beta", m.bias)
        if hasattr(m, "running_mean"):
            put(name + "/mean", m.running_mean)
            put(name + "/var", m.running_var)

    def block(name, m):
        norm(name + "/bn", m[0])
        cv(name + "/conv", m[2])

    cv("stem/conv", original.stem[0])
    block("stem/res", original.stem[1].fn)
    put("stem/pool", original.stem[2].to_logits.weight[:, :, 0, 0].T)
    block("tower", original.tower[0])
    block("tower/res", original.tower[1].fn)
    put("tower/pool", original.tower[2].to_logits.weight[:, :, 0, 0].T)
    ln1, attn = original.transformer[0].fn
    norm("ln1", ln1)
    for name, m in (("q", attn.to_q), ("k", attn.to_k), ("v", attn.to_v), ("rel_k", attn.to_rel_k), ("out", attn.to_out)):
        lin("attn/" + name, m)
    put("attn/content_bias", attn.rel_content_bias[0, :, 0])
    put("attn/pos_bias", attn.rel_pos_bias[0, :, 0])
    ff = original.transformer[1].fn
    norm("ln2", ff[0])
    lin("ff/up", ff[1])
    lin("ff/down", ff[3])
    lin("final", original.final[0])
    lin("head", original.head[0])
