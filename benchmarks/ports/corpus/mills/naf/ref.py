"""Normalised advantage functions for continuous control, raw TensorFlow."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"


class BatchNorm(tf.Module):
    def __init__(self, dim, rng, name=None):
        super().__init__(name=name)
        self.gamma = tf.Variable(rng.uniform(0.7, 1.3, dim).astype("f"), name="gamma")
        self.beta = tf.Variable(rng.normal(0, 0.2, dim).astype("f"), name="beta")
        self.mean = tf.Variable(rng.normal(0, 0.4, dim).astype("f"), trainable=False, name="mean")
        self.var = tf.Variable(rng.uniform(0.4, 2.0, dim).astype("f"), trainable=False, name="var")

    def __call__(self, x):
        return tf.nn.batch_normalization(x, self.mean, self.var, self.beta, self.gamma, 1e-3)


class NAF(tf.Module):
    def __init__(self, rng, n_obs=8, n_act=3, width=40):
        super().__init__(name="naf")
        self.n_act = n_act

        def param(n_in, n_out):
            return (tf.Variable(rng.normal(0, 1.2 / np.sqrt(n_in), (n_in, n_out)).astype("f")),
                    tf.Variable(rng.normal(0, 0.2, n_out).astype("f")))

        self.norm0 = BatchNorm(n_obs, rng, name="norm0")
        self.norm1 = BatchNorm(width, rng, name="norm1")
        self.w1, self.b1 = param(n_obs, width)
        self.w2, self.b2 = param(width, width)
        self.wm, self.bm = param(width, n_act)
        self.wv, self.bv = param(width, 1)
        self.wl, self.bl = param(width, n_act * (n_act + 1) // 2)

    def cholesky(self, flat):
        """fill row by row; the diagonal goes through exp"""
        rows, k = [], 0
        for i in range(self.n_act):
            below = flat[:, k:k + i]
            diag = tf.exp(tf.clip_by_value(flat[:, k + i:k + i + 1], -4.0, 2.0))
            zeros = tf.zeros_like(flat[:, :self.n_act - i - 1])
            rows.append(tf.concat([below, diag, zeros], axis=1))
            k += i + 1
        return tf.stack(rows, axis=1)

    def __call__(self, obs, action):
        h = self.norm0(obs)
        h = tf.nn.relu(self.norm1(tf.matmul(h, self.w1) + self.b1))
        h = tf.nn.relu(tf.matmul(h, self.w2) + self.b2)
        mu = tf.tanh(tf.matmul(h, self.wm) + self.bm)
        value = tf.matmul(h, self.wv) + self.bv
        low = self.cholesky(tf.matmul(h, self.wl) + self.bl)
        p = tf.matmul(low, low, transpose_b=True)
        diff = tf.expand_dims(action - mu, -1)
        adv = -0.5 * tf.matmul(diff, tf.matmul(p, diff), transpose_a=True)[:, :, 0]
        return value + adv, mu, value, p


def make(seed=0):
    return NAF(np.random.default_rng(seed))


def inputs(seed=0):
    r = np.random.default_rng(seed)
    return r.normal(0.2, 1.1, (7, 8)).astype("f"), r.uniform(-1, 1, (7, 3)).astype("f")
