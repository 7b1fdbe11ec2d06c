"""TabNet (Arik and Pfister 2019) as a tf.Module: sequential attention over table columns."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
COLUMNS, N_D, N_A, STEPS, CLASSES, GAMMA = 12, 6, 6, 3, 4, 1.4
EPS = 1e-5


def sparsemax(logits):
    """Martins and Astudillo 2016, along the last axis."""
    size = logits.shape[-1]
    ordered = tf.sort(logits, axis=-1, direction="DESCENDING")
    total = tf.cumsum(ordered, axis=-1)
    rank = tf.range(1, size + 1, dtype=logits.dtype)
    inside = tf.cast(1.0 + rank * ordered > total, logits.dtype)
    count = tf.reduce_sum(inside, axis=-1, keepdims=True)
    last = tf.gather(total, tf.cast(count, tf.int32) - 1, batch_dims=1, axis=-1)
    threshold = (last - 1.0) / count
    return tf.maximum(logits - threshold, 0.0)


class Norm(tf.Module):
    def __init__(self, size, rng):
        super().__init__()
        self.gamma = tf.Variable(rng.uniform(0.7, 1.4, size), dtype=tf.float32)
        self.beta = tf.Variable(rng.normal(0, 0.3, size), dtype=tf.float32)
        self.mean = tf.Variable(rng.normal(0, 0.3, size), dtype=tf.float32, trainable=False)
        self.variance = tf.Variable(rng.uniform(0.4, 1.3, size), dtype=tf.float32, trainable=False)

    def __call__(self, x):
        return tf.nn.batch_normalization(x, self.mean, self.variance, self.beta, self.gamma, EPS)


class Projection(tf.Module):
    """Fully connected without bias, then batch norm."""

    def __init__(self, before, after, rng):
        super().__init__()
        self.w = tf.Variable(rng.normal(0, 1.2 / before**0.5, (before, after)), dtype=tf.float32)
        self.norm = Norm(after, rng)

    def __call__(self, x):
        return self.norm(tf.matmul(x, self.w))


class GLU(tf.Module):
    def __init__(self, before, rng):
        super().__init__()
        self.fc = Projection(before, 2 * (N_D + N_A), rng)

    def __call__(self, x):
        value, gate = tf.split(self.fc(x), 2, axis=-1)
        return value * tf.sigmoid(gate)


class TabNet(tf.Module):
    def __init__(self, rng):
        super().__init__()
        width = N_D + N_A
        self.initial = Norm(COLUMNS, rng)
        self.shared = [GLU(COLUMNS, rng), GLU(width, rng)]
        self.own = [[GLU(width, rng), GLU(width, rng)] for _ in range(STEPS + 1)]
        self.attention = [Projection(N_A, COLUMNS, rng) for _ in range(STEPS)]
        self.head = tf.Variable(rng.normal(0, 0.5, (N_D, CLASSES)), dtype=tf.float32)
        self.head_bias = tf.Variable(rng.normal(0, 0.2, CLASSES), dtype=tf.float32)

    def transform(self, x, own):
        half = tf.sqrt(0.5)
        h = self.shared[0](x)
        h = (h + self.shared[1](h)) * half
        for block in own:
            h = (h + block(h)) * half
        return h[:, :N_D], h[:, N_D:]

    def __call__(self, table):
        x = self.initial(table)
        _, a = self.transform(x, self.own[0])
        prior = tf.ones_like(x)
        decision, importance = 0.0, 0.0
        for step in range(STEPS):
            mask = sparsemax(self.attention[step](a) * prior)
            prior = prior * (GAMMA - mask)
            d, a = self.transform(mask * x, self.own[step + 1])
            d = tf.nn.relu(d)
            decision += d
            importance += mask * tf.reduce_sum(d, axis=-1, keepdims=True)
        return tf.matmul(decision, self.head) + self.head_bias, importance


def make(seed=0):
    return TabNet(np.random.default_rng(seed))


def inputs(seed):
    rng = np.random.default_rng(seed + 100)
    table = rng.normal(size=(8, COLUMNS))
    table[:, 8:] = rng.integers(0, 3, size=(8, 4))
    return (table.astype("float32"),)
