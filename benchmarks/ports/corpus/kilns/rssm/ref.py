"""Dreamer's recurrent state-space model in TensorFlow, with the noise given from outside."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

FRAMEWORK = "tensorflow"


class NormGRU(layers.Layer):
    """DreamerV2's GRU: one matrix, layer norm over all gates, update gate biased by -1."""

    def __init__(self, size):
        super().__init__()
        self.size = size
        self.dense = layers.Dense(3 * size, use_bias=False)
        self.norm = layers.LayerNormalization(epsilon=1e-3)

    def call(self, x, state):
        parts = self.norm(self.dense(tf.concat([x, state], -1)))
        reset, cand, update = tf.split(parts, 3, -1)
        reset = tf.nn.sigmoid(reset)
        cand = tf.nn.tanh(reset * cand)
        update = tf.nn.sigmoid(update - 1.0)
        return update * cand + (1.0 - update) * state


class RSSM(keras.Model):
    def __init__(self, stoch=6, deter=20, hidden=24, min_std=0.1):
        super().__init__()
        self.stoch, self.deter, self.min_std = stoch, deter, min_std
        self.encoder = layers.Dense(hidden, activation="elu")
        self.img_in = layers.Dense(hidden, activation="elu")
        self.cell = NormGRU(deter)
        self.img_out = layers.Dense(hidden, activation="elu")
        self.img_dist = layers.Dense(2 * stoch)
        self.obs_out = layers.Dense(hidden, activation="elu")
        self.obs_dist = layers.Dense(2 * stoch)
        self.reward_hidden = layers.Dense(hidden, activation="elu")
        self.reward = layers.Dense(1)

    def stats(self, x):
        mean, std = tf.split(x, 2, -1)
        return mean, tf.nn.softplus(std) + self.min_std

    def kl(self, p, q):
        (pm, ps), (qm, qs) = p, q
        terms = tf.math.log(qs / ps) + (ps**2 + (pm - qm) ** 2) / (2.0 * qs**2) - 0.5
        return tf.reduce_sum(terms, -1)

    def call(self, obs, action, is_first, noise):
        embed = self.encoder(obs)
        batch = tf.shape(obs)[0]
        stoch = tf.zeros([batch, self.stoch], obs.dtype)
        deter = tf.zeros([batch, self.deter], obs.dtype)
        feats, kls = [], []
        for t in range(obs.shape[1]):
            keep = 1.0 - is_first[:, t, None]
            stoch, deter, act = stoch * keep, deter * keep, action[:, t] * keep
            x = self.img_in(tf.concat([stoch, act], -1))
            deter = self.cell(x, deter)
            prior = self.stats(self.img_dist(self.img_out(deter)))
            x = self.obs_out(tf.concat([deter, embed[:, t]], -1))
            post = self.stats(self.obs_dist(x))
            stoch = post[0] + post[1] * noise[:, t]
            feats.append(tf.concat([stoch, deter], -1))
            kls.append(self.kl(post, prior))
        feat = tf.stack(feats, 1)
        kl = tf.stack(kls, 1)
        reward = self.reward(self.reward_hidden(feat))[..., 0]
        loss = tf.maximum(tf.reduce_mean(kl), 0.5)
        return feat, kl, reward, loss


def make():
    net = RSSM()
    net(*[tf.constant(a) for a in inputs(0)])
    rng = np.random.default_rng(31)
    for v in net.weights:
        if len(v.shape) > 1:
            v.assign(rng.normal(size=v.shape) * 1.2 / np.sqrt(v.shape[0]))
        else:
            v.assign(rng.normal(size=v.shape) * 0.3 + (1.0 if "gamma" in v.name else 0.0))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b, t = 4, 5
    first = (rng.random((b, t)) < 0.25).astype("float32")
    first[:, 0] = 1
    return (
        rng.normal(size=(b, t, 14)).astype("float32"),
        rng.uniform(-1, 1, size=(b, t, 3)).astype("float32"),
        first,
        rng.normal(size=(b, t, 6)).astype("float32"),
    )
