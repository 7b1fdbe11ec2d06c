"""DreamerV3's world model: encoder, recurrent state-space model and two-hot heads.

Observes a short sequence. The Gumbel noise of the categorical latents is an argument,
so that a rollout can be repeated.
"""
import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"

OBS, ACT = 9, 4
DETER, GROUPS, CLASSES, UNITS = 24, 4, 6, 20
BINS = 41
UNIMIX = 0.01


def symlog(x):
    return tf.sign(x) * tf.math.log1p(tf.abs(x))


def symexp(x):
    return tf.sign(x) * tf.math.expm1(tf.abs(x))


class Dense(tf.Module):
    """Linear layer, then layer norm and an activation where asked for."""

    def __init__(self, inputs, units, rng, act=None, norm=False, name=None):
        super().__init__(name=name)
        scale = 1.0 / math.sqrt(inputs)
        self.kernel = tf.Variable(rng.normal(0, scale, (inputs, units)).astype("float32"))
        self.act = act
        self.norm = norm
        if norm:
            self.scale = tf.Variable(rng.uniform(0.8, 1.2, units).astype("float32"))
            self.offset = tf.Variable(rng.normal(0, 0.1, units).astype("float32"))
        else:
            self.bias = tf.Variable(rng.normal(0, 0.1, units).astype("float32"))

    def __call__(self, x):
        x = tf.matmul(x, self.kernel)
        if self.norm:
            mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
            x = (x - mean) * tf.math.rsqrt(var + 1e-3) * self.scale + self.offset
        else:
            x = x + self.bias
        return self.act(x) if self.act else x


class GRUCell(tf.Module):
    """GRU with one normalised matmul, as in DreamerV2 and V3."""

    def __init__(self, inputs, units, rng):
        super().__init__()
        self.units = units
        self.layer = Dense(inputs + units, 3 * units, rng, norm=True)

    def __call__(self, x, state):
        parts = self.layer(tf.concat([state, x], -1))
        reset, cand, update = tf.split(parts, 3, -1)
        reset = tf.sigmoid(reset)
        cand = tf.tanh(reset * cand)
        update = tf.sigmoid(update - 1)
        return update * cand + (1 - update) * state


class WorldModel(tf.Module):
    def __init__(self, rng):
        super().__init__()
        silu = tf.nn.silu
        stoch = GROUPS * CLASSES
        self.enc1 = Dense(OBS, UNITS, rng, silu, norm=True)
        self.enc2 = Dense(UNITS, UNITS, rng, silu, norm=True)
        self.img_in = Dense(stoch + ACT, UNITS, rng, silu, norm=True)
        self.cell = GRUCell(UNITS, DETER, rng)
        self.img_out = Dense(DETER, UNITS, rng, silu, norm=True)
        self.img_stats = Dense(UNITS, stoch, rng)
        self.obs_out = Dense(DETER + UNITS, UNITS, rng, silu, norm=True)
        self.obs_stats = Dense(UNITS, stoch, rng)
        self.reward1 = Dense(DETER + stoch, UNITS, rng, silu, norm=True)
        self.reward2 = Dense(UNITS, BINS, rng)
        self.cont = Dense(DETER + stoch, 1, rng)
        self.bins = tf.linspace(-5.0, 5.0, BINS)

    def encode(self, obs):
        return self.enc2(self.enc1(symlog(obs)))

    def log_probs(self, logits):
        logits = tf.reshape(logits, (-1, GROUPS, CLASSES))
        probs = (1 - UNIMIX) * tf.nn.softmax(logits, -1) + UNIMIX / CLASSES
        return tf.math.log(probs)

    def obs_step(self, deter, stoch, action, embed, is_first, noise):
        keep = 1.0 - is_first[:, None]
        deter, stoch, action = deter * keep, stoch * keep, action * keep
        action = action / tf.maximum(1.0, tf.abs(action))
        x = self.img_in(tf.concat([stoch, action], -1))
        deter = self.cell(x, deter)
        prior = self.log_probs(self.img_stats(self.img_out(deter)))
        x = self.obs_out(tf.concat([deter, embed], -1))
        post = self.log_probs(self.obs_stats(x))
        sample = tf.one_hot(tf.argmax(post + noise, -1), CLASSES)
        return deter, tf.reshape(sample, (-1, GROUPS * CLASSES)), prior, post

    def kl(self, post, prior):
        value = tf.reduce_sum(tf.exp(post) * (post - prior), axis=[-2, -1])
        return tf.maximum(value, 0.1)

    def reward_mean(self, feat):
        probs = tf.nn.softmax(self.reward2(self.reward1(feat)), -1)
        return symexp(tf.reduce_sum(probs * self.bins, -1))

    def __call__(self, obs, action, is_first, noise):
        batch, length = obs.shape[0], obs.shape[1]
        embed = self.encode(obs)
        deter = tf.zeros((batch, DETER))
        stoch = tf.zeros((batch, GROUPS * CLASSES))
        deters, posts, kls, rewards, conts = [], [], [], [], []
        for t in range(length):
            deter, stoch, prior, post = self.obs_step(
                deter, stoch, action[:, t], embed[:, t], is_first[:, t], noise[:, t]
            )
            feat = tf.concat([deter, stoch], -1)
            deters.append(deter)
            posts.append(post)
            kls.append(self.kl(post, prior))
            rewards.append(self.reward_mean(feat))
            conts.append(tf.sigmoid(self.cont(feat))[:, 0])
        return {
            "deter": tf.stack(deters, 1),
            "post": tf.stack(posts, 1),
            "kl": tf.stack(kls, 1),
            "reward": tf.stack(rewards, 1),
            "cont": tf.stack(conts, 1),
        }


def make(seed=0):
    return WorldModel(np.random.default_rng(seed))


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, t = 6, 5
    obs = (rng.normal(size=(b, t, OBS)) * rng.choice([0.3, 3, 30], size=(1, 1, OBS))).astype("float32")
    action = (1.2 * rng.uniform(-1, 1, size=(b, t, ACT))).astype("float32")
    is_first = np.zeros((b, t), "float32")
    is_first[:, 0] = 1
    is_first[2, 3] = 1
    is_first[4, 2] = 1
    noise = rng.gumbel(size=(b, t, GROUPS, CLASSES)).astype("float32")
    return obs, action, is_first, noise
