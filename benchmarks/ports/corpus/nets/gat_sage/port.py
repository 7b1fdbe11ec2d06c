"""Vectorised TensorFlow version of the graph network (scatter by segment sums)."""
import os
import sys

import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gat_segment_ops import segment_mean, segment_softmax  # noqa: E402

FRAMEWORK = "tensorflow"

HEADS, DIM = 3, 4


def variable(*shape):
    return tf.Variable(tf.random.stateless_normal(shape, seed=(1, len(shape))))


class GATv2(tf.Module):
    def __init__(self, fin):
        super().__init__()
        self.w_src = variable(fin, HEADS * DIM)
        self.w_dst = variable(fin, HEADS * DIM)
        self.w_edge = variable(3, HEADS * DIM)
        self.att = variable(HEADS, DIM)
        self.bias = variable(HEADS * DIM)

    def __call__(self, x, src, dst, edge_attr):
        n = tf.shape(x)[0]
        left = tf.reshape(x @ self.w_src, (-1, HEADS, DIM))
        right = tf.reshape(x @ self.w_dst, (-1, HEADS, DIM))
        edge = tf.reshape(edge_attr @ self.w_edge, (-1, HEADS, DIM))
        message = tf.gather(left, src)
        act = tf.nn.leaky_relu(message + tf.gather(right, dst) + edge, alpha=0.1)
        score = tf.einsum("ehd,hd->eh", act, self.att)
        alpha = segment_softmax(score, dst, n)
        out = tf.math.unsorted_segment_sum(alpha[..., None] * message, dst, n)
        return tf.reshape(out, (-1, HEADS * DIM)) + self.bias


class GraphNorm(tf.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.gamma, self.beta, self.shift = variable(dim), variable(dim), variable(dim)
        self.eps = eps

    def __call__(self, x, graph, n_graphs):
        mean = tf.gather(segment_mean(x, graph, n_graphs), graph)
        h = x - self.shift * mean
        var = tf.gather(segment_mean(h * h, graph, n_graphs), graph)
        return self.gamma * h * tf.math.rsqrt(var + self.eps) + self.beta


class GraphNet(tf.Module):
    def __init__(self):
        super().__init__()
        self.gat1, self.norm1 = GATv2(6), GraphNorm(HEADS * DIM)
        self.gat2, self.norm2 = GATv2(HEADS * DIM), GraphNorm(HEADS * DIM)
        self.sage = {"w_self": variable(12, 8), "w_neigh": variable(12, 8), "bias": variable(8)}
        self.mlp = {"w1": variable(16, 10), "b1": variable(10), "w2": variable(10, 2), "b2": variable(2)}

    @tf.function(reduce_retracing=True)
    def __call__(self, x, edge_index, edge_attr, graph_id):
        src, dst = edge_index[0], edge_index[1]
        n, n_graphs = tf.shape(x)[0], tf.reduce_max(graph_id) + 1
        h = x
        for layer, norm in ((self.gat1, self.norm1), (self.gat2, self.norm2)):
            h = tf.nn.elu(norm(layer(h, src, dst, edge_attr), graph_id, n_graphs))
        neigh = segment_mean(tf.gather(h, src), dst, n)
        h = h @ self.sage["w_self"] + neigh @ self.sage["w_neigh"] + self.sage["bias"]
        pooled = tf.concat([segment_mean(h, graph_id, n_graphs),
                            tf.math.unsorted_segment_max(h, graph_id, n_graphs)], axis=1)
        hidden = tf.nn.relu(pooled @ self.mlp["w1"] + self.mlp["b1"])
        return {"node": h, "graph": hidden @ self.mlp["w2"] + self.mlp["b2"]}


def make():
    return GraphNet()


def load(port_model, ref_model):
    p = ref_model.params
    for name in ("gat1", "gat2"):
        for key in ("w_src", "w_dst", "w_edge", "att", "bias"):
            getattr(getattr(port_model, name), key).assign(p[name][key])
    for name in ("norm1", "norm2"):
        for key in ("gamma", "beta", "shift"):
            getattr(getattr(port_model, name), key).assign(p[name][key])
    for key, value in p["sage"].items():
        port_model.sage[key].assign(value)
    for key, value in p["mlp"].items():
        port_model.mlp[key].assign(value)
    return port_model
