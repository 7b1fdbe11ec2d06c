"""The CQL loss of our offline agent, in Keras 3 on TensorFlow."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"

LN2 = float(np.log(2.0))


def mlp(name):
    return keras.Sequential(
        [
            keras.Input((14,)),
            layers.Dense(32),
            layers.LayerNormalization(epsilon=1e-5),
            layers.Activation("elu"),
            layers.Dense(32),
            layers.LayerNormalization(epsilon=1e-5),
            layers.Activation("elu"),
            layers.Dense(1),
        ],
        name=name,
    )


def q_value(net, s, a):
    """Q of (B, A) actions, or of several for each state as (B, N, A)."""
    if len(a.shape) == 2:
        return net(tf.concat([s, a], axis=-1))[:, 0]
    b, n = a.shape[0], a.shape[1]
    tiled = tf.repeat(s, n, axis=0)
    flat = tf.reshape(a, (b * n, -1))
    return tf.reshape(net(tf.concat([tiled, flat], axis=-1)), (b, n))


def huber(error, delta):
    size = tf.abs(error)
    small = tf.minimum(size, delta)
    return 0.5 * small**2 + delta * (size - small)


class ConservativeLoss(keras.Model):
    def __init__(self, gamma=0.99, temperature=0.7, weight=5.0):
        super().__init__()
        self.q = [mlp("q1"), mlp("q2")]
        self.target = [mlp("target_q1"), mlp("target_q2")]
        self.log_alpha = self.add_weight(shape=(), initializer="zeros", name="log_alpha")
        self.gamma, self.temperature, self.weight = gamma, temperature, weight

    def gap(self, net, s, q_data, a_rand, a_pi, logp_pi):
        dims = a_rand.shape[-1]
        rand = q_value(net, s, a_rand) + dims * LN2
        pi = q_value(net, s, a_pi) - logp_pi
        stacked = tf.concat([rand, pi], axis=1) / self.temperature
        soft_max = self.temperature * tf.reduce_logsumexp(stacked, axis=1)
        return tf.maximum(soft_max - q_data, -200.0)

    def call(self, s, a, r, s2, done, a2, logp2, a_rand, a_pi, logp_pi):
        bootstrap = tf.minimum(*[q_value(net, s2, a2) for net in self.target])
        bootstrap = bootstrap - tf.exp(self.log_alpha) * logp2
        y = tf.stop_gradient(r + self.gamma * (1 - done) * bootstrap)
        total = 0.0
        gaps = []
        for net in self.q:
            q_data = q_value(net, s, a)
            gaps.append(self.gap(net, s, q_data, a_rand, a_pi, logp_pi))
            total += huber(q_data - y, 0.5) + self.weight * gaps[-1]
        return {"td_target": y, "gap": gaps[0], "per_sample": total,
                "loss": tf.reduce_mean(total)}


def make():
    return ConservativeLoss()


def load(port, ref):
    pairs = zip(port.q + port.target, [ref.critic_1, ref.critic_2, ref.target_1, ref.target_2])
    for net, theirs in pairs:
        values = []
        for p in theirs.parameters():
            w = p.detach().numpy()
            values.append(w.T if w.ndim == 2 else w)
        net.set_weights(values)
    port.log_alpha.assign(float(ref.log_alpha))
