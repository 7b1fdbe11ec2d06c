"""DenseNet-BC, small, in Chainer."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


class DenseLayer(chainer.Chain):
    def __init__(self, in_ch, growth):
        super().__init__()
        with self.init_scope():
            self.bn1 = L.BatchNormalization(in_ch, eps=1e-5)
            self.conv1 = L.Convolution2D(in_ch, 4 * growth, 1, nobias=True)
            self.bn2 = L.BatchNormalization(4 * growth, eps=1e-5)
            self.conv2 = L.Convolution2D(4 * growth, growth, 3, pad=1, nobias=True)

    def forward(self, x):
        h = self.conv1(F.relu(self.bn1(x)))
        h = self.conv2(F.relu(self.bn2(h)))
        return F.concat((x, h), axis=1)


class Transition(chainer.Chain):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        with self.init_scope():
            self.bn = L.BatchNormalization(in_ch, eps=1e-5)
            self.conv = L.Convolution2D(in_ch, out_ch, 1, nobias=True)

    def forward(self, x):
        h = self.conv(F.relu(self.bn(x)))
        return F.average_pooling_2d(h, 2, stride=2)


class DenseNet(chainer.Chain):
    def __init__(self, growth=4, layers=(2, 3), stem=8, classes=6):
        super().__init__()
        with self.init_scope():
            self.conv0 = L.Convolution2D(3, stem, 3, pad=1, nobias=True)
            self.bn0 = L.BatchNormalization(stem, eps=1e-5)
            ch = stem
            self.block1 = chainer.Sequential(*[DenseLayer(ch + i * growth, growth) for i in range(layers[0])])
            ch += layers[0] * growth
            self.trans = Transition(ch, ch // 2)
            ch //= 2
            self.block2 = chainer.Sequential(*[DenseLayer(ch + i * growth, growth) for i in range(layers[1])])
            ch += layers[1] * growth
            self.bn1 = L.BatchNormalization(ch, eps=1e-5)
            self.fc = L.Linear(ch, classes)

    def forward(self, x):
        h = F.relu(self.bn0(self.conv0(x)))
        h = F.max_pooling_2d(h, 3, stride=2, pad=1, cover_all=False)
        h = self.trans(self.block1(h))
        h = F.relu(self.bn1(self.block2(h)))
        h = F.average(h, axis=(2, 3))
        return self.fc(h)


def make(seed=0):
    rng = np.random.RandomState(seed)
    net = DenseNet()
    for _, p in sorted(net.namedparams()):
        noise = rng.randn(*p.shape)
        p.array[...] = noise / np.sqrt(np.prod(p.shape[1:])) if p.ndim > 1 else 0.2 * noise
    for _, link in sorted(net.namedlinks()):
        if isinstance(link, L.BatchNormalization):
            link.gamma.array += 1
            link.avg_mean[...] = 0.3 * rng.randn(*link.avg_mean.shape)
            link.avg_var[...] = rng.uniform(0.5, 1.5, link.avg_var.shape)
    return net


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    return rng.randn(4, 3, 16, 16).astype("f")
