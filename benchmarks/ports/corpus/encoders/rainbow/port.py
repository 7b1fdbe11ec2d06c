"""Rainbow in Keras."""
import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
ACTIONS, ATOMS, VMIN, VMAX = 4, 21, -5.0, 5.0


class NoisyDense(keras.layers.Layer):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.n_in, self.n_out = n_in, n_out
        self.mu_w = self.add_weight(shape=(n_in, n_out), name="mu_w")
        self.mu_b = self.add_weight(shape=(n_out,), name="mu_b")
        self.sigma_w = self.add_weight(shape=(n_in, n_out), name="sigma_w")
        self.sigma_b = self.add_weight(shape=(n_out,), name="sigma_b")

    def squash(self, x):
        return tf.sign(x) * tf.sqrt(tf.abs(x))

    def call(self, x):
        raw_in = tf.random.normal((self.n_in,))
        raw_out = tf.random.normal((self.n_out,))
        eps_in, eps_out = self.squash(raw_in), self.squash(raw_out)
        noise = tf.tensordot(eps_in, eps_out, axes=0)
        kernel = self.mu_w + self.sigma_w * noise
        bias = self.mu_b + self.sigma_b * eps_out
        return tf.matmul(x, kernel) + bias


class RainbowKeras(keras.Model):
    def __init__(self):
        super().__init__()
        self.trunk = keras.layers.Dense(32, activation="relu")
        self.value1, self.value2 = NoisyDense(32, 32), NoisyDense(32, ATOMS)
        self.adv1, self.adv2 = NoisyDense(32, 32), NoisyDense(32, ACTIONS * ATOMS)
        self.support = tf.linspace(VMIN, VMAX, ATOMS)

    def call(self, x):
        h = self.trunk(x)
        v = self.value2(tf.nn.relu(self.value1(h)))
        v = tf.reshape(v, (-1, 1, ATOMS))
        a = tf.reshape(self.adv2(tf.nn.relu(self.adv1(h))), (-1, ACTIONS, ATOMS))
        a = a - tf.reduce_mean(a, axis=1, keepdims=True)
        logits = v + a
        p = tf.nn.softmax(logits, axis=-1)
        return tf.reduce_sum(p * self.support, axis=-1)


def make():
    net = RainbowKeras()
    net(np.zeros((1, 12), "float32"))
    return net


def load(net, ref):
    net.trunk.set_weights([ref.trunk[0].weight.detach().numpy().T, ref.trunk[0].bias.detach().numpy()])
    for name in ("value1", "value2", "adv1", "adv2"):
        t, k = getattr(ref, name), getattr(net, name)
        k.set_weights([t.mu_w.detach().numpy().T, t.mu_b.detach().numpy(), t.sigma_w.detach().numpy().T, t.sigma_b.detach().numpy()])
