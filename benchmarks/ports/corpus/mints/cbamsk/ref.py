"""Selective-kernel unit (Li et al. 2019) followed by CBAM (Woo et al. 2018), in Chainer."""
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
LAYOUT = "NCHW"


class SKUnit(chainer.Chain):
    def __init__(self, cin, cout, reduced):
        super().__init__()
        with self.init_scope():
            self.conv3 = L.Convolution2D(cin, cout, 3, pad=1, nobias=True)
            self.bn3 = L.BatchNormalization(cout)
            self.conv5 = L.DilatedConvolution2D(cin, cout, 3, pad=2, dilate=2, nobias=True)
            self.bn5 = L.BatchNormalization(cout)
            self.squeeze = L.Linear(cout, reduced, nobias=True)
            self.bn = L.BatchNormalization(reduced)
            self.select_a = L.Linear(reduced, cout)
            self.select_b = L.Linear(reduced, cout)

    def forward(self, x):
        u3 = F.relu(self.bn3(self.conv3(x)))
        u5 = F.relu(self.bn5(self.conv5(x)))
        s = F.average(u3 + u5, axis=(2, 3))
        z = F.relu(self.bn(self.squeeze(s)))
        logits = F.stack([self.select_a(z), self.select_b(z)], axis=1)
        weights = F.softmax(logits, axis=1)
        feats = F.stack([u3, u5], axis=1)
        weights = F.broadcast_to(weights[:, :, :, None, None], feats.shape)
        return F.sum(weights * feats, axis=1)


class ChannelGate(chainer.Chain):
    def __init__(self, channels, reduced):
        super().__init__()
        with self.init_scope():
            self.fc1 = L.Linear(channels, reduced)
            self.fc2 = L.Linear(reduced, channels)

    def mlp(self, x):
        return self.fc2(F.relu(self.fc1(x)))

    def forward(self, x):
        avg = self.mlp(F.average(x, axis=(2, 3)))
        mx = self.mlp(F.max(x, axis=(2, 3)))
        scale = F.sigmoid(avg + mx)
        return x * F.broadcast_to(scale[:, :, None, None], x.shape)


class SpatialGate(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(2, 1, 7, pad=3, nobias=True)
            self.bn = L.BatchNormalization(1)

    def forward(self, x):
        compressed = F.concat([F.max(x, axis=1, keepdims=True), F.mean(x, axis=1, keepdims=True)], axis=1)
        scale = F.sigmoid(self.bn(self.conv(compressed)))
        return x * F.broadcast_to(scale, x.shape)


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.stem = L.Convolution2D(3, 8, 3, stride=2, pad=1)
            self.sk = SKUnit(8, 8, 5)
            self.channel = ChannelGate(8, 3)
            self.spatial = SpatialGate()
            self.fc = L.Linear(8, 6)

    def forward(self, x):
        x = F.relu(self.stem(x))
        y = self.sk(x)
        y = self.spatial(self.channel(y))
        y = F.relu(x + y)
        return self.fc(F.average(y, axis=(2, 3)))


def make():
    net = Net()
    rng = np.random.RandomState(4)
    for name, p in sorted(net.namedparams()):
        noise = rng.normal(size=p.shape).astype("float32")
        p.array[...] = 1 + 0.2 * noise if name.endswith("gamma") else 0.25 * noise
    for _, link in sorted(net.namedlinks()):
        if isinstance(link, L.BatchNormalization):
            link.avg_mean[...] = rng.normal(size=link.avg_mean.shape) * 0.2
            link.avg_var[...] = rng.uniform(0.4, 1.5, size=link.avg_var.shape)
    return net


def inputs(seed):
    return (np.random.default_rng(seed).normal(size=(4, 3, 12, 12)).astype("float32"),)
