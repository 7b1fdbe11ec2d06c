"""The dynamics ensemble in plain TensorFlow."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
E, S, U, HID = 4, 6, 2, 24


class TFEnsemble(tf.Module):
    def layer(self, i, x):
        return tf.einsum("ebi,eio->ebo", x, self.w[i]) + self.b[i]

    def __call__(self, state, action):
        sigma = self.sigma
        x = tf.concat([state, action], axis=-1) - self.mu
        x = x / sigma
        x = tf.tile(x[None], [E, 1, 1])
        h = tf.nn.silu(self.layer(0, x))
        h = tf.nn.silu(self.layer(1, h))
        mean, logvar = tf.split(self.layer(2, h), 2, axis=-1)
        logvar = self.max_logvar - tf.nn.softplus(self.max_logvar - logvar)
        logvar = self.min_logvar + tf.nn.softplus(logvar - self.min_logvar)
        std = tf.exp(0.5 * logvar)
        shape = tf.shape(std)
        eps = tf.random.normal(shape)
        pred = mean + std * eps
        next_state = state[None] + pred[..., :-1]
        return next_state, pred[..., -1], logvar, tf.math.reduce_std(mean, axis=0) * np.float32((E / (E - 1)) ** 0.5)


def make():
    tf.random.set_seed(6)
    return TFEnsemble()


def load(dst, src):
    sd = {k: v.numpy() for k, v in src.state_dict().items()}
    dst.w = [tf.Variable(sd[f"{n}.weight"]) for n in ("l1", "l2", "out")]
    dst.b = [tf.Variable(sd[f"{n}.bias"]) for n in ("l1", "l2", "out")]
    dst.max_logvar, dst.min_logvar = tf.Variable(sd["max_logvar"]), tf.Variable(sd["min_logvar"])
    dst.mu, dst.sigma = tf.constant(sd["mu"]), tf.constant(sd["sigma"])
