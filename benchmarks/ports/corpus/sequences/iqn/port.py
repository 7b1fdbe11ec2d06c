"""The implicit quantile network in TensorFlow."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
S, D, A, N, C = 12, 32, 4, 8, 16


class TFIQN(tf.Module):
    def __call__(self, state):
        dense = lambda x, wb: tf.matmul(x, wb[0]) + wb[1]
        b = state.shape[0]
        psi = tf.nn.relu(dense(tf.nn.relu(dense(state, self.b1)), self.b2))
        taus = tf.random.uniform([b, N])
        i = tf.range(1, 1 + C, dtype=tf.float32)
        cos = tf.cos(np.pi * i * tf.reshape(taus, [-1, 1]))
        phi = tf.nn.relu(dense(cos, self.phi))
        h = tf.repeat(psi, N, axis=0) * phi
        z = dense(tf.nn.relu(dense(h, self.fc)), self.out)
        q = tf.reduce_mean(tf.reshape(z, [b, N, A]), axis=1)
        return tf.reshape(z, [b, N, A]), taus, q


def make():
    return TFIQN()


def load(k, t):
    w = lambda l: (tf.Variable(l.weight.detach().numpy().T), tf.Variable(l.bias.detach().numpy()))
    k.b1, k.b2, k.phi, k.fc, k.out = map(w, (t.body[0], t.body[2], t.phi, t.fc, t.out))
