"""The inverted residuals in Keras 3, NHWC."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"


def hard_sigmoid(x):
    return ops.relu6(x + 3.0) / 6.0


class KBlock(layers.Layer):
    def __init__(self, e, o, stride, skip):
        super().__init__()
        self.stride, self.skip = stride, skip
        norm = lambda: layers.BatchNormalization(epsilon=1e-3)
        self.expand, self.n1 = layers.Conv2D(e, 1, use_bias=False), norm()
        pad = "same" if stride == 1 else "valid"
        self.depth, self.n2 = layers.DepthwiseConv2D(3, stride, pad, use_bias=False), norm()
        self.fc1 = layers.Conv2D(e // 4, 1, activation="relu")
        self.fc2 = layers.Conv2D(e, 1)
        self.project, self.n3 = layers.Conv2D(o, 1, use_bias=False), norm()

    def act(self, x):
        return x * hard_sigmoid(x)

    def se(self, x):
        s = ops.mean(x, axis=(1, 2), keepdims=True)
        s = self.fc2(self.fc1(s))
        return x * hard_sigmoid(s)

    def call(self, x):
        h = self.act(self.n1(self.expand(x)))
        if self.stride == 2:
            h = ops.pad(h, ((0, 0), (1, 1), (1, 1), (0, 0)))
        h = self.n2(self.depth(h))
        h = self.se(self.act(h))
        h = self.project(h)
        h = self.n3(h)
        return x + h if self.skip else h


class KNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.blocks = [KBlock(16, 8, 2, False), KBlock(24, 8, 1, True)]
        self.head = layers.Dense(5)

    def call(self, x):
        x = x / 255.0
        for block in self.blocks:
            x = block(x)
        return self.head(ops.mean(x, axis=(1, 2)))


def make():
    k = KNet()
    k(np.zeros((1, 12, 12, 6), "float32"))
    return k


def load(k, t):
    n = lambda p: p.detach().numpy()

    def norm(a, b):
        b.set_weights([n(a.weight), n(a.bias), n(a.running_mean), n(a.running_var)])

    def conv(a, b):
        w = [n(a.weight).transpose(2, 3, 1, 0)]
        b.set_weights(w + ([n(a.bias)] if a.bias is not None else []))

    for a, b in zip(t.blocks, k.blocks):
        conv(a.expand[0], b.expand)
        b.depth.set_weights([n(a.depth[0].weight).transpose(2, 3, 0, 1)])
        conv(a.se.fc1, b.fc1), conv(a.se.fc2, b.fc2), conv(a.project[0], b.project)
        norm(a.expand[1], b.n1), norm(a.depth[1], b.n2), norm(a.project[1], b.n3)
    k.head.set_weights([n(t.head.weight).T, n(t.head.bias)])
