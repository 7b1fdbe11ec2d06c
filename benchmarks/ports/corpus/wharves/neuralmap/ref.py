"""Neural Map (Parisotto & Salakhutdinov 2017) as a tf.Module: a written 2-D memory, read locally and globally."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
G, C, OBS, STEPS, ACTIONS = 5, 8, 12, 4, 6


class NeuralMap(tf.Module):
    def __init__(self, seed=0):
        super().__init__()
        rng = np.random.RandomState(seed)

        def var(*shape, name):
            fan = np.prod(shape[:-1])
            return tf.Variable((rng.randn(*shape) * 1.2 / fan ** 0.5).astype("float32"), name=name)

        def bias(n, name):
            return tf.Variable((rng.randn(n) * 0.2).astype("float32"), name=name)
        self.w_embed, self.b_embed = var(OBS, 16, name="w_embed"), bias(16, "b_embed")
        self.k_read1, self.c_read1 = var(3, 3, C, C, name="k_read1"), bias(C, "c_read1")
        self.k_read2, self.c_read2 = var(3, 3, C, C, name="k_read2"), bias(C, "c_read2")
        self.w_read, self.b_read = var(9 * C, C, name="w_read"), bias(C, "b_read")
        self.w_query = var(16 + C, C, name="w_query")
        self.w_write1, self.b_write1 = var(16 + 3 * C, 24, name="w_write1"), bias(24, "b_write1")
        self.w_write2, self.b_write2 = var(24, C, name="w_write2"), bias(C, "b_write2")
        self.w_pi, self.b_pi = var(3 * C, ACTIONS, name="w_pi"), bias(ACTIONS, "b_pi")
        self.w_v, self.b_v = var(3 * C, 1, name="w_v"), bias(1, "b_v")

    def read(self, memory):
        h = tf.nn.elu(tf.nn.conv2d(memory, self.k_read1, 1, "SAME") + self.c_read1)
        h = tf.nn.elu(tf.nn.conv2d(h, self.k_read2, 1, "VALID") + self.c_read2)
        return tf.tanh(tf.reshape(h, [-1, 9 * C]) @ self.w_read + self.b_read)

    def context(self, memory, s, r):
        q = tf.concat([s, r], 1) @ self.w_query
        score = tf.einsum("bhwc,bc->bhw", memory, q)
        alpha = tf.nn.softmax(tf.reshape(score, [-1, G * G]))
        return tf.einsum("bp,bpc->bc", alpha, tf.reshape(memory, [-1, G * G, C]))

    def local_write(self, memory, s, r, c, pos):
        here = tf.gather_nd(memory, pos, batch_dims=1)
        h = tf.nn.elu(tf.concat([s, r, c, here], 1) @ self.w_write1 + self.b_write1)
        return tf.tanh(h @ self.w_write2 + self.b_write2)

    def __call__(self, obs, pos, memory):
        logits, values = [], []
        for t in range(STEPS):
            s = tf.nn.elu(obs[:, t] @ self.w_embed + self.b_embed)
            r = self.read(memory)
            c = self.context(memory, s, r)
            w = self.local_write(memory, s, r, c, pos[:, t])
            row = tf.one_hot(pos[:, t, 0], G)
            col = tf.one_hot(pos[:, t, 1], G)
            cell = (row[:, :, None] * col[:, None, :])[..., None]
            memory = memory * (1 - cell) + cell * w[:, None, None, :]
            out = tf.concat([r, c, w], 1)
            logits.append(out @ self.w_pi + self.b_pi)
            values.append(tf.squeeze(out @ self.w_v + self.b_v, 1))
        return tf.stack(logits, 1), tf.stack(values, 1), memory


def make(seed=0):
    return NeuralMap(seed)


def inputs(seed=0):
    r = np.random.RandomState(seed)
    return (r.randn(4, STEPS, OBS).astype("float32"), r.randint(0, G, (4, STEPS, 2)).astype("int32"),
            (r.randn(4, G, G, C) * 0.5).astype("float32"))
