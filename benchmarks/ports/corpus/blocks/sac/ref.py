"""SAC in Keras: a squashed Gaussian actor that samples, and twin critics of what it does."""
import math

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

FRAMEWORK = "tensorflow"
OBS, ACT = 11, 3
LOW = np.array([-2.0, -1.0, -0.5], "float32")
HIGH = np.array([2.0, 1.0, 1.5], "float32")


class Actor(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = [layers.Dense(32, activation="elu"), layers.Dense(32, activation="elu")]
        self.norm = layers.LayerNormalization()
        self.mu = layers.Dense(ACT)
        self.log_std = layers.Dense(ACT)

    def call(self, obs):
        x = self.hidden[0](obs)
        x = self.norm(x)
        x = self.hidden[1](x)
        log_std = ops.tanh(self.log_std(x))
        log_std = -5.0 + 0.5 * (0.5 - -5.0) * (log_std + 1.0)
        return self.mu(x), log_std


class Critic(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras.Sequential(
            [layers.Dense(32, activation="relu"), layers.Dense(32, activation="relu"), layers.Dense(1)]
        )

    def call(self, obs, action):
        return ops.squeeze(self.net(ops.concatenate([obs, action], axis=-1)), -1)


class SAC(keras.Model):
    def __init__(self, alpha=0.2):
        super().__init__()
        self.actor, self.q1, self.q2 = Actor(), Critic(), Critic()
        self.alpha = alpha

    def call(self, obs):
        obs = ops.clip(obs, -3.0, 3.0)
        mu, log_std = self.actor(obs)
        noise = tf.random.normal(tf.shape(mu))
        raw = mu + ops.exp(log_std) * noise
        log_prob = -0.5 * ops.square(noise) - log_std - 0.5 * math.log(2 * math.pi)
        log_prob = log_prob - 2.0 * (math.log(2.0) - raw - ops.softplus(-2.0 * raw))
        scale = (HIGH - LOW) / 2.0
        action = ops.tanh(raw) * scale + (HIGH + LOW) / 2.0
        log_prob = ops.sum(log_prob - ops.log(scale), axis=-1)
        q = ops.minimum(self.q1(obs, action), self.q2(obs, action))
        return {"action": action, "log_prob": log_prob, "value": q - self.alpha * log_prob}


def make():
    keras.utils.set_random_seed(9)
    net = SAC()
    net(ops.zeros((1, OBS)))
    rng = np.random.default_rng(9)
    for weight in net.trainable_weights:
        if len(weight.shape) == 1:
            weight.assign(weight + rng.normal(0, 0.2, weight.shape))
    return net


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(6, OBS), scale=1.5).astype("float32")
