"""MuZero representation / dynamics / prediction networks, unrolled K steps (Keras)."""
import numpy as np
import tensorflow as tf
import keras
from keras import layers

FRAMEWORK = "tensorflow"
S, CH, NA, K, SUP = 6, 8, 4, 3, 10


class ConvBN(layers.Layer):
    def __init__(self, ch, k=3):
        super().__init__()
        self.conv = layers.Conv2D(ch, k, padding="same", use_bias=False)
        self.bn = layers.BatchNormalization()

    def call(self, x, training=False):
        return self.bn(self.conv(x), training=training)


class Residual(layers.Layer):
    def __init__(self, ch):
        super().__init__()
        self.a, self.b = ConvBN(ch), ConvBN(ch)

    def call(self, x, training=False):
        y = tf.nn.relu(self.a(x, training=training))
        return tf.nn.relu(x + self.b(y, training=training))


class Head(layers.Layer):
    def __init__(self, out):
        super().__init__()
        self.squeeze = ConvBN(2, 1)
        self.fc = layers.Dense(16, activation="elu")
        self.out = layers.Dense(out)

    def call(self, x, training=False):
        x = tf.nn.relu(self.squeeze(x, training=training))
        x = tf.reshape(x, (tf.shape(x)[0], S * S * 2))
        return self.out(self.fc(x))


def scale_state(x):
    lo = tf.reduce_min(x, axis=(1, 2), keepdims=True)
    hi = tf.reduce_max(x, axis=(1, 2), keepdims=True)
    return (x - lo) / (hi - lo + 1e-5)


def support_to_scalar(logits, eps=0.01):
    sup = tf.range(-SUP, SUP + 1, dtype=tf.float32)
    x = tf.reduce_sum(tf.nn.softmax(logits) * sup, -1)
    return tf.sign(x) * (((tf.sqrt(1 + 4 * eps * (tf.abs(x) + 1 + eps)) - 1) / (2 * eps)) ** 2 - 1)


class MuZero(keras.Model):
    def __init__(self):
        super().__init__()
        self.rep_conv, self.rep_res = ConvBN(CH), Residual(CH)
        self.dyn_conv, self.dyn_res = ConvBN(CH), Residual(CH)
        self.reward_head = Head(2 * SUP + 1)
        self.value_head = Head(2 * SUP + 1)
        self.policy_head = Head(NA)

    def represent(self, obs, training):
        return scale_state(self.rep_res(tf.nn.relu(self.rep_conv(obs, training=training)), training=training))

    def dynamics(self, s, a, training):
        plane = tf.cast(a, tf.float32)[:, None, None, None] / NA * tf.ones_like(s[..., :1])
        y = self.dyn_conv(tf.concat([s, plane], -1), training=training)
        y = self.dyn_res(tf.nn.relu(y + s), training=training)
        return scale_state(y), self.reward_head(y, training=training)

    def call(self, inputs, training=False):
        obs, actions = inputs
        s = self.represent(obs, training)
        pol = [self.policy_head(s, training=training)]
        val = [self.value_head(s, training=training)]
        rew = []
        for k in range(K):
            s, r = self.dynamics(s, actions[:, k], training)
            rew.append(r)
            pol.append(self.policy_head(s, training=training))
            val.append(self.value_head(s, training=training))
        val, rew = tf.stack(val, 1), tf.stack(rew, 1)
        return {"policy": tf.nn.softmax(tf.stack(pol, 1)), "value_logits": val, "reward_logits": rew,
                "value": support_to_scalar(val), "reward": support_to_scalar(rew)}


def make():
    m = MuZero()
    m([tf.constant(a) for a in inputs(0)])
    g = np.random.default_rng(21)
    for w in m.weights:
        shp = tuple(w.shape)
        name = w.path.split("/")[-1]
        if name == "kernel":
            v = g.normal(size=shp) * 1.3 / np.sqrt(np.prod(shp[:-1]))
        elif name == "moving_variance":
            v = g.uniform(0.1, 0.8, shp)
        elif name == "gamma":
            v = g.uniform(0.6, 1.3, shp)
        else:
            v = 0.25 * g.normal(size=shp)
        w.assign(v.astype("float32"))
    return m


def inputs(seed):
    g = np.random.default_rng(seed)
    return g.normal(size=(4, S, S, 5)).astype(np.float32), g.integers(0, NA, (4, K)).astype(np.int32)
