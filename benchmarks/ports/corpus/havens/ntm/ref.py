"""Neural Turing machine (Graves et al. 2014) in plain TensorFlow, with a feed-forward controller."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
BITS, UNITS, SLOTS, CELL, SHIFTS = 6, 16, 9, 5, 3
STEPS, BATCH = 5, 4


class Linear(tf.Module):
    def __init__(self, n_in, n_out, rng):
        super().__init__()
        self.w = tf.Variable(rng.normal(0, 0.5, (n_in, n_out)), dtype=tf.float32)
        self.b = tf.Variable(rng.normal(0, 0.3, n_out), dtype=tf.float32)

    def __call__(self, x):
        return x @ self.w + self.b


class Head(tf.Module):
    """Where to read or write: by content, then by place."""

    def __init__(self, rng):
        super().__init__()
        self.key = Linear(UNITS, CELL, rng)
        self.strength = Linear(UNITS, 1, rng)
        self.gate = Linear(UNITS, 1, rng)
        self.shift = Linear(UNITS, SHIFTS, rng)
        self.sharpen = Linear(UNITS, 1, rng)

    def __call__(self, control, memory, before):
        key = tf.tanh(self.key(control))
        norms = tf.norm(memory, axis=2) * tf.norm(key, axis=1, keepdims=True)
        similar = tf.einsum("bnm,bm->bn", memory, key) / (norms + 1e-8)
        content = tf.nn.softmax(tf.nn.softplus(self.strength(control)) * similar)
        g = tf.sigmoid(self.gate(control))
        mixed = g * content + (1 - g) * before
        s = tf.nn.softmax(self.shift(control))
        moved = s[:, 0:1] * tf.roll(mixed, -1, 1) + s[:, 1:2] * mixed + s[:, 2:3] * tf.roll(mixed, 1, 1)
        sharp = moved ** (1 + tf.nn.softplus(self.sharpen(control)))
        return sharp / tf.reduce_sum(sharp, axis=1, keepdims=True)


class NTM(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.controller = Linear(BITS + CELL, UNITS, rng)
        self.reader, self.writer = Head(rng), Head(rng)
        self.erase = Linear(UNITS, CELL, rng)
        self.add = Linear(UNITS, CELL, rng)
        self.output = Linear(UNITS + CELL, BITS, rng)
        self.memory0 = tf.Variable(rng.normal(0, 0.6, (SLOTS, CELL)), dtype=tf.float32)
        self.read0 = tf.Variable(rng.normal(0, 0.5, (1, CELL)), dtype=tf.float32)
        self.weights0 = tf.Variable(rng.normal(0, 1.0, (2, SLOTS)), dtype=tf.float32)

    def __call__(self, sequence):
        batch = tf.shape(sequence)[0]
        memory = tf.tile(self.memory0[None], (batch, 1, 1))
        read = tf.tile(self.read0, (batch, 1))
        start = tf.nn.softmax(self.weights0)
        w_read, w_write = tf.tile(start[0:1], (batch, 1)), tf.tile(start[1:2], (batch, 1))
        outputs = []
        for t in range(STEPS):
            control = tf.tanh(self.controller(tf.concat([sequence[:, t], read], 1)))
            w_write = self.writer(control, memory, w_write)
            erase, add = tf.sigmoid(self.erase(control)), tf.tanh(self.add(control))
            memory = memory * (1 - w_write[:, :, None] * erase[:, None]) + w_write[:, :, None] * add[:, None]
            w_read = self.reader(control, memory, w_read)
            read = tf.reduce_sum(w_read[:, :, None] * memory, axis=1)
            outputs.append(tf.sigmoid(self.output(tf.concat([control, read], 1))))
        return tf.stack(outputs, 1), memory


def make():
    return NTM(101)


def inputs(seed):
    rng = np.random.default_rng(seed)
    bits = (rng.random((BATCH, STEPS, BITS)) < 0.5).astype("float32")
    return bits + 0.05 * rng.normal(size=bits.shape).astype("float32")
