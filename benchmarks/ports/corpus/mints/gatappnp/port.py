"""GATv2 + APPNP with raw TensorFlow variables, functional."""
import functools

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
HEADS, HIDDEN, STEPS, TELEPORT = 2, 4, 4, 0.15


def init_params(seed):
    rng = np.random.default_rng(seed)
    shapes = {
        "gat/source/w": (6, HEADS * HIDDEN), "gat/source/b": (HEADS * HIDDEN,),
        "gat/target/w": (6, HEADS * HIDDEN), "gat/target/b": (HEADS * HIDDEN,),
        "gat/att": (HEADS, HIDDEN), "gat/bias": (HEADS * HIDDEN,),
        "mlp/0/w": (8, 8), "mlp/0/b": (8,), "mlp/1/w": (8, 5), "mlp/1/b": (5,),
    }
    return {k: tf.Variable(rng.normal(size=s).astype("float32") * 0.4, name=k) for k, s in shapes.items()}


def dense(p, name, x):
    return tf.tensordot(x, p[name + "/w"], 1) + p[name + "/b"]


def split_heads(x):
    return tf.transpose(tf.reshape(x, (*x.shape[:2], HEADS, HIDDEN)), (0, 2, 1, 3))


def gat(p, x, edges):
    source = split_heads(dense(p, "gat/source", x))
    target = split_heads(dense(p, "gat/target", x))
    pair = tf.nn.leaky_relu(target[:, :, :, None] + source[:, :, None], alpha=0.2)
    logits = tf.einsum("bhtsf,hf->bhts", pair, p["gat/att"])
    logits += -1e9 * (1.0 - tf.minimum(edges, 1.0))[:, None]
    weights = tf.nn.softmax(logits, axis=-1)
    out = tf.matmul(weights, source)
    out = tf.reshape(tf.transpose(out, (0, 2, 1, 3)), (*x.shape[:2], HEADS * HIDDEN))
    return out + p["gat/bias"]


def propagation_matrix(edges):
    inv_sqrt = tf.math.rsqrt(tf.reduce_sum(edges, -1))
    return edges * inv_sqrt[:, :, None] * inv_sqrt[:, None, :]


def forward(p, x, adj):
    edges = adj + tf.eye(adj.shape[-1])
    h = tf.nn.elu(gat(p, x, edges))
    h = dense(p, "mlp/1", tf.nn.relu(dense(p, "mlp/0", h)))
    matrix = propagation_matrix(edges)
    z = h
    for _ in range(STEPS):
        z = (1.0 - TELEPORT) * tf.matmul(matrix, z) + TELEPORT * h
    return tf.nn.log_softmax(z)


def make():
    return functools.partial(forward, init_params(3))


def inputs(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4, 7, 6)).astype("float32")
    upper = np.triu(rng.uniform(size=(4, 7, 7)) < 0.4, 1)
    ring = np.roll(np.eye(7), 1, axis=1) > 0
    adj = upper | upper.transpose(0, 2, 1) | ring | ring.T
    return x, adj.astype("float32")


def load(ported, original):
    p = ported.args[0]
    names = {"gat/source": original.gat.lin_l, "gat/target": original.gat.lin_r,
             "mlp/0": original.lin1, "mlp/1": original.lin2}
    for name, layer in names.items():
        p[name + "/w"].assign(layer.weight.detach().numpy().T)
        p[name + "/b"].assign(layer.bias.detach().numpy())
    p["gat/att"].assign(original.gat.att.detach().numpy())
    p["gat/bias"].assign(original.gat.bias.detach().numpy())
