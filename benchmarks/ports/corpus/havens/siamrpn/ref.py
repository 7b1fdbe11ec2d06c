"""SiamRPN++ (Li et al. 2019) in Chainer, small: depthwise correlation of an exemplar with a search region."""
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
ANCHORS, WIDTH, STRIDE = 3, 10, 4
SIZES = np.array([[16, 8], [11, 11], [8, 16]], dtype="f")


class Backbone(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 8, 3, stride=2, pad=1, nobias=True)
            self.bn1 = L.BatchNormalization(8)
            self.conv2 = L.Convolution2D(8, WIDTH, 3, pad=1, nobias=True)
            self.bn2 = L.BatchNormalization(WIDTH)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.max_pooling_2d(h, 2, stride=2)
        return F.relu(self.bn2(self.conv2(h)))


class DepthwiseHead(chainer.Chain):
    def __init__(self, outputs):
        super().__init__()
        with self.init_scope():
            self.kernel = L.Convolution2D(WIDTH, WIDTH, 3)
            self.search = L.Convolution2D(WIDTH, WIDTH, 3)
            self.head = L.Convolution2D(WIDTH, outputs, 1)

    def forward(self, z, x):
        kernel, search = F.relu(self.kernel(z)), F.relu(self.search(x))
        b, c, kh, kw = kernel.shape
        response = F.convolution_2d(
            F.reshape(search, (1, b * c) + search.shape[2:]),
            F.reshape(kernel, (b * c, 1, kh, kw)),
            groups=b * c,
        )
        response = F.reshape(response, (b, c) + response.shape[2:])
        return self.head(response * (1.0 / (kh * kw)))


class SiamRPN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.backbone = Backbone()
            self.cls = DepthwiseHead(2 * ANCHORS)
            self.loc = DepthwiseHead(4 * ANCHORS)

    def centres(self, n):
        return ((np.arange(n) - (n - 1) / 2) * STRIDE).astype("f")

    def forward(self, exemplar, region):
        z, x = self.backbone(exemplar), self.backbone(region)
        cls, loc = self.cls(z, x), self.loc(z, x)
        b, _, h, w = cls.shape
        score = F.softmax(F.reshape(cls, (b, 2, ANCHORS, h, w)), axis=1)[:, 1]
        dx, dy, dw, dh = F.separate(F.reshape(loc, (b, 4, ANCHORS, h, w)), axis=1)
        ones = np.ones(dx.shape, "f")
        aw, ah = ones * SIZES[:, 0][:, None, None], ones * SIZES[:, 1][:, None, None]
        ax, ay = ones * self.centres(w)[None, None, None, :], ones * self.centres(h)[None, None, :, None]
        boxes = F.stack([dx * aw + ax, dy * ah + ay, F.exp(dw) * aw, F.exp(dh) * ah], axis=4)
        return F.reshape(score, (b, -1)), F.reshape(boxes, (b, -1, 4))


def make():
    rng = np.random.RandomState(91)
    net = SiamRPN()
    for path, p in net.namedparams():
        if path.endswith("gamma"):
            p.array[...] = rng.uniform(0.7, 1.4, p.shape)
        else:
            p.array[...] = rng.normal(0, 0.05 if path.endswith("loc/head/W") else 0.2, p.shape)
    for bn in (net.backbone.bn1, net.backbone.bn2):
        bn.avg_mean[...] = rng.normal(0, 0.2, bn.avg_mean.shape)
        bn.avg_var[...] = rng.uniform(0.3, 1.5, bn.avg_var.shape)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    region = rng.normal(size=(4, 3, 48, 48)) * 0.5
    region += np.linspace(-1, 1, 48)[None, None, None, :] * rng.normal(size=(4, 3, 1, 1))
    exemplar = region[:, :, 12:36, 10:34] + 0.1 * rng.normal(size=(4, 3, 24, 24))
    return exemplar.astype("f"), region.astype("f")
