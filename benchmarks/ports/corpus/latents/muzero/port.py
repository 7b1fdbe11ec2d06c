"""MuZero in Keras, channels last."""
import numpy as np
import keras
import tensorflow as tf

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
C, NA, SUP, HW = 8, 5, 10, 6


class KMuZero(keras.Model):
    def __init__(self):
        super().__init__()
        L = keras.layers
        bn = lambda: L.BatchNormalization(epsilon=1e-5)
        conv = lambda n, k=3, **kw: L.Conv2D(n, k, padding="same", **kw)
        self.rc, self.rb, self.dc, self.db = conv(C), bn(), conv(C), bn()
        self.rr = [conv(C, use_bias=False), bn(), conv(C, use_bias=False), bn()]
        self.dr = [conv(C, use_bias=False), bn(), conv(C, use_bias=False), bn()]
        self.rew1, self.pol1, self.val1 = conv(2, 1), conv(2, 1), conv(2, 1)
        self.rew2, self.pol2, self.val2 = L.Dense(2 * SUP + 1), L.Dense(NA), L.Dense(2 * SUP + 1)

    def res(self, layers, x):
        c1, b1, c2, b2 = layers
        y = b2(c2(tf.nn.relu(b1(c1(x)))))
        return tf.nn.relu(y + x)

    def scale(self, s):
        axes = (1, 2)
        lo = tf.reduce_min(s, axes, keepdims=True)
        hi = tf.reduce_max(s, axes, keepdims=True)
        return (s - lo) / (hi - lo + 1e-5)

    def inverse(self, logits):
        support = tf.range(-SUP, SUP + 1, dtype=tf.float32)
        x = tf.reduce_sum(tf.nn.softmax(logits) * support, 1)
        eps = 0.001
        root = (tf.sqrt(1 + 4 * eps * (tf.abs(x) + 1 + eps)) - 1) / (2 * eps)
        return tf.sign(x) * (root**2 - 1)

    def flat(self, x):
        return tf.reshape(tf.transpose(x, (0, 3, 1, 2)), (-1, 2 * HW * HW))

    def call(self, obs, action):
        s = self.scale(self.res(self.rr, tf.nn.relu(self.rb(self.rc(obs)))))
        a = tf.cast(action, tf.float32)
        a = a / NA
        plane = tf.ones_like(s[..., :1]) * a[:, None, None, None]
        x = tf.concat([s, plane], -1)
        x = self.res(self.dr, tf.nn.relu(self.db(self.dc(x)) + s))
        reward = self.inverse(self.rew2(self.flat(tf.nn.relu(self.rew1(x)))))
        n = self.scale(x)
        policy = tf.nn.log_softmax(self.pol2(self.flat(tf.nn.relu(self.pol1(n)))))
        value = self.inverse(self.val2(self.flat(tf.nn.relu(self.val1(n)))))
        return {"reward": reward, "policy": policy, "value": value}


def make():
    net = KMuZero()
    net(tf.zeros((1, HW, HW, 3)), np.zeros(1, "int64"))
    return net


def load(net, ref):
    n = lambda t: t.detach().numpy()
    def conv(d, s):
        d.set_weights([n(s.weight).transpose(2, 3, 1, 0)] + ([n(s.bias)] if s.bias is not None else []))
    def bn(d, s):
        w = [n(s.weight), n(s.bias), n(s.running_mean), n(s.running_var)]
        d.set_weights(w)
    for nm in ("rc", "dc", "rew1", "pol1", "val1"):
        conv(getattr(net, nm), getattr(ref, nm))
    for nm in ("rew2", "pol2", "val2"):
        getattr(net, nm).set_weights([n(getattr(ref, nm).weight).T, n(getattr(ref, nm).bias)])
    bn(net.rb, ref.rb); bn(net.db, ref.db)
    for l, t in ((net.rr, ref.rr), (net.dr, ref.dr)):
        conv(l[0], t.c1); bn(l[1], t.b1); conv(l[2], t.c2); bn(l[3], t.b2)
