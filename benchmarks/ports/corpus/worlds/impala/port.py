"""IMPALA's deep network in Keras, NHWC."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
ACT = 6


class Residual(layers.Layer):
    def __init__(self, ch):
        super().__init__()
        self.conv0 = layers.Conv2D(ch, 3, padding="same")
        self.conv1 = layers.Conv2D(ch, 3, padding="same")

    def call(self, x):
        y = self.conv0(tf.nn.relu(x))
        y = self.conv1(tf.nn.relu(y))
        return x + y


class Section(layers.Layer):
    def __init__(self, ch):
        super().__init__()
        self.conv = layers.Conv2D(ch, 3, padding="same")
        self.res0 = Residual(ch)
        self.res1 = Residual(ch)

    def call(self, x):
        x = self.conv(x)
        x = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], constant_values=-np.inf)
        x = tf.nn.max_pool2d(x, 3, 2, "VALID")
        return self.res1(self.res0(x))


class Impala(keras.Model):
    def __init__(self):
        super().__init__()
        self.sections = [Section(8), Section(12)]
        self.flat = layers.Flatten()
        self.fc = layers.Dense(32, activation="relu")
        self.core = layers.LSTMCell(20)
        self.policy = layers.Dense(ACT)
        self.baseline = layers.Dense(1)

    def call(self, frame, last_action, reward, done, h, c):
        T, B = frame.shape[0], frame.shape[1]
        x = tf.reshape(tf.cast(frame, tf.float32), (T * B, *frame.shape[2:])) / 255.0
        for section in self.sections:
            x = section(x)
        x = self.fc(self.flat(tf.nn.relu(x)))
        one_hot = tf.one_hot(tf.reshape(last_action, (-1,)), ACT)
        clipped = tf.reshape(tf.clip_by_value(reward, -1.0, 1.0), (-1, 1))
        core_in = tf.reshape(tf.concat([x, clipped, one_hot], axis=-1), (T, B, -1))
        outs = []
        for t in range(T):
            keep = (1.0 - done[t])[:, None]
            out, (h, c) = self.core(core_in[t], [h * keep, c * keep])
            outs.append(out)
        out = tf.stack(outs)
        return {
            "logits": self.policy(out),
            "baseline": tf.squeeze(self.baseline(out), -1),
            "h": h,
            "c": c,
        }


def npy(t):
    return t.detach().cpu().numpy()


def dense(layer, linear):
    w = [npy(linear.weight).T]
    if linear.bias is not None:
        w.append(npy(linear.bias))
    layer.set_weights(w)


def conv2d(layer, conv):
    layer.set_weights([npy(conv.weight).transpose(2, 3, 1, 0), npy(conv.bias)])


def make():
    net = Impala()
    net(tf.zeros((1, 1, 24, 24, 3), tf.uint8), tf.zeros((1, 1), tf.int64), tf.zeros((1, 1)),
        tf.zeros((1, 1)), tf.zeros((1, 20)), tf.zeros((1, 20)))
    return net


def load(net, ref):
    for ours, theirs in zip(net.sections, ref.sections):
        conv2d(ours.conv, theirs.conv)
        for a, b in ((ours.res0, theirs.res0), (ours.res1, theirs.res1)):
            conv2d(a.conv0, b.conv0)
            conv2d(a.conv1, b.conv1)
    for name in ("fc", "policy", "baseline"):
        dense(getattr(net, name), getattr(ref, name))
    cell = ref.core
    net.core.set_weights([
        npy(cell.weight_ih).T,
        npy(cell.weight_hh).T,
        npy(cell.bias_ih) + npy(cell.bias_hh),
    ])
