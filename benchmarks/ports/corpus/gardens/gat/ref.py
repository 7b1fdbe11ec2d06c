"""Graph attention network (Velickovic et al. 2018), graph classification, Keras subclassing."""
import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
NODES, FEATS, CLASSES = 10, 7, 5


class GraphAttention(keras.layers.Layer):
    def __init__(self, heads, units, merge="concat", **kw):
        super().__init__(**kw)
        self.heads, self.units, self.merge = heads, units, merge

    def build(self, shape):
        f = shape[-1]
        h, u = self.heads, self.units
        self.w = self.add_weight(shape=(f, h, u), initializer="glorot_uniform", name="w")
        self.a_self = self.add_weight(shape=(h, u), initializer="glorot_uniform", name="a_self")
        self.a_neigh = self.add_weight(shape=(h, u), initializer="glorot_uniform", name="a_neigh")
        out = h * u if self.merge == "concat" else u
        self.b = self.add_weight(shape=(out,), initializer="zeros", name="b")

    def call(self, x, adj):
        wh = tf.einsum("bnf,fhu->bnhu", x, self.w)
        s = tf.reduce_sum(wh * self.a_self, -1)
        t = tf.reduce_sum(wh * self.a_neigh, -1)
        # score of edge j -> i lives at [b, h, i, j]
        e = tf.transpose(s, [0, 2, 1])[..., :, None] + tf.transpose(t, [0, 2, 1])[..., None, :]
        e = tf.nn.leaky_relu(e, alpha=0.2)
        e = tf.where(adj[:, None] > 0, e, -1e9)
        alpha = tf.nn.softmax(e, axis=-1)
        out = tf.einsum("bhij,bjhu->bihu", alpha, wh)
        if self.merge == "concat":
            out = tf.reshape(out, [-1, x.shape[1], self.heads * self.units])
        else:
            out = tf.reduce_mean(out, axis=2)
        return out + self.b


class GAT(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = keras.layers.Dense(16, name="embed")
        self.gat1 = GraphAttention(4, 4, name="gat1")
        self.norm = keras.layers.LayerNormalization(epsilon=1e-5, name="norm")
        self.gat2 = GraphAttention(3, 16, merge="mean", name="gat2")
        self.hidden = keras.layers.Dense(12, activation="relu", name="hidden")
        self.out = keras.layers.Dense(CLASSES, name="out")

    def call(self, batch):
        x, adj, mask = batch
        adj = tf.minimum(adj + tf.eye(NODES)[None], 1.0)
        h = self.embed(x)
        h = tf.nn.elu(self.gat1(h, adj)) + h
        h = self.norm(h)
        h = tf.nn.elu(self.gat2(h, adj)) + h
        m = mask[..., None]
        mean = tf.reduce_sum(h * m, axis=1) / tf.reduce_sum(m, axis=1)
        peak = tf.reduce_max(tf.where(m > 0, h, -1e9), axis=1)
        return self.out(self.hidden(tf.concat([mean, peak], axis=-1)))


def make(seed=5):
    net = GAT()
    net([tf.constant(a) for a in inputs(0)])
    r = np.random.default_rng(seed)
    for v in net.weights:
        name = v.path.split("/")[-1]
        if name == "gamma":
            v.assign(r.uniform(0.6, 1.4, v.shape))
        elif len(v.shape) == 1:
            v.assign(r.normal(0, 0.2, v.shape))
        else:
            fan = v.shape[0] if "a_" not in name else 4
            v.assign(r.normal(0, 1.3 / np.sqrt(fan), v.shape))
    return net


def inputs(seed=0):
    r = np.random.default_rng(seed)
    n = np.array([10, 7, 8, 5, 9])
    mask = (np.arange(NODES)[None] < n[:, None]).astype("float32")
    adj = (r.random((5, NODES, NODES)) < 0.3).astype("float32")
    adj = adj * mask[:, :, None] * mask[:, None, :]
    adj[:, np.arange(NODES), np.arange(NODES)] = 0
    x = r.normal(size=(5, NODES, FEATS)).astype("float32") * mask[..., None]
    return x, adj, mask
