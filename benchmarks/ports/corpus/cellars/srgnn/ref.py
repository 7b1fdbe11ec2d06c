import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
ITEMS, D, STEPS = 14, 10, 2
_rng = np.random.RandomState(71)


def var(*shape, scale=None):
    s = scale if scale is not None else (1.0 / shape[0]) ** 0.5
    return tf.Variable((_rng.randn(*shape) * s).astype("float32"))


class SRGNN(tf.Module):
    def __init__(self):
        super().__init__()
        self.embedding = var(ITEMS, D, scale=0.8)
        self.w_in, self.b_in = var(D, D), var(D, scale=0.3)
        self.w_out, self.b_out = var(D, D), var(D, scale=0.3)
        self.gate_w, self.gate_b = var(3 * D, 2 * D), var(2 * D, scale=0.3)
        self.cand_w, self.cand_b = var(3 * D, D), var(D, scale=0.3)
        self.nasr_w1 = var(D, D)
        self.nasr_w2 = var(D, D)
        self.nasr_b = var(D, scale=0.3)
        self.nasr_v = var(1, D, scale=0.5)
        self.B = var(2 * D, D)

    def gru_cell(self, x, h):
        gates = tf.sigmoid(tf.matmul(tf.concat([x, h], -1), self.gate_w) + self.gate_b)
        r, u = tf.split(gates, 2, axis=-1)
        c = tf.tanh(tf.matmul(tf.concat([x, r * h], -1), self.cand_w) + self.cand_b)
        return u * h + (1.0 - u) * c

    def ggnn(self, items, adj_in, adj_out):
        h = tf.nn.embedding_lookup(self.embedding, items)
        for _ in range(STEPS):
            state_in = tf.matmul(h, self.w_in) + self.b_in
            state_out = tf.matmul(h, self.w_out) + self.b_out
            av = tf.concat([tf.matmul(adj_in, state_in), tf.matmul(adj_out, state_out)], -1)
            h = self.gru_cell(av, h)
        return h

    def __call__(self, items, adj_in, adj_out, alias, mask):
        h = self.ggnn(items, adj_in, adj_out)
        seq_h = tf.gather(h, alias, batch_dims=1)
        rm = tf.cast(tf.reduce_sum(mask, 1), tf.int64)
        last_h = tf.gather(seq_h, rm - 1, batch_dims=1)
        last = tf.matmul(last_h, self.nasr_w1)
        seq = tf.matmul(seq_h, self.nasr_w2)
        m = tf.nn.sigmoid(last[:, None, :] + seq + self.nasr_b)
        coef = tf.reduce_sum(m * self.nasr_v, -1, keepdims=True) * mask[..., None]
        att = tf.reduce_sum(coef * seq_h, 1)
        s = tf.matmul(tf.concat([att, last_h], -1), self.B)
        return tf.matmul(s, self.embedding[1:], transpose_b=True)


def make():
    global _rng
    _rng = np.random.RandomState(71)
    return SRGNN()


def session_batch(seed, n=5, length=6):
    r = np.random.RandomState(seed)
    lens = [6, 4, 5, 3, 6, 2][:n]
    items = np.zeros((n, length), "int64")
    alias = np.zeros((n, length), "int64")
    mask = np.zeros((n, length), "float32")
    a_in = np.zeros((n, length, length), "float32")
    a_out = np.zeros((n, length, length), "float32")
    for b, l in enumerate(lens):
        s = r.randint(1, ITEMS, l)
        if l > 3:
            s[2] = s[0]
        nodes = np.unique(s)
        items[b, :len(nodes)] = nodes
        alias[b, :l] = [int(np.where(nodes == i)[0][0]) for i in s]
        mask[b, :l] = 1
        u = np.zeros((length, length))
        for i in range(l - 1):
            u[alias[b, i], alias[b, i + 1]] = 1
        di = u.sum(0); di[di == 0] = 1
        do = u.sum(1); do[do == 0] = 1
        a_in[b] = (u / di).T
        a_out[b] = u / do[:, None]
    return items, a_in, a_out, alias, mask


def inputs(seed):
    return session_batch(seed)
