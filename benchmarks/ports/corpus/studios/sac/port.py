"""SAC's actor, critics and soft value in Keras on TensorFlow, the log probability written out."""
import math

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
LOW, HIGH, ALPHA = -5.0, 2.0, 0.2


class KerasSAC(keras.Model):
    def __init__(self, act=3):
        super().__init__()
        self.act = act
        self.fc1 = layers.Dense(32, activation="relu")
        self.fc2 = layers.Dense(32, activation="relu")
        self.fc_mean, self.fc_log_std = layers.Dense(act), layers.Dense(act)
        critic = lambda: keras.Sequential(
            [layers.Dense(32, activation="relu"), layers.Dense(32, activation="relu"), layers.Dense(1)])
        self.q1, self.q2 = critic(), critic()
        self.scale = tf.constant([1.0, 2.0, 0.5])
        self.shift = tf.constant([0.0, 0.5, -0.25])

    def call(self, obs):
        x = self.fc2(self.fc1(obs))
        mean = self.fc_mean(x)
        raw = self.fc_log_std(x)
        log_std = LOW + 0.5 * (HIGH - LOW) * (tf.tanh(raw) + 1.0)
        std = tf.exp(log_std)
        noise = tf.random.normal(tf.shape(mean))
        u = mean + std * noise
        y = tf.tanh(u)
        action = y * self.scale + self.shift
        log_prob = -0.5 * tf.square((u - mean) / std) - tf.math.log(std) - 0.5 * math.log(2 * math.pi)
        log_prob -= tf.math.log(self.scale * (1.0 - tf.square(y)) + 1e-6)
        log_prob = tf.reduce_sum(log_prob, axis=1, keepdims=True)
        oa = tf.concat([obs, action], axis=1)
        q1, q2 = self.q1(oa), self.q2(oa)
        q = tf.minimum(q1, q2)
        return action, log_prob, q - ALPHA * log_prob


def make():
    tf.random.set_seed(3)
    model = KerasSAC()
    model(np.zeros((1, 8), "float32"))
    return model


def load(dst, src):
    def put(k, c):
        k.set_weights([c.weight.detach().numpy().T, c.bias.detach().numpy()])
    put(dst.fc1, src.body[0]); put(dst.fc2, src.body[2])
    put(dst.fc_mean, src.mean); put(dst.fc_log_std, src.log_std)
    for kq, tq in ((dst.q1, src.q1), (dst.q2, src.q2)):
        for k, i in zip(kq.layers, (0, 2, 4)):
            put(k, tq[i])
