"""DLRM as a tf.Module: one fused embedding table, plain variables."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
CARD = (11, 23, 7, 40, 5)
D = 12


class FC(tf.Module):
    def __init__(self, n_in, n_out, relu=True, name=None):
        super().__init__(name=name)
        self.w = tf.Variable(tf.random.normal([n_in, n_out], stddev=n_in ** -0.5), name="w")
        self.b = tf.Variable(tf.random.normal([n_out], stddev=0.1), name="b")
        self.relu = relu

    def __call__(self, x):
        y = tf.linalg.matmul(x, self.w) + self.b
        return tf.nn.relu(y) if self.relu else y


class FusedEmbedding(tf.Module):
    """All categorical features in one table; id 0 of each feature means 'nothing'."""

    def __init__(self, card, dim):
        super().__init__()
        self.table = tf.Variable(tf.random.normal([sum(card), dim], stddev=0.3), name="table")
        self.offset = tf.constant(np.cumsum((0,) + card[:-1]), tf.int64)

    def __call__(self, ids):
        rows = tf.gather(self.table, ids + self.offset[None, :, None])
        present = tf.cast(tf.not_equal(ids, 0), tf.float32)[..., None]
        total = tf.reduce_sum(rows * present, axis=2)
        n = tf.reduce_sum(present, axis=2)
        return total / tf.maximum(n, 1.0)


class Dlrm(tf.Module):
    def __init__(self):
        super().__init__()
        self.emb = FusedEmbedding(CARD, D)
        self.bot = [FC(8, 24), FC(24, D)]
        nf = len(CARD) + 1
        self.top = [FC(D + nf * (nf - 1) // 2, 20), FC(20, 10), FC(10, 1, relu=False)]
        self.tri = np.array([(i, j) for i in range(nf) for j in range(i)])

    def __call__(self, counts, ids):
        x = tf.math.log1p(counts)
        for layer in self.bot:
            x = layer(x)
        feats = tf.concat([x[:, None, :], self.emb(ids)], axis=1)
        dots = tf.einsum("bfd,bgd->fgb", feats, feats)
        inter = tf.transpose(tf.gather_nd(dots, self.tri))
        y = tf.concat([x, inter], axis=1)
        for layer in self.top:
            y = layer(y)
        return tf.sigmoid(tf.squeeze(y, -1))


def make(seed=91):
    tf.random.set_seed(seed)
    return Dlrm()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    counts = np.floor(r.exponential(6.0, (8, 8))).astype(np.float32)
    ids = np.zeros((8, 5, 4), np.int64)
    for b in range(8):
        for t in range(5):
            k = r.integers(1, 5)
            ids[b, t, :k] = r.integers(1, CARD[t], k)
    return counts, ids


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}
    ported.emb.table.assign(np.concatenate([sd[f"bags.{i}.weight"] for i in range(len(CARD))]))

    def fill(fc, key):
        fc.w.assign(sd[key + ".weight"].T)
        fc.b.assign(sd[key + ".bias"])

    fill(ported.bot[0], "bottom.0")
    fill(ported.bot[1], "bottom.2")
    fill(ported.top[0], "top.0")
    fill(ported.top[1], "top.2")
    fill(ported.top[2], "head")
