"""Diffusion policy in Keras, channels last all the way through."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

FRAMEWORK = "tensorflow"
STEPS = 20


def cosine_schedule(steps, s=0.008):
    grid = np.linspace(0, 1, steps + 1)
    f = np.cos(0.5 * np.pi * (grid + s) / (1 + s)) ** 2
    return np.clip(1 - f[1:] / f[:-1], 0, 0.999).astype("float32")


def mish(x):
    return x * ops.tanh(ops.softplus(x))


def timestep_embedding(t, dim=16):
    half = dim // 2
    freqs = np.power(10000.0, -np.arange(half) / (half - 1)).astype("float32")
    angles = ops.cast(t, "float32")[:, None] * freqs
    return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=1)


class FilmBlock(layers.Layer):
    def __init__(self, filters, project, **kwargs):
        super().__init__(**kwargs)
        self.conv_a = layers.Conv1D(filters, 3, padding="same")
        self.norm_a = layers.GroupNormalization(4, epsilon=1e-5)
        self.conv_b = layers.Conv1D(filters, 3, padding="same")
        self.norm_b = layers.GroupNormalization(4, epsilon=1e-5)
        self.film = layers.Dense(2 * filters)
        self.skip = layers.Conv1D(filters, 1) if project else None

    def call(self, x, cond):
        h = mish(self.norm_a(self.conv_a(x)))
        gamma, beta = ops.split(self.film(mish(cond))[:, None, :], 2, axis=-1)
        h = gamma * h + beta
        h = mish(self.norm_b(self.conv_b(h)))
        return h + (x if self.skip is None else self.skip(x))


class Denoiser(keras.Model):
    def __init__(self):
        super().__init__()
        self.t1, self.t2 = layers.Dense(64), layers.Dense(16)
        self.enc = FilmBlock(16, True)
        self.pad = layers.ZeroPadding1D(1)
        self.pool = layers.Conv1D(16, 3, strides=2)
        self.mid = FilmBlock(24, True)
        self.unpool = layers.Conv1DTranspose(16, 4, strides=2, padding="same")
        self.dec = FilmBlock(16, True)
        self.head = layers.Conv1D(3, 1)
        betas = cosine_schedule(STEPS)
        self.beta = tf.constant(betas)
        self.alpha_bar = tf.constant(np.cumprod(1 - betas))

    def epsilon(self, x, t, obs):
        c = ops.concatenate([self.t2(mish(self.t1(timestep_embedding(t)))), obs], axis=1)
        top = self.enc(x, c)
        low = self.mid(self.pool(self.pad(top)), c)
        return self.head(self.dec(ops.concatenate([self.unpool(low), top], axis=-1), c))

    def call(self, x, t, obs):
        eps = self.epsilon(x, t, obs)
        ab = tf.gather(self.alpha_bar, t)[:, None, None]
        previous = tf.concat([[1.0], self.alpha_bar[:-1]], axis=0)
        ab_prev = tf.gather(previous, t)[:, None, None]
        b = tf.gather(self.beta, t)[:, None, None]
        x0 = tf.clip_by_value((x - tf.sqrt(1 - ab) * eps) / tf.sqrt(ab), -1.0, 1.0)
        c0 = b * tf.sqrt(ab_prev) / (1 - ab)
        ct = tf.sqrt(1 - b) * (1 - ab_prev) / (1 - ab)
        sigma = tf.sqrt(tf.maximum(b * (1 - ab_prev) / (1 - ab), 1e-20))
        z = tf.random.normal(tf.shape(x))
        step = tf.where((t > 0)[:, None, None], sigma * z, 0.0)
        return {"eps": eps, "x0": x0, "prev": c0 * x0 + ct * x + step}


def make():
    net = Denoiser()
    net(np.zeros((1, 8, 3), "f"), np.zeros(1, "int64"), np.zeros((1, 10), "f"))
    return net


def load(port, ref):
    arr = lambda p: p.detach().numpy()

    def put(layer, module):
        w = arr(module.weight)
        layer.set_weights([w.transpose(*range(w.ndim)[::-1]), arr(module.bias)])

    put(port.t1, ref.time[1])
    put(port.t2, ref.time[3])
    put(port.pool, ref.downsample)
    put(port.unpool, ref.upsample)
    put(port.head, ref.final)
    for mine, theirs in ((port.enc, ref.down1), (port.mid, ref.mid), (port.dec, ref.up1)):
        put(mine.conv_a, theirs.first.block[0])
        put(mine.norm_a, theirs.first.block[1])
        put(mine.conv_b, theirs.second.block[0])
        put(mine.norm_b, theirs.second.block[1])
        put(mine.film, theirs.cond_encoder[1])
        put(mine.skip, theirs.residual)
