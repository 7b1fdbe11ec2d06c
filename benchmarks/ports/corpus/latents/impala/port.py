"""IMPALA in Keras, with frames channels last."""
import numpy as np
import keras
import tensorflow as tf

FRAMEWORK = "tensorflow"
CH, HW, NA, FC, LH = (6, 8), 12, 4, 32, 24


class KImpala(keras.Model):
    def __init__(self):
        super().__init__()
        L = keras.layers
        conv = lambda c: L.Conv2D(c, 3, padding="same")
        self.convs = [conv(c) for c in CH]
        self.r1, self.r2 = [conv(c) for c in CH], [conv(c) for c in CH]
        self.fc, self.policy, self.baseline = L.Dense(FC, "relu"), L.Dense(NA), L.Dense(1)
        self.kernel = self.add_weight(shape=(FC + 1 + NA, 4 * LH), name="kernel")
        self.rec = self.add_weight(shape=(LH, 4 * LH), name="rec")
        self.bias = self.add_weight(shape=(4 * LH,), name="bias")

    def lstm(self, x, h, c):
        z = tf.matmul(x, self.kernel) + tf.matmul(h, self.rec) + self.bias
        i, f, g, o = tf.split(z, 4, -1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c

    def pool(self, x):
        x = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], constant_values=-np.inf)
        return tf.nn.max_pool2d(x, 3, 2, "VALID")

    def call(self, frame, reward, done, last_action):
        B, T = reward.shape
        x = tf.cast(tf.reshape(frame, (B * T, HW, HW, 3)), tf.float32)
        x = x / 255.0
        for conv, r1, r2 in zip(self.convs, self.r1, self.r2):
            x = self.pool(conv(x))
            x = x + r2(tf.nn.relu(r1(tf.nn.relu(x))))
        x = tf.nn.relu(x)
        x = tf.transpose(x, (0, 3, 1, 2))
        x = self.fc(tf.reshape(x, (B * T, -1)))
        r = tf.reshape(reward, (-1, 1))
        r = tf.clip_by_value(r, -1.0, 1.0)
        act = tf.reshape(last_action, (-1,))
        hot = tf.one_hot(act, NA)
        x = tf.reshape(tf.concat([x, r, hot], -1), (B, T, -1))
        h, c = tf.zeros((B, LH)), tf.zeros((B, LH))
        outs = []
        for t in range(T):
            nd = (1.0 - done[:, t])[:, None]
            h, c = self.lstm(x[:, t], h * nd, c * nd)
            outs.append(h)
        y = tf.stack(outs, 1)
        return {"logits": self.policy(y), "baseline": tf.squeeze(self.baseline(y), -1)}


def make():
    net = KImpala()
    fr, re, do, la = inputs(0)
    net(tf.constant(fr), tf.constant(re), tf.constant(do), tf.constant(la))
    return net


def load(net, ref):
    n = lambda t: t.detach().numpy()
    conv = lambda d, s: d.set_weights([n(s.weight).transpose(2, 3, 1, 0), n(s.bias)])
    for i in range(2):
        conv(net.convs[i], ref.convs[i]); conv(net.r1[i], ref.res[i].c1); conv(net.r2[i], ref.res[i].c2)
    for nm in ("fc", "policy", "baseline"):
        getattr(net, nm).set_weights([n(getattr(ref, nm).weight).T, n(getattr(ref, nm).bias)])
    net.kernel.assign(n(ref.core.weight_ih).T); net.rec.assign(n(ref.core.weight_hh).T)
    net.bias.assign(n(ref.core.bias_ih) + n(ref.core.bias_hh))


def inputs(seed):
    r = np.random.default_rng(seed + 9)
    done = np.zeros((3, 4), "float32")
    done[0, 2] = done[2, 1] = done[1, 0] = 1
    fr, re, do, la = (r.integers(0, 256, (3, 4, 3, HW, HW)).astype("float32"), (2 * r.normal(size=(3, 4))).astype("float32"), done, r.integers(0, NA, (3, 4)).astype("int64"))
    return fr.transpose(0, 1, 3, 4, 2).copy(), re, do, la
