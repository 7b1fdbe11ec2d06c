"""The TCN in plain TensorFlow: causal left padding instead of chomping, weight norm by hand."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
MODE = "train"


class WNConv(tf.Module):
    """Causal, dilated, weight-normalised 1-d convolution over (batch, time, channels)."""

    def __init__(self, n_in, n_out, kernel_size, dilation):
        super().__init__()
        self.v = tf.Variable(tf.random.normal([kernel_size, n_in, n_out], stddev=0.05))
        self.g = tf.Variable(tf.ones([n_out]))
        self.b = tf.Variable(tf.zeros([n_out]))
        self.kernel_size = kernel_size
        self.dilation = dilation

    def kernel(self):
        norm = tf.sqrt(tf.reduce_sum(tf.square(self.v), axis=[0, 1]))
        return self.v * (self.g / norm)

    def __call__(self, x):
        left = (self.kernel_size - 1) * self.dilation
        x = tf.pad(x, [[0, 0], [left, 0], [0, 0]])
        y = tf.nn.conv1d(x, self.kernel(), stride=1, padding="VALID", dilations=self.dilation)
        return y + self.b


class Block(tf.Module):
    def __init__(self, n_in, n_out, kernel_size, dilation, rate):
        super().__init__()
        self.conv1 = WNConv(n_in, n_out, kernel_size, dilation)
        self.conv2 = WNConv(n_out, n_out, kernel_size, dilation)
        self.rate = rate
        self.down = None
        if n_in != n_out:
            self.down = (tf.Variable(tf.random.normal([n_in, n_out])), tf.Variable(tf.zeros([n_out])))

    def __call__(self, x):
        y = tf.nn.relu(self.conv1(x))
        y = tf.nn.dropout(y, rate=self.rate)
        y = tf.nn.relu(self.conv2(y))
        y = tf.nn.dropout(y, rate=self.rate)
        if self.down is not None:
            x = tf.tensordot(x, self.down[0], axes=1) + self.down[1]
        return tf.nn.relu(x + y)


class TCN(tf.Module):
    def __init__(self, n_in=4, channels=(12, 12, 16), kernel_size=3, rate=0.2, n_out=5):
        super().__init__()
        self.blocks = []
        for level, n in enumerate(channels):
            self.blocks.append(Block(n_in, n, kernel_size, 2**level, rate))
            n_in = n
        self.w = tf.Variable(tf.zeros([n_in, n_out]))
        self.b = tf.Variable(tf.zeros([n_out]))

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return tf.matmul(x[:, -1], self.w) + self.b


def make():
    tf.random.set_seed(0)
    return TCN()


def _np(tensor):
    return tensor.detach().numpy()


def load(model, reference):
    for block, theirs in zip(model.blocks, reference.tcn):
        for ours, conv in ((block.conv1, theirs.conv1), (block.conv2, theirs.conv2)):
            weights = conv.parametrizations.weight
            ours.g.assign(_np(weights.original0)[:, 0, 0])
            ours.v.assign(_np(weights.original1).transpose(2, 1, 0))
            ours.b.assign(_np(conv.bias))
        if block.down is not None:
            block.down[0].assign(_np(theirs.downsample.weight)[:, :, 0].T)
            block.down[1].assign(_np(theirs.downsample.bias))
    model.w.assign(_np(reference.linear.weight).T)
    model.b.assign(_np(reference.linear.bias))
