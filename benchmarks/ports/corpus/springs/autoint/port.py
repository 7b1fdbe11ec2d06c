"""AutoInt in TensorFlow, functional with a dict of variables."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
FIELDS = [5, 7, 4, 6]
DENSE, D, ATT, HEADS, LAYERS = 3, 6, 4, 2, 2
OFFSETS = np.concatenate([[0], np.cumsum(FIELDS)[:-1]]).astype("int64")


def init_params(seed):
    r = np.random.RandomState(seed)
    n = len(FIELDS) + DENSE

    def w(*s):
        return tf.Variable(r.normal(0, 0.4, s).astype("float32"))

    p = {"emb": w(sum(FIELDS), D), "dense_emb": w(DENSE, D), "lin": w(sum(FIELDS), 1),
         "lin_w": w(DENSE, 1), "lin_b": w(1)}
    for i in range(LAYERS):
        d = D if i == 0 else ATT * HEADS
        for k in ("q", "k", "v", "res"):
            p["att%d_%s" % (i, k)] = w(d, ATT * HEADS)
    for i, (a, b) in enumerate(((n * D, 16), (16, 8))):
        p["fc%d_w" % i], p["fc%d_b" % i] = w(a, b), w(b)
        p["bn%d_g" % i], p["bn%d_b" % i], p["bn%d_m" % i] = w(b), w(b), w(b)
        p["bn%d_v" % i] = tf.Variable(r.uniform(0.6, 1.4, b).astype("float32"))
    p["out"] = w(n * ATT * HEADS + 8, 1)
    return p


def lookup(table, ids):
    return tf.gather(table, ids + OFFSETS)


def heads(x):
    n = x.shape[1]
    return tf.transpose(tf.reshape(x, [-1, n, HEADS, ATT]), [0, 2, 1, 3])


def interact(p, i, x):
    n = x.shape[1]
    q = heads(x @ p["att%d_q" % i])
    k = heads(x @ p["att%d_k" % i])
    v = heads(x @ p["att%d_v" % i])
    a = tf.nn.softmax(tf.matmul(q, k, transpose_b=True))
    o = tf.transpose(tf.matmul(a, v), [0, 2, 1, 3])
    o = tf.reshape(o, [-1, n, HEADS * ATT])
    return tf.nn.relu(o + x @ p["att%d_res" % i])


def batch_norm(p, i, x):
    return tf.nn.batch_normalization(x, p["bn%d_m" % i], p["bn%d_v" % i],
                                     p["bn%d_b" % i], p["bn%d_g" % i], 1e-5)


def forward(p, ids, dense):
    x = tf.concat([lookup(p["emb"], ids), dense[:, :, None] * p["dense_emb"]], 1)
    logit = tf.reduce_sum(lookup(p["lin"], ids), 1) + dense @ p["lin_w"] + p["lin_b"]
    n = x.shape[1]
    h = x
    for i in range(LAYERS):
        h = interact(p, i, h)
    deep = tf.reshape(x, [-1, n * D])
    for i in range(2):
        deep = deep @ p["fc%d_w" % i] + p["fc%d_b" % i]
        deep = tf.nn.relu(batch_norm(p, i, deep))
    logit += tf.concat([tf.reshape(h, [-1, n * HEADS * ATT]), deep], -1) @ p["out"]
    return tf.sigmoid(logit), h


class AutoInt(tf.Module):
    def __init__(self, seed):
        super().__init__()
        self.p = init_params(seed)

    def __call__(self, ids, dense):
        return forward(self.p, ids, dense)


def make():
    return AutoInt(4)


def inputs(seed):
    r = np.random.RandomState(seed)
    ids = np.stack([r.randint(0, f, 8) for f in FIELDS], 1).astype("int64")
    return ids, r.randn(8, DENSE).astype("float32")


def load(ported, original):
    p, s = ported.p, {k: v.numpy() for k, v in original.state_dict().items()}
    p["emb"].assign(s["embedding.table.weight"])
    p["dense_emb"].assign(s["dense_embedding"])
    p["lin"].assign(s["linear.table.weight"])
    p["lin_w"].assign(s["linear_dense.weight"].T)
    p["lin_b"].assign(s["linear_dense.bias"])
    for i in range(LAYERS):
        for k, t in (("q", "Query"), ("k", "Key"), ("v", "Value"), ("res", "Res")):
            p["att%d_%s" % (i, k)].assign(s["interact.%d.W_%s" % (i, t)])
    for i in range(2):
        p["fc%d_w" % i].assign(s["mlp.%d.weight" % (3 * i)].T)
        p["fc%d_b" % i].assign(s["mlp.%d.bias" % (3 * i)])
        for k, t in (("g", "weight"), ("b", "bias"), ("m", "running_mean"), ("v", "running_var")):
            p["bn%d_%s" % (i, k)].assign(s["mlp.%d.%s" % (3 * i + 1, t)])
    p["out"].assign(s["out.weight"].T)
