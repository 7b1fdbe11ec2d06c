"""A feature pyramid (Lin et al. 2017) as encoder-decoder with group norm, Chainer."""
import parity  # noqa: F401  lets Chainer 7.8 run with NumPy 2
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


class ConvGN(chainer.Chain):
    def __init__(self, n_in, n_out, stride=1, groups=4):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(n_in, n_out, 3, stride, 1, nobias=True)
            self.norm = L.GroupNormalization(groups, n_out)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class FPN(chainer.Chain):
    def __init__(self, n_classes=3, width=8):
        super().__init__()
        with self.init_scope():
            self.c1 = ConvGN(3, 8)
            self.c2 = ConvGN(8, 12, 2)
            self.c3 = ConvGN(12, 16, 2)
            self.lat1 = L.Convolution2D(8, width, 1)
            self.lat2 = L.Convolution2D(12, width, 1)
            self.lat3 = L.Convolution2D(16, width, 1)
            self.smooth1 = ConvGN(width, width)
            self.smooth2 = ConvGN(width, width)
            self.smooth3 = ConvGN(width, width)
            self.head = L.Convolution2D(width, n_classes, 1)

    def upsample(self, x):
        return F.unpooling_2d(x, 2, 2, cover_all=False)

    def forward(self, x):
        c1 = self.c1(x)
        c2 = self.c2(c1)
        c3 = self.c3(c2)
        p3 = self.lat3(c3)
        p2 = self.lat2(c2) + self.upsample(p3)
        p1 = self.lat1(c1) + self.upsample(p2)
        s3 = self.smooth3(p3)
        s2 = self.smooth2(p2)
        s1 = self.smooth1(p1)
        merged = s1 + self.upsample(s2 + self.upsample(s3))
        mask = F.sigmoid(self.head(merged))
        feature = F.concat([F.average(s, axis=(2, 3)) for s in (s1, s2, s3)], axis=1)
        return mask, feature


def make():
    rng = np.random.RandomState(4)
    np.random.seed(4)
    model = FPN()
    for name, parameter in sorted(model.namedparams()):
        if name.endswith(("/b", "/beta", "/gamma")):
            parameter.array[...] += rng.normal(scale=0.2, size=parameter.shape)
    return model


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(4, 3, 12, 16)).astype("float32")
