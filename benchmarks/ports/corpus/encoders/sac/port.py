"""SAC in TensorFlow."""
import math

import tensorflow as tf
from torch import nn

FRAMEWORK = "tensorflow"
OBS, ACT, HID, SCALE, ALPHA = 10, 3, 48, 0.8, 0.2


class Mlp(tf.Module):
    def __init__(self, source):
        super().__init__()
        self.layers = [
            (tf.Variable(m.weight.detach().numpy().T), tf.Variable(m.bias.detach().numpy()))
            for m in source if isinstance(m, nn.Linear)
        ]

    def __call__(self, x):
        for i, (w, b) in enumerate(self.layers):
            x = tf.nn.bias_add(tf.matmul(x, w), b)
            if i < len(self.layers) - 1:
                x = tf.nn.relu(x)
        return x


class SACTF(tf.Module):
    def __call__(self, obs):
        mean, log_std = tf.split(self.actor(obs), 2, axis=-1)
        log_std = tf.clip_by_value(log_std, -5.0, 2.0)
        std = tf.exp(log_std)
        noise = tf.random.normal(tf.shape(mean))
        u = mean + std * noise
        squashed = tf.tanh(u)
        action = SCALE * squashed
        const = 0.5 * math.log(2 * math.pi)
        logp = -0.5 * tf.square((u - mean) / std) - tf.math.log(std) - const
        logp -= tf.math.log(SCALE * (1 - tf.square(squashed)) + 1e-6)
        logp = tf.reduce_sum(logp, axis=-1, keepdims=True)
        sa = tf.concat([obs, action], axis=-1)
        q = tf.minimum(self.q1(sa), self.q2(sa))
        return {"action": action, "logp": logp, "value": q - ALPHA * logp}


def make():
    return SACTF()


def load(net, source):
    net.actor, net.q1, net.q2 = Mlp(source.actor), Mlp(source.q1), Mlp(source.q2)
