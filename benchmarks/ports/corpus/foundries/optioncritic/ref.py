"""Option-critic over small Atari-like frames, with raw tf.Variables (NHWC)."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OPTIONS, ACTIONS, FEATURES = 4, 5, 40
TEMPERATURE, EPSILON, DELIBERATION = 0.7, 0.1, 0.02


class OptionCritic(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)

        def var(name, *shape, scale=None):
            scale = scale or 1.3 / np.sqrt(np.prod(shape[:-1]))
            return tf.Variable(rng.normal(0, scale, shape).astype("float32"), name=name)

        self.k1, self.b1 = var("k1", 6, 6, 3, 8), var("b1", 8, scale=0.1)
        self.k2, self.b2 = var("k2", 3, 3, 8, 12), var("b2", 12, scale=0.1)
        self.w3, self.b3 = var("w3", 4 * 4 * 12, FEATURES), var("b3", FEATURES, scale=0.1)
        self.w_q, self.b_q = var("w_q", FEATURES, OPTIONS), var("b_q", OPTIONS, scale=0.2)
        self.w_beta, self.b_beta = var("w_beta", FEATURES, OPTIONS), var("b_beta", OPTIONS, scale=0.2)
        self.w_pi = var("w_pi", OPTIONS, FEATURES, ACTIONS, scale=0.2)
        self.b_pi = var("b_pi", OPTIONS, ACTIONS, scale=0.2)

    def features(self, frames):
        x = tf.cast(frames, tf.float32) / 255.0
        x = tf.nn.relu(tf.nn.conv2d(x, self.k1, strides=4, padding="VALID") + self.b1)
        x = tf.nn.relu(tf.nn.conv2d(x, self.k2, strides=2, padding="SAME") + self.b2)
        x = tf.reshape(x, [-1, 4 * 4 * 12])
        return tf.nn.relu(tf.matmul(x, self.w3) + self.b3)

    def __call__(self, frames, option):
        s = self.features(frames)
        q = tf.matmul(s, self.w_q) + self.b_q
        beta = tf.sigmoid(tf.matmul(s, self.w_beta) + self.b_beta)

        logits = tf.einsum("bf,bfa->ba", s, tf.gather(self.w_pi, option)) + tf.gather(self.b_pi, option)
        pi = tf.nn.softmax(logits / TEMPERATURE)
        entropy = -tf.reduce_sum(pi * tf.nn.log_softmax(logits / TEMPERATURE), axis=-1)

        q_w = tf.gather(q, option, axis=1, batch_dims=1)
        beta_w = tf.gather(beta, option, axis=1, batch_dims=1)
        best = tf.reduce_max(q, axis=-1)
        utility = (1.0 - beta_w) * q_w + beta_w * best
        v = (1.0 - EPSILON) * best + EPSILON * tf.reduce_mean(q, axis=-1)
        termination_loss = beta_w * (q_w - v + DELIBERATION)
        return {"q": q, "pi": pi, "beta": beta_w, "entropy": entropy,
                "utility": utility, "termination_loss": termination_loss}


def make(seed=17):
    return OptionCritic(seed)


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, size=(8, 34, 34, 3)).astype("uint8")
    option = rng.integers(0, OPTIONS, size=8).astype("int32")
    return frames, option
