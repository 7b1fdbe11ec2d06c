"""Graph attention network (Velickovic et al. 2018) for graph classification, padded batches."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
FEATURES, HIDDEN, HEADS, CLASSES = 9, 6, 3, 4


def glorot(rng, *shape):
    return tf.Variable(rng.normal(size=shape) * np.sqrt(2 / (shape[-2] + shape[-1])), dtype=tf.float32)


def init_layer(rng, fan_in, fan_out):
    return {
        "kernel": glorot(rng, HEADS, fan_in, fan_out),
        "attn_self": glorot(rng, HEADS, fan_out, 1),
        "attn_neigh": glorot(rng, HEADS, fan_out, 1),
        "bias": tf.Variable(0.2 * rng.normal(size=(HEADS, fan_out)), dtype=tf.float32),
    }


def gat_layer(p, x, adj):
    """x [B, N, F], adj [B, N, N] with self loops -> [B, heads, N, F']"""
    h = tf.einsum("bnf,hfo->bhno", x, p["kernel"])
    score_self = tf.matmul(h, p["attn_self"])
    score_neigh = tf.matmul(h, p["attn_neigh"])
    scores = score_self + tf.transpose(score_neigh, [0, 1, 3, 2])
    scores = tf.nn.leaky_relu(scores, alpha=0.2)
    scores += (1. - adj[:, None]) * -1e9
    alpha = tf.nn.softmax(scores, axis=-1)
    return tf.matmul(alpha, h) + p["bias"][None, :, None, :]


def forward(params, x, adj, nodes):
    n = adj.shape[-1]
    adj = tf.maximum(adj, tf.eye(n)[None])
    h = gat_layer(params["layer1"], x, adj)
    h = tf.transpose(h, [0, 2, 1, 3])
    h = tf.nn.elu(tf.reshape(h, [-1, n, HEADS * HIDDEN]))
    h = tf.nn.elu(tf.reduce_mean(gat_layer(params["layer2"], h, adj), axis=1))
    mask = nodes[:, :, None]
    pooled = tf.reduce_sum(h * mask, axis=1) / tf.reduce_sum(mask, axis=1)
    return tf.nn.log_softmax(tf.matmul(pooled, params["out_w"]) + params["out_b"])


def make(seed=0):
    rng = np.random.default_rng(seed)
    params = {
        "layer1": init_layer(rng, FEATURES, HIDDEN),
        "layer2": init_layer(rng, HEADS * HIDDEN, HIDDEN),
        "out_w": glorot(rng, HIDDEN, CLASSES),
        "out_b": tf.Variable(0.2 * rng.normal(size=CLASSES), dtype=tf.float32),
    }

    def gat(x, adj, nodes):
        return forward(params, x, adj, nodes)

    gat.params = params
    return gat


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    n = 10
    sizes = rng.integers(5, n + 1, size=6)
    nodes = (np.arange(n) < sizes[:, None]).astype("float32")
    x = rng.normal(size=(6, n, FEATURES)).astype("float32") * nodes[:, :, None]
    adj = np.triu(rng.random((6, n, n)) < 0.35, 1)
    ring = np.roll(np.eye(n, dtype=bool), 1, axis=1)
    adj = (adj | adj.transpose(0, 2, 1) | ring | ring.T).astype("float32")
    return x, (adj * nodes[:, :, None] * nodes[:, None, :]).astype("float32"), nodes
