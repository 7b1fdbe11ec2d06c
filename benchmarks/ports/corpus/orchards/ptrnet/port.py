"""Pointer network in plain TensorFlow; the LSTM is written out, its gates in the order i, f, g, o."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
N, EMB, UNITS, TANH_CLIP = 7, 12, 20, 10.0
BIG = 1e9


class Cell(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.kernel = tf.Variable(rng.normal(0, 0.3, (EMB, 4 * UNITS)), dtype=tf.float32)
        self.recurrent = tf.Variable(rng.normal(0, 0.3, (UNITS, 4 * UNITS)), dtype=tf.float32)
        self.bias = tf.Variable(rng.normal(0, 0.3, 4 * UNITS), dtype=tf.float32)

    def __call__(self, x, state):
        h, c = state
        gates = tf.matmul(x, self.kernel) + tf.matmul(h, self.recurrent) + self.bias
        i, f, g, o = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return h, (h, c)


class Pointer(tf.Module):
    """Additive attention: v . tanh(W1 e + b + W2 d)."""

    def __init__(self, rng):
        super().__init__()
        self.w1 = tf.Variable(rng.normal(0, 0.25, (UNITS, UNITS)), dtype=tf.float32)
        self.b1 = tf.Variable(rng.normal(0, 0.25, UNITS), dtype=tf.float32)
        self.w2 = tf.Variable(rng.normal(0, 0.25, (UNITS, UNITS)), dtype=tf.float32)
        self.v = tf.Variable(rng.normal(0, 0.25, UNITS), dtype=tf.float32)

    def __call__(self, enc, dec):
        mixed = tf.tensordot(enc, self.w1, 1) + self.b1 + tf.matmul(dec, self.w2)[:, None, :]
        return tf.tensordot(tf.tanh(mixed), self.v, 1)


class PtrNet(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.emb_w = tf.Variable(rng.normal(0, 1.0, (2, EMB)), dtype=tf.float32)
        self.emb_b = tf.Variable(rng.normal(0, 0.3, EMB), dtype=tf.float32)
        self.enc, self.dec = Cell(rng), Cell(rng)
        self.go = tf.Variable(rng.normal(0, 0.5, EMB), dtype=tf.float32)
        self.glimpse, self.point = Pointer(rng), Pointer(rng)

    def encode(self, emb):
        state = (tf.zeros([tf.shape(emb)[0], UNITS]), tf.zeros([tf.shape(emb)[0], UNITS]))
        outs = []
        for step in tf.unstack(emb, axis=1):
            out, state = self.enc(step, state)
            outs.append(out)
        return tf.stack(outs, axis=1), state

    def __call__(self, coords, tour):
        emb = tf.tensordot(coords, self.emb_w, 1) + self.emb_b
        enc, state = self.encode(emb)
        onehot = tf.one_hot(tour, N)
        visited = tf.cumsum(onehot, axis=1, exclusive=True)
        following = tf.gather(emb, tour, batch_dims=1)
        inp = tf.tile(self.go[None], [tf.shape(emb)[0], 1])
        rows = []
        for t in range(N):
            out, state = self.dec(inp, state)
            mask = BIG * visited[:, t]
            glimpse = tf.nn.softmax(self.glimpse(enc, out) - mask)
            query = tf.einsum("bn,bnd->bd", glimpse, enc)
            u = TANH_CLIP * tf.tanh(self.point(enc, query))
            rows.append(tf.nn.log_softmax(u - mask))
            inp = following[:, t]
        logp = tf.stack(rows, axis=1)
        picked = tf.gather(logp, tour, batch_dims=2)
        return picked, tf.exp(logp)


def make(seed=41):
    return PtrNet(np.random.default_rng(seed))


def inputs(seed):
    rng = np.random.default_rng(seed)
    cities = rng.uniform(size=(4, N, 2)).astype("float32")
    tours = np.stack([rng.permutation(N) for _ in range(4)]).astype("int32")
    return cities, tours


def load(ported, original):
    def gates(w):
        """Chainer interleaves a (the candidate), i, f, o by unit."""
        a, i, f, o = w.reshape(UNITS, 4, -1).transpose(1, 0, 2)
        return np.concatenate([i, f, a, o], axis=0)

    for ours, theirs in ((ported.enc, original.encoder), (ported.dec, original.decoder)):
        ours.kernel.assign(gates(theirs.upward.W.array).T)
        ours.bias.assign(gates(theirs.upward.b.array)[:, 0])
        ours.recurrent.assign(gates(theirs.lateral.W.array).T)
    for ours, theirs in ((ported.glimpse, original.glimpse), (ported.point, original.pointer)):
        ours.w1.assign(theirs.w_ref.W.array.T)
        ours.b1.assign(theirs.w_ref.b.array)
        ours.w2.assign(theirs.w_query.W.array.T)
        ours.v.assign(theirs.v.W.array[0])
    ported.emb_w.assign(original.embed.W.array.T)
    ported.emb_b.assign(original.embed.b.array)
    ported.go.assign(original.start.array[0])
