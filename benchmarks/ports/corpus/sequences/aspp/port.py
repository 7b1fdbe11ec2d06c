"""The atrous spatial pyramid in Keras 3, NHWC."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
C, K = 12, 5


class ConvBN(layers.Layer):
    def __init__(self, o, k, **kw):
        super().__init__()
        self.conv = layers.Conv2D(o, k, use_bias=False, padding="same", **kw)
        self.bn = layers.BatchNormalization(epsilon=1e-5)

    def call(self, x, training=False):
        x = self.conv(x)
        x = self.bn(x, training=training)
        return ops.relu(x)


class KASPP(keras.Model):
    def __init__(self):
        super().__init__()
        self.stem = ConvBN(8, 3, strides=2)
        self.b0 = ConvBN(C, 1)
        self.b1 = ConvBN(C, 3, dilation_rate=2)
        self.b2 = ConvBN(C, 3, dilation_rate=4)
        self.image = ConvBN(C, 1)
        self.project = ConvBN(C, 1)
        self.classifier = layers.Conv2D(K, 1)
        self.pool = layers.MaxPooling2D(3, strides=1, padding="same")

    def call(self, x, training=False):
        h = self.pool(self.stem(x, training=training))
        size = h.shape[1:3]
        g = ops.mean(h, axis=(1, 2), keepdims=True)
        g = tf.image.resize(self.image(g, training=training), size, method="bilinear")
        parts = [b(h, training=training) for b in (self.b0, self.b1, self.b2)]
        h = ops.concatenate([*parts, g], axis=-1)
        y = self.classifier(self.project(h, training=training))
        return tf.image.resize(y, x.shape[1:3], method="bilinear")


def make():
    k = KASPP()
    k(np.zeros((1, 17, 17, 3), "float32"))
    return k


def load(k, t):
    n = lambda p: p.detach().numpy()
    for name in ("stem", "b0", "b1", "b2", "image", "project"):
        (conv, bn, _), b = getattr(t, name), getattr(k, name)
        b.conv.set_weights([n(conv.weight).transpose(2, 3, 1, 0)])
        b.bn.set_weights([n(bn.weight), n(bn.bias), n(bn.running_mean), n(bn.running_var)])
    k.classifier.set_weights([n(t.classifier.weight).transpose(2, 3, 1, 0), n(t.classifier.bias)])
