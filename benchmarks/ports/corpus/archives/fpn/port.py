"""The FPN and its SSD-style head in Keras."""
import math
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
A, C = 2, 5
SIZES = [(12.0, 8.0), (8.0, 16.0)]
CLIP = math.log(1000.0 / 16)


def anchors_of(h, w, stride, offset=0.5):
    ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    cx, cy = (xs + offset) * stride, (ys + offset) * stride
    rows = [np.stack([cx, cy, np.full_like(cx, s[0] * stride / 4), np.full_like(cx, s[1] * stride / 4)], -1) for s in SIZES]
    return np.stack(rows, 2).reshape(-1, 4).astype("float32")


class KDetector(keras.Model):
    def __init__(self):
        super().__init__()
        self.c3 = layers.Conv2D(8, 3, 4)
        self.c4 = layers.Conv2D(12, 3, 2)
        self.pad = layers.ZeroPadding2D(1)
        self.lat3, self.lat4 = layers.Conv2D(10, 1), layers.Conv2D(10, 1)
        self.smooth3, self.smooth4 = layers.Conv2D(10, 3, padding="same"), layers.Conv2D(10, 3, padding="same")
        self.cls = layers.Conv2D(A * C, 3, padding="same")
        self.box = layers.Conv2D(A * 4, 3, padding="same")
        self.up = layers.UpSampling2D(2, interpolation="nearest")

    def call(self, x):
        c3 = tf.nn.leaky_relu(self.c3(self.pad(x)), 0.1)
        c4 = tf.nn.leaky_relu(self.c4(self.pad(c3)), 0.1)
        p4 = self.lat4(c4)
        p3 = self.lat3(c3) + self.up(p4)
        boxes, scores = [], []
        for p, smooth, stride in ((p3, self.smooth3, 4), (p4, self.smooth4, 8)):
            p = smooth(p)
            b, h, w, _ = p.shape
            cls = tf.reshape(self.cls(p), (b, -1, C))
            reg = tf.reshape(self.box(p), (b, -1, 4))
            anchors = tf.constant(anchors_of(h, w, stride, 0.5))
            vxy, vwh = 0.1, 0.2
            xy = anchors[:, :2] + reg[..., :2] * vxy * anchors[:, 2:]
            wh = anchors[:, 2:] * tf.exp(tf.minimum(reg[..., 2:] * vwh, CLIP))
            boxes.append(tf.concat([xy - wh / 2, xy + wh / 2], axis=-1))
            scores.append(tf.sigmoid(cls))
        return tf.concat(boxes, 1), tf.concat(scores, 1)


def make():
    net = KDetector()
    net(np.zeros((1, 32, 32, 3), "float32"))
    return net


def load(net, ref):
    for name in ("c3", "c4", "lat3", "lat4", "smooth3", "smooth4", "cls", "box"):
        theirs = getattr(ref, name)
        getattr(net, name).set_weights([theirs.weight.detach().numpy().transpose(2, 3, 1, 0), theirs.bias.detach().numpy()])
