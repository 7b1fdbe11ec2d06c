"""AlphaGo's supervised policy and value nets on a small board, averaged over the rotations."""
import numpy as np

import parity  # noqa: F401  lets chainer load
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
LAYOUT = "NCHW"
BOARD, PLANES, FILTERS = 7, 5, 8


def rotate(x, k):
    """k quarter turns of (batch, channel, row, column), as np.rot90 turns."""
    for _ in range(k % 4):
        x = F.flip(F.transpose(x, (0, 1, 3, 2)), 2)
    return x


class PolicyNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(PLANES, FILTERS, 5, pad=2)
            self.conv2 = L.Convolution2D(FILTERS, FILTERS, 3, pad=1)
            self.conv3 = L.Convolution2D(FILTERS, FILTERS, 3, pad=1)
            self.last = L.Convolution2D(FILTERS, 1, 1, nobias=True)
            self.position = L.Bias(axis=1, shape=(BOARD * BOARD,))

    def forward(self, planes):
        h = F.relu(self.conv1(planes))
        h = F.relu(self.conv2(h))
        h = F.relu(self.conv3(h))
        return self.position(F.reshape(self.last(h), (-1, BOARD * BOARD)))


class ValueNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(PLANES + 1, FILTERS, 3, pad=1)
            self.bn = L.BatchNormalization(FILTERS)
            self.conv2 = L.Convolution2D(FILTERS, 2, 1)
            self.fc1 = L.Linear(2 * BOARD * BOARD, 16)
            self.fc2 = L.Linear(16, 1)

    def forward(self, planes, colour):
        h = F.concat([planes, colour], axis=1)
        h = F.relu(self.bn(self.conv1(h)))
        h = F.relu(self.conv2(h))
        return F.tanh(self.fc2(F.relu(self.fc1(h))))


class AlphaGo(chainer.Chain):
    TEMPERATURE = 0.67

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.policy = PolicyNet()
            self.value = ValueNet()

    def forward(self, planes, colour, sensible):
        total = 0
        for k in range(4):
            logits = self.policy(rotate(planes, k))
            p = F.softmax(logits)
            p = rotate(F.reshape(p, (-1, 1, BOARD, BOARD)), -k)
            total = total + F.reshape(p, (-1, BOARD * BOARD))
        mean = total / 4
        sensible = sensible.reshape(len(sensible), -1)
        heated = F.exp(F.log(mean) / self.TEMPERATURE) * sensible
        prior = heated / F.broadcast_to(F.sum(heated, axis=1, keepdims=True), heated.shape)
        entropy = -F.sum(mean * F.log(mean), axis=1)
        return prior, self.value(planes, colour), entropy


def make():
    net = AlphaGo()
    rng = np.random.default_rng(19)
    for path, p in sorted(net.namedparams()):
        fan = np.prod(p.shape[1:]) if p.array.ndim > 1 else 8
        p.array[...] = 1.3 * rng.normal(size=p.shape) / np.sqrt(fan)
        if path.endswith("gamma"):
            p.array[...] += 1
        if path.endswith("fc2/W"):
            p.array[...] *= 0.4
    net.value.bn.avg_mean[...] = 0.4 * rng.normal(size=FILTERS)
    net.value.bn.avg_var[...] = 0.6 + rng.random(FILTERS)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 4
    stones = np.eye(3)[rng.integers(0, 3, (b, BOARD, BOARD))].transpose(0, 3, 1, 2)
    liberties = rng.random((b, 2, BOARD, BOARD))
    planes = np.concatenate([stones, liberties], 1)
    colour = np.broadcast_to(np.array([1, 0, 1, 0])[:, None, None, None], (b, 1, BOARD, BOARD))
    sensible = rng.random((b, 1, BOARD, BOARD)) > 0.3
    return planes.astype("float32"), colour.astype("float32"), sensible.astype("float32")
