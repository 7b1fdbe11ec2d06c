"""Decima in TensorFlow: functions over a dict of variables."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
N, J, S, FD, E, LIM = 8, 3, 3, 5, 8, 4
SIZES = {"prep": (FD, 12, E), "proc": (E, 12, E), "agg": (E, 12, E), "dag": (FD + E, 12, E),
         "glob": (E, 12, E), "node": (FD + 3 * E, 16, 1), "limit": (2 * E + 1, 16, 1)}


def init(seed):
    r = np.random.default_rng(seed)
    v = lambda a, n: tf.Variable(a.astype("float32"), name=n)
    p = {}
    for k, (i, h, o) in SIZES.items():
        p[k] = {"w1": v(r.normal(size=(i, h)) / np.sqrt(i), k + "_w1"), "b1": v(0.2 * r.normal(size=h), k + "_b1"),
                "w2": v(r.normal(size=(h, o)) / np.sqrt(h), k + "_w2"), "b2": v(0.2 * r.normal(size=o), k + "_b2")}
    return p


def ff(p, x):
    h = tf.nn.leaky_relu(tf.einsum("...i,ih->...h", x, p["w1"]) + p["b1"], alpha=0.2)
    return tf.einsum("...h,ho->...o", h, p["w2"]) + p["b2"]


def embed(p, x, children, levels):
    h = ff(p["prep"], x)
    for mask in tf.unstack(levels, axis=1):
        inbox = tf.einsum("bpc,bce->bpe", children, ff(p["proc"], h))
        h += mask[..., tf.newaxis] * ff(p["agg"], inbox)
    return h


def node_probs(p, x, h, dag, glob, member, ready):
    own = tf.einsum("bjn,bje->bne", member, dag)
    everywhere = tf.repeat(glob[:, tf.newaxis], N, axis=1)
    logits = ff(p["node"], tf.concat([x, h, own, everywhere], -1))[..., 0]
    logits -= 1e5 * (1.0 - ready)
    return tf.nn.softmax(logits)


def limit_probs(p, dag, glob):
    job = tf.concat([dag, tf.repeat(glob[:, tf.newaxis], J, axis=1)], -1)
    job = tf.repeat(job[:, :, tf.newaxis], LIM, axis=2)
    frac = tf.range(LIM, dtype=tf.float32) / LIM
    frac = tf.broadcast_to(frac[:, tf.newaxis], tf.concat([tf.shape(job)[:3], [1]], 0))
    logits = ff(p["limit"], tf.concat([job, frac], -1))[..., 0]
    return tf.nn.softmax(logits, axis=-1)


class Decima(tf.Module):
    def __init__(self, seed=72):
        super().__init__()
        self.p = init(seed)

    def __call__(self, x, children, levels, member, ready):
        p = self.p
        h = embed(p, x, children, levels)
        summary = ff(p["dag"], tf.concat([x, h], axis=-1))
        dag = tf.einsum("bjn,bne->bje", member, summary)
        glob = tf.reduce_sum(ff(p["glob"], dag), axis=1)
        return node_probs(p, x, h, dag, glob, member, ready), limit_probs(p, dag, glob), glob


def make():
    return Decima()


def inputs(seed):
    r = np.random.default_rng(seed)
    b = 4
    x = r.normal(size=(b, N, FD))
    job = np.sort(r.integers(0, J, (b, N)), axis=1)
    adj = np.triu(r.random((b, N, N)) < 0.6, 1) & (job[:, :, None] == job[:, None, :])
    lev = np.zeros((b, N), int)
    for i in range(b):
        for n in range(N - 1, -1, -1):
            k = np.where(adj[i, n])[0]
            lev[i, n] = 0 if not len(k) else 1 + lev[i, k].max()
    masks = np.stack([(lev == s + 1) for s in range(S)], 1)
    job_of = np.stack([(job == j) for j in range(J)], 1)
    ready = r.random((b, N)) < 0.6
    ready[:, 0] = True
    f = lambda a: a.astype("float32")
    return f(x), f(adj), f(masks), f(job_of), f(ready)


def load(ported, original):
    o = original
    src = {"prep": o.gcn.prep, "proc": o.gcn.proc, "agg": o.gcn.agg, "dag": o.dag, "glob": o.glob,
           "node": o.node_policy, "limit": o.limit_policy}
    for k, t in src.items():
        p = ported.p[k]
        for i, l in (("1", t[0]), ("2", t[2])):
            p["w" + i].assign(l.weight.detach().numpy().T)
            p["b" + i].assign(l.bias.detach().numpy())
