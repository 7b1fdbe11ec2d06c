"""Deep Repeated ConvLSTM (Guez et al. 2019, "model-free planning"), Keras: D layers ticked N times per step."""
import numpy as np
import tensorflow as tf
import keras
from keras import layers

FRAMEWORK = "keras"
SIZE, CH, F, D, TICKS, ACTIONS = 12, 5, 8, 2, 3, 4


@keras.saving.register_keras_serializable()
class PoolAndInject(layers.Layer):
    def build(self, shape):
        self.fc = layers.Dense(F)
        self.fc.build((None, 2 * F))

    def call(self, h):
        pooled = tf.concat([tf.reduce_mean(h, [1, 2]), tf.reduce_max(h, [1, 2])], -1)
        vec = self.fc(pooled)
        return tf.ones_like(h) * vec[:, None, None, :]


class ConvLSTM(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.conv = layers.Conv2D(4 * F, 3, padding="same")
        self.pool = PoolAndInject()

    def call(self, i, below, h, c):
        x = tf.concat([i, below, h, self.pool(h)], -1)
        z_i, z_f, z_g, z_o = tf.split(self.conv(x), 4, axis=-1)
        c = tf.sigmoid(z_f + 1.0) * c + tf.sigmoid(z_i) * tf.tanh(z_g)
        h = tf.sigmoid(z_o) * tf.tanh(c)
        return h, c


class DRC(keras.Model):
    def __init__(self):
        super().__init__()
        self.enc1 = layers.Conv2D(F, 3, strides=2, padding="same")
        self.enc2 = layers.Conv2D(F, 3, padding="same")
        self.cells = [ConvLSTM(name=f"cell{d}") for d in range(D)]
        self.fc = layers.Dense(24, activation="relu")
        self.pi = layers.Dense(ACTIONS)
        self.v = layers.Dense(1)

    def call(self, inputs):
        obs, h0, c0 = inputs
        i = self.enc2(tf.nn.relu(self.enc1(obs)))
        h = [h0[:, d] for d in range(D)]
        c = [c0[:, d] for d in range(D)]
        for _ in range(TICKS):
            below = h[D - 1]                    # top-down skip, from the previous tick
            for d in range(D):
                h[d], c[d] = self.cells[d](i, below, h[d], c[d])
                below = h[d]
        out = tf.concat([h[D - 1], i], -1)
        out = self.fc(tf.reshape(out, [tf.shape(out)[0], (SIZE // 2) ** 2 * 2 * F]))
        return self.pi(out), tf.squeeze(self.v(out), -1), tf.stack(h, 1)


def make(seed=0):
    m = DRC()
    z = np.zeros((1, D, SIZE // 2, SIZE // 2, F), "f")
    m([np.zeros((1, SIZE, SIZE, CH), "f"), z, z])
    r = np.random.RandomState(seed)
    for v in m.weights:
        w = r.randn(*v.shape) * (1.3 / np.prod(v.shape[:-1]) ** 0.5 if len(v.shape) > 1 else 0.2)
        v.assign(w)
    return m


def inputs(seed=0):
    r = np.random.RandomState(seed)
    grid = np.eye(CH, dtype="f")[r.randint(0, CH, (4, SIZE, SIZE))]
    s = (4, D, SIZE // 2, SIZE // 2, F)
    return grid, np.tanh(r.randn(*s)).astype("f") * 0.5, r.randn(*s).astype("f") * 0.5
