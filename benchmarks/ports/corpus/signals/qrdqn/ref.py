"""QR-DQN with dueling streams and factorised noise on Atari frames, Chainer."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
MODE = "train"
ACTIONS, QUANTILES = 5, 11


class NoisyLinear(chainer.Chain):
    """Factorised Gaussian noise (Fortunato et al. 2018)."""

    def __init__(self, size_in, size_out, sigma=0.5):
        super().__init__()
        self.size_in, self.size_out = size_in, size_out
        bound = 1 / np.sqrt(size_in)
        with self.init_scope():
            uniform = chainer.initializers.Uniform(bound)
            self.mu_w = chainer.Parameter(uniform, (size_out, size_in))
            self.mu_b = chainer.Parameter(uniform, (size_out,))
            self.sigma_w = chainer.Parameter(sigma * bound, (size_out, size_in))
            self.sigma_b = chainer.Parameter(sigma * bound, (size_out,))

    def noise(self, size):
        e = np.random.normal(size=size).astype("float32")
        return np.sign(e) * np.sqrt(np.abs(e))

    def forward(self, x):
        weight, bias = self.mu_w, self.mu_b
        if chainer.config.train:
            e_in, e_out = self.noise(self.size_in), self.noise(self.size_out)
            weight = weight + self.sigma_w * np.outer(e_out, e_in)
            bias = bias + self.sigma_b * e_out
        return F.linear(x, weight, bias)


class QRDQN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(4, 8, ksize=8, stride=4)
            self.conv2 = L.Convolution2D(8, 12, ksize=4, stride=2)
            self.conv3 = L.Convolution2D(12, 12, ksize=3, stride=1)
            self.value1 = L.Linear(108, 24)
            self.value2 = NoisyLinear(24, QUANTILES)
            self.advantage1 = L.Linear(108, 24)
            self.advantage2 = NoisyLinear(24, ACTIONS * QUANTILES)

    def forward(self, frames):
        h = frames / np.float32(255)
        h = F.relu(self.conv1(h))
        h = F.relu(self.conv2(h))
        h = F.relu(self.conv3(h))
        h = F.reshape(h, (h.shape[0], -1))
        value = self.value2(F.relu(self.value1(h)))
        advantage = self.advantage2(F.relu(self.advantage1(h)))
        value = F.expand_dims(value, 1)
        advantage = F.reshape(advantage, (-1, ACTIONS, QUANTILES))
        mean = F.mean(advantage, axis=1, keepdims=True)
        value, advantage, mean = F.broadcast(value, advantage, mean)
        quantiles = value + advantage - mean
        return quantiles, F.mean(quantiles, axis=2)


def make():
    np.random.seed(17)
    model = QRDQN()
    for name, parameter in model.namedparams():
        if name.endswith("/b"):
            parameter.array[...] = np.random.normal(size=parameter.shape) * 0.1
    return model


def inputs(seed):
    return np.random.default_rng(seed).integers(0, 256, (3, 4, 52, 52)).astype("float32")
