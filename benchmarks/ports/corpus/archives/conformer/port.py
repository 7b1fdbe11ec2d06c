"""The Conformer block in Keras."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
D, HEADS, FF, K = 16, 4, 40, 5


class KFeedForward(layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.up = layers.Dense(FF, activation="silu")
        self.down = layers.Dense(D)

    def call(self, x):
        return self.down(self.up(self.norm(x)))


class KConv(layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.expand = layers.Conv1D(2 * D, 1)
        self.depthwise = layers.DepthwiseConv1D(K, padding="same")
        self.bn = layers.BatchNormalization(epsilon=1e-5)
        self.project = layers.Conv1D(D, 1)

    def call(self, x, training=None):
        y = self.expand(self.norm(x))
        a, gate = ops.split(y, 2, axis=-1)
        y = a * ops.sigmoid(gate)
        y = self.depthwise(y)
        y = ops.silu(self.bn(y, training=training))
        return self.project(y)


class KConformer(keras.Model):
    def __init__(self):
        super().__init__()
        self.ff1, self.ff2 = KFeedForward(), KFeedForward()
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.attention = layers.MultiHeadAttention(HEADS, D // HEADS)
        self.conv = KConv()
        self.final = layers.LayerNormalization(epsilon=1e-5)

    def call(self, x, training=None):
        x = x + 0.5 * self.ff1(x)
        h = self.norm(x)
        x = x + self.attention(h, h)
        x = x + self.conv(x, training=training)
        x = x + 0.5 * self.ff2(x)
        return self.final(x)


def n(t):
    return t.detach().numpy()


def make():
    net = KConformer()
    net(np.zeros((1, 9, D), "float32"))
    return net


def load(net, ref):
    for ours, theirs in ((net.norm, ref.norm), (net.final, ref.final), (net.conv.norm, ref.conv.norm)):
        ours.set_weights([n(theirs.weight), n(theirs.bias)])
    for ours, theirs in ((net.ff1, ref.ff1), (net.ff2, ref.ff2)):
        ours.set_weights([n(theirs[0].weight), n(theirs[0].bias), n(theirs[1].weight).T, n(theirs[1].bias), n(theirs[3].weight).T, n(theirs[3].bias)])
    a, dh = ref.attention, D // HEADS
    ws = []
    for w, b in zip(n(a.in_proj_weight).reshape(3, D, D), n(a.in_proj_bias).reshape(3, D)):
        ws += [w.T.reshape(D, HEADS, dh), b.reshape(HEADS, dh)]
    # Keras's order of weights is query, key, value, output
    net.attention.set_weights(ws + [n(a.out_proj.weight).T.reshape(HEADS, dh, D), n(a.out_proj.bias)])
    c = ref.conv
    net.conv.expand.set_weights([n(c.expand.weight).transpose(2, 1, 0), n(c.expand.bias)])
    net.conv.depthwise.set_weights([n(c.depthwise.weight).transpose(2, 0, 1), n(c.depthwise.bias)])
    net.conv.bn.set_weights([n(c.bn.weight), n(c.bn.bias), n(c.bn.running_mean), n(c.bn.running_var)])
    net.conv.project.set_weights([n(c.project.weight).transpose(2, 1, 0), n(c.project.bias)])
