"""PPO's policy in TensorFlow, with Keras layers in a tf.Module."""

import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, ACT, HIDDEN = 11, 3, 32
LOG_2PI = float(np.log(2.0 * np.pi))


class Normaliser(tf.Module):
    def __init__(self, size):
        super().__init__()
        self.mean = tf.Variable(tf.zeros(size), trainable=False)
        self.sum_of_squares = tf.Variable(tf.ones(size), trainable=False)
        self.count = tf.Variable(1.0, trainable=False)

    def __call__(self, observation):
        variance = self.sum_of_squares / (self.count - 1.0)
        inverse = tf.math.rsqrt(variance + 1e-4)
        standard = observation * inverse - self.mean * inverse
        return tf.clip_by_value(standard, -5.0, 5.0)


class Policy(tf.Module):
    def __init__(self, low=-2.0, high=1.0):
        super().__init__()
        self.normaliser = Normaliser(OBS)
        self.pi = keras.Sequential(
            [
                keras.Input((OBS,)),
                keras.layers.Dense(HIDDEN, activation="tanh"),
                keras.layers.Dense(HIDDEN, activation="tanh"),
                keras.layers.Dense(ACT),
            ]
        )
        self.vf = keras.Sequential(
            [
                keras.Input((OBS,)),
                keras.layers.Dense(HIDDEN, activation="tanh"),
                keras.layers.Dense(HIDDEN, activation="tanh"),
                keras.layers.Dense(1),
            ]
        )
        self.log_std = tf.Variable(tf.zeros(ACT), name="log_std")
        self.scale = (high - low) / 2.0
        self.middle = (high + low) / 2.0
        self.return_std = 3.7

    def log_likelihood(self, u, mean, log_std):
        z = (u - mean) * tf.exp(-log_std)
        gaussian = -0.5 * tf.reduce_sum(z * z + 2.0 * log_std + LOG_2PI, axis=-1)
        squash = tf.reduce_sum(tf.math.log(1.0 - tf.square(tf.tanh(u)) + 1e-6), axis=-1)
        return gaussian - squash

    def entropy(self, log_std, batch):
        total = tf.reduce_sum(log_std) + 0.5 * ACT * (1.0 + LOG_2PI)
        return tf.fill([batch], total)

    def __call__(self, observation):
        batch = observation.shape[0]
        x = self.normaliser(observation)
        mean = self.pi(x)
        log_std = tf.clip_by_value(self.log_std, -5.0, 2.0)
        u = mean + tf.exp(log_std) * tf.random.normal([batch, ACT])
        action = self.middle + self.scale * tf.tanh(u)
        log_prob = self.log_likelihood(u, mean, log_std)
        value = self.return_std * self.vf(x)[:, 0]
        return action, log_prob, self.entropy(log_std, batch), value


def make():
    return Policy()


def load(port, reference):
    def dense(layer, linear):
        layer.set_weights([linear.weight.detach().numpy().T, linear.bias.detach().numpy()])

    for ours, trunk, head in (
        (port.pi, reference.actor, reference.mean),
        (port.vf, reference.critic, reference.value),
    ):
        dense(ours.layers[0], trunk[0])
        dense(ours.layers[1], trunk[2])
        dense(ours.layers[2], head)
    port.log_std.assign(reference.log_std.detach().numpy())
    port.normaliser.mean.assign(reference.normaliser.mean.numpy())
    port.normaliser.sum_of_squares.assign(reference.normaliser.m2.numpy())
    port.normaliser.count.assign(float(reference.normaliser.count))
