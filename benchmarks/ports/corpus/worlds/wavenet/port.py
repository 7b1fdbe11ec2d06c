"""WaveNet in Keras, channels last."""
import keras
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
Q, RES, SKIP, COND = 32, 12, 16, 6


class Block(layers.Layer):
    def __init__(self, dilation):
        super().__init__()
        self.dilated = layers.Conv1D(2 * RES, 2, dilation_rate=dilation, padding="causal")
        self.cond = layers.Dense(2 * RES, use_bias=False)
        self.res = layers.Conv1D(RES, 1)
        self.skip = layers.Conv1D(SKIP, 1)

    def call(self, x, g):
        z = self.dilated(x) + self.cond(g)[:, None, :]
        filt, gate = tf.split(z, 2, axis=-1)
        y = tf.tanh(filt) * tf.sigmoid(gate)
        return x + self.res(y), self.skip(y)


class WaveNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Embedding(Q, RES)
        self.front = layers.Conv1D(RES, 2, padding="causal")
        self.blocks = [Block(2 ** (i % 3)) for i in range(6)]
        self.post1 = layers.Conv1D(SKIP, 1, activation="relu")
        self.post2 = layers.Conv1D(Q, 1)

    def call(self, codes, speaker):
        x = self.front(self.embed(codes))
        skips = []
        for block in self.blocks:
            x, skip = block(x, speaker)
            skips.append(skip)
        y = self.post1(tf.nn.relu(tf.add_n(skips)))
        return self.post2(y)


def npy(t):
    return t.detach().cpu().numpy()


def dense(layer, linear):
    w = [npy(linear.weight).T]
    if linear.bias is not None:
        w.append(npy(linear.bias))
    layer.set_weights(w)


def conv1d(layer, conv):
    w = [npy(conv.weight).transpose(2, 1, 0)]
    if conv.bias is not None:
        w.append(npy(conv.bias))
    layer.set_weights(w)


def make():
    net = WaveNet()
    net(tf.zeros((1, 27), tf.int64), tf.zeros((1, COND)))
    return net


def load(net, ref):
    net.embed.set_weights([npy(ref.embed.weight)])
    for name in ("front", "post1", "post2"):
        conv1d(getattr(net, name), getattr(ref, name))
    for ours, theirs in zip(net.blocks, ref.blocks):
        conv1d(ours.dilated, theirs.dilated)
        conv1d(ours.res, theirs.res)
        conv1d(ours.skip, theirs.skip)
        dense(ours.cond, theirs.cond)
