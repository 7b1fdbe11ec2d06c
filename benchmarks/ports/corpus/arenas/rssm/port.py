"""The RSSM in Keras."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
DETER, STOCH, CLASSES, T, ACT, EMB, BINS = 24, 4, 6, 3, 2, 12, 15


class KerasGRU(layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(3 * DETER, use_bias=False)
        self.norm = layers.LayerNormalization(epsilon=1e-3)

    def call(self, x, h):
        parts = self.norm(self.dense(tf.concat([x, h], -1)))
        reset, cand, update = tf.split(parts, 3, -1)
        cand = tf.tanh(tf.sigmoid(reset) * cand)
        update = tf.sigmoid(update - 1)
        return update * cand + (1 - update) * h


class KerasRSSM(keras.Model):
    def __init__(self):
        super().__init__()
        self.img_in, self.img_norm = layers.Dense(32, use_bias=False), layers.LayerNormalization(epsilon=1e-3)
        self.cell = KerasGRU()
        self.obs_out, self.obs_norm = layers.Dense(32, use_bias=False), layers.LayerNormalization(epsilon=1e-3)
        self.obs_logits = layers.Dense(STOCH * CLASSES)
        self.reward = layers.Dense(BINS)
        self.bins = tf.linspace(-5.0, 5.0, BINS)

    def call(self, embed, action):
        b = embed.shape[0]
        deter, stoch = tf.zeros((b, DETER)), tf.zeros((b, STOCH * CLASSES))
        rewards, posts = [], []
        for t in range(T):
            x = tf.nn.silu(self.img_norm(self.img_in(tf.concat([stoch, action[:, t]], -1))))
            deter = self.cell(x, deter)
            x = tf.nn.silu(self.obs_norm(self.obs_out(tf.concat([deter, embed[:, t]], -1))))
            logit = tf.reshape(self.obs_logits(x), (b, STOCH, CLASSES))
            logit = tf.math.log(0.99 * tf.nn.softmax(logit) + 0.01 / CLASSES)
            idx = tf.random.categorical(tf.reshape(logit, (-1, CLASSES)), 1)[:, 0]
            stoch = tf.reshape(tf.one_hot(idx, CLASSES), (b, -1))
            probs = tf.nn.softmax(self.reward(tf.concat([deter, stoch], -1)))
            m = tf.reduce_sum(probs * self.bins, -1)
            r = tf.sign(m) * (tf.exp(tf.abs(m)) - 1)
            rewards.append(r)
            posts.append(logit)
        return tf.stack(rewards, 1), tf.stack(posts, 1)


def make():
    net = KerasRSSM()
    net(np.zeros((6, T, EMB), "float32"), np.zeros((6, T, ACT), "float32"))
    return net


def load(net, ref):
    npy = lambda p: p.detach().numpy()
    for d, n, s in ((net.img_in, net.img_norm, ref.img_in), (net.obs_out, net.obs_norm, ref.obs_out),
                    (net.cell.dense, net.cell.norm, (ref.cell.layer, ref.cell.norm))):
        d.set_weights([npy(s[0].weight).T])
        n.set_weights([npy(s[1].weight), npy(s[1].bias)])
    for d, s in ((net.obs_logits, ref.obs_logits), (net.reward, ref.reward)):
        d.set_weights([npy(s.weight).T, npy(s.bias)])
