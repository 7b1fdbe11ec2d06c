"""R-GCN in plain TensorFlow, parameters in a dict."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
N, R, FIN, H, BASES, BLOCKS = 6, 3, 5, 8, 2, 4


def row_normalise(adj):
    degree = tf.reduce_sum(adj, axis=-1, keepdims=True)
    return adj / tf.maximum(degree, 1.0)


def basis_layer(p, x, a):
    w = tf.tensordot(p["comp"], p["bases"], axes=1)             # r, in, out
    xw = tf.einsum("bjf,rfo->brjo", x, w)
    out = tf.reduce_sum(tf.matmul(a, xw), axis=1)
    return out + tf.matmul(x, p["root_w"]) + p["root_b"]


def block_layer(p, x, a):
    n = x.shape[1]
    xb = tf.reshape(x, (-1, n, BLOCKS, H // BLOCKS))
    msg = tf.einsum("brij,bjkf->brikf", a, xb)
    out = tf.einsum("brikf,rkfo->biko", msg, p["weight"])
    out = tf.reshape(out, (-1, n, H))
    return out + tf.matmul(x, p["root_w"]) + p["root_b"]


def layer_norm(x, gamma, beta, eps=1e-5):
    mu = tf.reduce_mean(x, axis=-1, keepdims=True)
    var = tf.reduce_mean(tf.square(x - mu), axis=-1, keepdims=True)
    return (x - mu) / tf.sqrt(var + eps) * gamma + beta


class RGCN:
    def __init__(self, seed=2):
        rng = np.random.RandomState(seed)
        v = lambda name, *s: tf.Variable(rng.randn(*s).astype("float32") * 0.35, name=name)
        self.params = {
            "l1": {"bases": v("bases", BASES, FIN, H), "comp": v("comp", R, BASES),
                   "root_w": v("root_w", FIN, H), "root_b": v("root_b", H)},
            "gamma": tf.Variable(1 + 0.3 * rng.randn(H).astype("float32"), name="gamma"), "beta": v("beta", H),
            "l2": {"weight": v("weight", R, BLOCKS, H // BLOCKS, H // BLOCKS),
                   "root_w": v("root_w2", H, H), "root_b": v("root_b2", H)},
            "relation": v("relation", R, H)}

    def __call__(self, x, adj):
        p = self.params
        a = row_normalise(adj)
        h = basis_layer(p["l1"], x, a)
        h = tf.nn.relu(layer_norm(h, p["gamma"], p["beta"]))
        h = block_layer(p["l2"], h, a)
        left = h[:, None] * p["relation"][None, :, None]         # b, r, n, d
        scores = tf.matmul(left, h[:, None], transpose_b=True)
        return h, tf.sigmoid(scores)


def make():
    return RGCN()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(4, N, FIN).astype("float32"),
            (r.rand(4, R, N, N) < 0.4).astype("float32"))


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}
    p = ported.params
    p["l1"]["bases"].assign(sd["layer1.bases"])
    p["l1"]["comp"].assign(sd["layer1.comp"])
    p["l2"]["weight"].assign(sd["layer2.weight"])
    for a, b in (("l1", "layer1"), ("l2", "layer2")):
        p[a]["root_w"].assign(sd[b + ".root.weight"].T)
        p[a]["root_b"].assign(sd[b + ".root.bias"])
    p["gamma"].assign(sd["norm.weight"])
    p["beta"].assign(sd["norm.bias"])
    p["relation"].assign(sd["relation"])
