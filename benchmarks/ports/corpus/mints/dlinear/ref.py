"""DLinear (Zeng et al. 2023) with RevIN (Kim et al. 2022) and an exponentially smoothed level."""
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


class RevIN(chainer.Chain):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.eps = eps
        with self.init_scope():
            self.weight = chainer.Parameter(np.ones(channels, "float32"))
            self.bias = chainer.Parameter(np.zeros(channels, "float32"))

    def normalize(self, x):
        mean = F.mean(x, axis=1, keepdims=True)
        centred = x - F.broadcast_to(mean, x.shape)
        std = F.sqrt(F.mean(centred * centred, axis=1, keepdims=True) + self.eps)
        x = centred / F.broadcast_to(std, x.shape)
        x = x * F.broadcast_to(self.weight, x.shape) + F.broadcast_to(self.bias, x.shape)
        return x, mean, std

    def denormalize(self, y, mean, std):
        y = y - F.broadcast_to(self.bias, y.shape)
        y = y / F.broadcast_to(self.weight + self.eps**2, y.shape)
        return y * F.broadcast_to(std, y.shape) + F.broadcast_to(mean, y.shape)


def moving_average(x, kernel):
    pad = (kernel - 1) // 2
    front = F.repeat(x[:, :1], pad, axis=1)
    end = F.repeat(x[:, -1:], pad, axis=1)
    padded = F.transpose(F.concat([front, x, end], axis=1), (0, 2, 1))
    return F.transpose(F.average_pooling_1d(padded, kernel, stride=1), (0, 2, 1))


class DLinear(chainer.Chain):
    def __init__(self, seq_len=12, pred_len=5, channels=4, kernel=5):
        super().__init__()
        self.pred_len, self.kernel = pred_len, kernel
        with self.init_scope():
            self.revin = RevIN(channels)
            self.mix = L.Linear(channels, channels)
            self.smoothing = chainer.Parameter(np.zeros(channels, "float32"))
            self.linear_seasonal = L.Linear(seq_len, pred_len)
            self.linear_trend = L.Linear(seq_len, pred_len)

    def level(self, x):
        alpha = F.broadcast_to(F.sigmoid(self.smoothing), x[:, 0].shape)
        state = x[:, 0]
        for t in range(1, x.shape[1]):
            state = alpha * x[:, t] + (1 - alpha) * state
        return state

    def forward(self, x):
        x, mean, std = self.revin.normalize(x)
        x = x + F.tanh(self.mix(x, n_batch_axes=2))
        level = self.level(x)
        trend = moving_average(x, self.kernel)
        seasonal = x - trend
        seasonal = self.linear_seasonal(F.transpose(seasonal, (0, 2, 1)), n_batch_axes=2)
        trend = self.linear_trend(F.transpose(trend, (0, 2, 1)), n_batch_axes=2)
        y = F.transpose(seasonal + trend, (0, 2, 1))
        y = y + F.broadcast_to(level[:, None], y.shape)
        return self.revin.denormalize(y, mean, std)


def make():
    net = DLinear()
    rng = np.random.RandomState(10)
    for name, p in sorted(net.namedparams()):
        p.array[...] = rng.normal(size=p.shape) * 0.4
    net.revin.weight.array[...] = rng.uniform(0.6, 1.6, size=4)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    return ((rng.normal(size=(5, 12, 4)).cumsum(axis=1) * 0.7 + 1.5).astype("float32"),)
