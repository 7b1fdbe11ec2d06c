"""AIRL discriminator in Keras: normalised observations, spectrally normalised g and h, Gaussian policy."""
import math

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
OBS, ACT, HID = 8, 3, 24


class SNDense(layers.Layer):
    """Dense with its kernel over the spectral norm (three power iterations from a stored vector)."""

    def __init__(self, units, activation=None, iterations=3, **kw):
        super().__init__(**kw)
        self.units, self.iterations = units, iterations
        self.activation = keras.activations.get(activation)

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units), name="kernel")
        self.bias = self.add_weight(shape=(self.units,), name="bias")
        self.u = self.add_weight(shape=(1, self.units), trainable=False, name="u")

    def call(self, x):
        u = self.u
        for _ in range(self.iterations):
            v = tf.math.l2_normalize(tf.matmul(u, self.kernel, transpose_b=True))
            u = tf.math.l2_normalize(tf.matmul(v, self.kernel))
        sigma = tf.reduce_sum(tf.matmul(v, self.kernel) * u)
        return self.activation(tf.matmul(x, self.kernel / sigma) + self.bias)


class Normaliser(layers.Layer):
    def __init__(self, clip=3.0):
        super().__init__()
        self.clip = clip

    def build(self, shape):
        self.count = self.add_weight(shape=(), initializer="ones", trainable=False, name="count")
        self.mean = self.add_weight(shape=(shape[-1],), trainable=False, name="mean")
        self.m2 = self.add_weight(shape=(shape[-1],), trainable=False, name="m2")

    def call(self, x):
        std = tf.sqrt(self.m2 / (self.count - 1.0) + 1e-4)
        return tf.clip_by_value((x - self.mean) / std, -self.clip, self.clip)


class AIRL(keras.Model):
    def __init__(self, gamma=0.95, smoothing=0.1):
        super().__init__()
        self.gamma, self.smoothing = gamma, smoothing
        self.norm = Normaliser()
        self.g = keras.Sequential([SNDense(HID, "relu"), SNDense(HID, "relu"), SNDense(1)])
        self.h = keras.Sequential([SNDense(HID, "tanh"), SNDense(1)])
        self.pi = keras.Sequential([layers.Dense(HID, "tanh"), layers.Dense(ACT)])
        self.log_std = self.add_weight(shape=(ACT,), name="log_std")

    def log_prob(self, s, a):
        z = (a - self.pi(s)) / tf.exp(self.log_std)
        return tf.reduce_sum(-0.5 * tf.square(z) - self.log_std - 0.5 * math.log(2 * math.pi), axis=-1)

    def call(self, obs, action, next_obs, done, expert):
        s, s_next = self.norm(obs), self.norm(next_obs)
        g = self.g(tf.concat([s, action], -1))[:, 0]
        h, h_next = self.h(s)[:, 0], self.h(s_next)[:, 0]
        f = g + self.gamma * (1.0 - done) * h_next - h
        log_pi = self.log_prob(s, action)
        logits = f - log_pi
        labels = expert * (1 - self.smoothing) + 0.5 * self.smoothing
        loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        reward = tf.math.log_sigmoid(logits) - tf.math.log_sigmoid(-logits)
        return {"f": f, "log_pi": log_pi, "reward": tf.clip_by_value(reward, -10.0, 10.0), "loss": loss}


def make():
    keras.utils.set_random_seed(7)
    model = AIRL()
    model(*[tf.constant(x) for x in inputs(0)])
    g = np.random.default_rng(7)
    for v in model.weights:
        shape = tuple(v.shape)
        v.assign((g.normal(size=shape) * (0.4 if len(shape) < 2 else 1.2 / shape[0] ** 0.5)).astype("float32"))
    model.log_std.assign_add(np.full(ACT, 0.4, "float32"))
    model.norm.count.assign(50.0)
    model.norm.m2.assign(g.uniform(20, 120, OBS).astype("float32"))
    return model


def inputs(seed):
    g = np.random.default_rng(seed)
    s = g.normal(size=(8, OBS)) * 2 + 0.5
    done = np.zeros(8)
    done[[2, 5]] = 1
    expert = np.arange(8) % 2
    arrays = s, g.normal(size=(8, ACT)), s + 0.7 * g.normal(size=s.shape), done, expert
    return tuple(x.astype("float32") for x in arrays)
