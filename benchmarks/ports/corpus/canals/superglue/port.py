# SuperGlue with tf.Module, features last
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"


class Dense(tf.Module):
    def __init__(self, d_in, d_out, name=None):
        super().__init__(name)
        self.w = tf.Variable(tf.random.normal((d_in, d_out), stddev=d_in ** -0.5))
        self.b = tf.Variable(tf.random.normal((d_out,), stddev=0.1))

    def __call__(self, x):
        return tf.linalg.matmul(x, self.w) + self.b


class BatchNorm(tf.Module):
    def __init__(self, d, name=None):
        super().__init__(name)
        self.gamma, self.beta = tf.Variable(tf.ones(d)), tf.Variable(tf.zeros(d))
        self.mean, self.var = tf.Variable(tf.zeros(d), trainable=False), tf.Variable(tf.ones(d), trainable=False)

    def __call__(self, x):
        return (x - self.mean) * tf.math.rsqrt(self.var + 1e-5) * self.gamma + self.beta


class MLP(tf.Module):
    def __init__(self, dims, name=None):
        super().__init__(name)
        self.dense = [Dense(a, b) for a, b in zip(dims[:-1], dims[1:])]
        self.bn = [BatchNorm(b) for b in dims[1:-1]]

    def __call__(self, x):
        for dense, bn in zip(self.dense, self.bn):
            x = tf.nn.relu(bn(dense(x)))
        return self.dense[-1](x)


class Attention(tf.Module):
    def __init__(self, dim, heads, name=None):
        super().__init__(name)
        self.heads, self.depth = heads, dim // heads
        self.q, self.k, self.v, self.merge = (Dense(dim, dim) for _ in range(4))

    def split(self, x):
        # the channel index runs over depth first, heads second
        return tf.reshape(x, (x.shape[0], x.shape[1], self.depth, self.heads))

    def __call__(self, x, src):
        q, k, v = self.split(self.q(x)), self.split(self.k(src)), self.split(self.v(src))
        logits = tf.einsum("bndh,bmdh->bhnm", q, k) * self.depth ** -0.5
        mixed = tf.einsum("bhnm,bmdh->bndh", tf.nn.softmax(logits, axis=-1), v)
        return self.merge(tf.reshape(mixed, x.shape))


class Layer(tf.Module):
    def __init__(self, dim, heads, cross, name=None):
        super().__init__(name)
        self.cross = cross
        self.attention, self.mlp = Attention(dim, heads), MLP((2 * dim, 2 * dim, dim))

    def delta(self, x, src):
        return self.mlp(tf.concat([x, self.attention(x, src)], axis=-1))

    def __call__(self, a, b):
        src_a, src_b = (b, a) if self.cross else (a, b)
        da, db = self.delta(a, src_a), self.delta(b, src_b)
        return a + da, b + db


def centre_points(points, size):
    longest = tf.reduce_max(size, axis=1)[:, None, None]
    return (points - size[:, None, :] * 0.5) / (0.7 * longest)


def sinkhorn(scores, dustbin, steps):
    b, m, n = scores.shape
    z = tf.pad(scores - dustbin, ((0, 0), (0, 1), (0, 1))) + dustbin
    norm = -np.log(m + n)
    log_a = tf.constant([norm] * m + [np.log(n) + norm], tf.float32)
    log_b = tf.constant([norm] * n + [np.log(m) + norm], tf.float32)
    f, g = tf.zeros((b, m + 1)), tf.zeros((b, n + 1))
    for _ in range(steps):
        f = log_a - tf.reduce_logsumexp(z + g[:, None, :], axis=2)
        g = log_b - tf.reduce_logsumexp(z + f[:, :, None], axis=1)
    return z + f[:, :, None] + g[:, None, :] - norm


class SuperGlue(tf.Module):
    def __init__(self, dim=32, heads=4, pairs=2, steps=6):
        super().__init__()
        self.steps = steps
        self.encoder = MLP((3, 12, 24, dim))
        self.layers = [Layer(dim, heads, cross=i % 2 == 1) for i in range(2 * pairs)]
        self.project = Dense(dim, dim)
        self.dustbin = tf.Variable(0.5)

    def encode(self, desc, points, conf, size):
        x = tf.concat([centre_points(points, size), conf[..., None]], axis=-1)
        return desc + self.encoder(x)

    def __call__(self, desc0, desc1, kpts0, kpts1, conf0, conf1, size):
        a = self.encode(desc0, kpts0, conf0, size)
        b = self.encode(desc1, kpts1, conf1, size)
        for layer in self.layers:
            a, b = layer(a, b)
        a, b = self.project(a), self.project(b)
        scores = tf.matmul(a, b, transpose_b=True) / a.shape[-1] ** 0.5
        z = sinkhorn(scores, self.dustbin, self.steps)
        return z, tf.reduce_max(tf.exp(z[:, :-1, :-1]), axis=2)


def make():
    tf.random.set_seed(81)
    return SuperGlue()


def load(ported, original):
    def dense(d, conv):
        d.w.assign(conv.weight.detach().numpy()[:, :, 0].T)
        d.b.assign(conv.bias.detach().numpy())

    def mlp(m, seq):
        for i, d in enumerate(m.dense):
            dense(d, seq[3 * i])
        for i, n in enumerate(m.bn):
            s = seq[3 * i + 1]
            for mine, theirs in ((n.gamma, s.weight), (n.beta, s.bias), (n.mean, s.running_mean), (n.var, s.running_var)):
                mine.assign(theirs.detach().numpy())

    mlp(ported.encoder, original.kenc.encoder)
    for mine, theirs in zip(ported.layers, original.gnn):
        for d, conv in zip((mine.attention.q, mine.attention.k, mine.attention.v), theirs.attn.proj):
            dense(d, conv)
        dense(mine.attention.merge, theirs.attn.merge)
        mlp(mine.mlp, theirs.mlp)
    dense(ported.project, original.final_proj)
    ported.dustbin.assign(original.bin_score.detach().numpy())


def inputs(seed=0):
    g = np.random.default_rng(seed)
    b, n, m, d = 4, 14, 11, 32
    size = np.array([[320, 240], [200, 300], [256, 256], [400, 300]], "float32")
    k0, k1 = g.uniform(size=(b, n, 2)) * size[:, None], g.uniform(size=(b, m, 2)) * size[:, None]
    d0, d1 = [4 * a / np.linalg.norm(a, axis=1, keepdims=True) for a in (g.standard_normal((b, d, n)), g.standard_normal((b, d, m)))]
    out = (d0.transpose(0, 2, 1), d1.transpose(0, 2, 1), k0, k1, g.uniform(size=(b, n)), g.uniform(size=(b, m)), size)
    return tuple(np.ascontiguousarray(a.astype("float32")) for a in out)
