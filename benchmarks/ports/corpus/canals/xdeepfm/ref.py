"""xDeepFM click model: linear part, compressed interaction network and a deep part."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
CARDINALITY = (30, 12, 7, 50, 5, 20)   # categorical fields
N_NUM = 3                              # numeric fields, one embedding each, scaled by the value
DIM = 8
FIELDS = len(CARDINALITY) + N_NUM


class CIN(tf.Module):
    """Layer sizes after which half of the maps go to the output, half to the next layer."""

    def __init__(self, sizes, g, name=None):
        super().__init__(name)
        self.sizes = sizes
        self.kernels, self.biases = [], []
        width = FIELDS
        for n in sizes:
            self.kernels.append(tf.Variable(g.normal(0, (width * FIELDS) ** -0.5, (width * FIELDS, n)).astype("float32")))
            self.biases.append(tf.Variable(g.normal(0, 0.1, n).astype("float32")))
            width = n // 2

    def __call__(self, x0):
        batch = x0.shape[0]
        hidden, direct = x0, []
        for i, n in enumerate(self.sizes):
            outer = tf.einsum("bhd,bmd->bdhm", hidden, x0)
            outer = tf.reshape(outer, (batch, DIM, -1))
            maps = tf.nn.relu(tf.matmul(outer, self.kernels[i]) + self.biases[i])
            maps = tf.transpose(maps, (0, 2, 1))
            if i < len(self.sizes) - 1:
                hidden, out = tf.split(maps, 2, axis=1)
            else:
                out = maps
            direct.append(out)
        return tf.reduce_sum(tf.concat(direct, axis=1), axis=-1)


class Deep(tf.Module):
    def __init__(self, n_in, widths, g, name=None):
        super().__init__(name)
        self.layers = []
        for n in widths:
            p = {"w": g.normal(0, n_in ** -0.5, (n_in, n)), "b": g.normal(0, 0.2, n),
                 "gamma": g.uniform(0.7, 1.3, n), "beta": g.normal(0, 0.2, n)}
            layer = {k: tf.Variable(v.astype("float32")) for k, v in p.items()}
            layer["mean"] = tf.Variable(g.normal(0, 0.3, n).astype("float32"), trainable=False)
            layer["var"] = tf.Variable(g.uniform(0.4, 1.6, n).astype("float32"), trainable=False)
            self.layers.append(layer)
            n_in = n

    def __call__(self, x):
        for l in self.layers:
            x = tf.matmul(x, l["w"]) + l["b"]
            x = tf.nn.batch_normalization(x, l["mean"], l["var"], l["beta"], l["gamma"], 1e-3)
            x = tf.nn.relu(x)
        return x


class XDeepFM(tf.Module):
    def __init__(self, seed=50):
        super().__init__()
        g = np.random.default_rng(seed)
        total = sum(CARDINALITY)
        self.offsets = tf.constant(np.concatenate([[0], np.cumsum(CARDINALITY)[:-1]]), tf.int32)
        self.embed = tf.Variable(g.normal(0, 0.8, (total, DIM)).astype("float32"))
        self.first = tf.Variable(g.normal(0, 0.4, (total, 1)).astype("float32"))
        self.num_embed = tf.Variable(g.normal(0, 0.8, (N_NUM, DIM)).astype("float32"))
        self.num_first = tf.Variable(g.normal(0, 0.4, (N_NUM, 1)).astype("float32"))
        self.cin = CIN((12, 10, 6), g)
        self.deep = Deep(FIELDS * DIM, (32, 16), g)
        n_out = 6 + 5 + 6 + 16
        self.w_out = tf.Variable(g.normal(0, 1.5 * n_out ** -0.5, (n_out, 1)).astype("float32"))
        self.bias = tf.Variable(np.float32([-0.3]))

    def __call__(self, ids, values):
        rows = ids + self.offsets
        cat = tf.gather(self.embed, rows)
        num = values[:, :, None] * self.num_embed
        x0 = tf.concat([cat, num], axis=1)

        linear = tf.reduce_sum(tf.gather(self.first, rows), axis=1) + tf.matmul(values, self.num_first)
        cross = self.cin(x0)
        deep = self.deep(tf.reshape(x0, (x0.shape[0], -1)))
        logit = linear + tf.matmul(tf.concat([cross, deep], axis=1), self.w_out) + self.bias
        return tf.squeeze(tf.sigmoid(logit), -1)


def make():
    return XDeepFM()


def inputs(seed=0):
    g = np.random.default_rng(seed)
    ids = np.stack([g.integers(0, c, 8) for c in CARDINALITY], axis=1).astype("int32")
    return ids, np.log1p(g.exponential(2.0, (8, N_NUM))).astype("float32")
