"""DANet in Chainer."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
LAYOUT = "NCHW"


class ConvBNReLU(chainer.Chain):
    def __init__(self, i, o, dilate=1, act=True):
        super().__init__()
        self.act = act
        with self.init_scope():
            self.conv = L.DilatedConvolution2D(i, o, 3, pad=dilate, dilate=dilate, nobias=True) if dilate > 1 \
                else L.Convolution2D(i, o, 3, pad=1, nobias=True)
            self.bn = L.BatchNormalization(o, eps=1e-5)

    def __call__(self, x):
        h = self.bn(self.conv(x))
        return F.relu(h) if self.act else h


class PositionAttention(chainer.Chain):
    def __init__(self, c):
        super().__init__()
        with self.init_scope():
            self.q = L.Convolution2D(c, c // 4, 1)
            self.k = L.Convolution2D(c, c // 4, 1)
            self.v = L.Convolution2D(c, c, 1)
            self.gamma = chainer.Parameter(np.zeros(1, "float32"))

    def __call__(self, x):
        b, c, h, w = x.shape
        q, k, v = (F.reshape(f(x), (b, -1, h * w)) for f in (self.q, self.k, self.v))
        att = F.softmax(F.matmul(q, k, transa=True), axis=2)
        out = F.reshape(F.matmul(v, att, transb=True), x.shape)
        return F.scale(out, F.broadcast_to(self.gamma, (b,)), axis=0) + x


class ChannelAttention(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.gamma = chainer.Parameter(np.zeros(1, "float32"))

    def __call__(self, x):
        b, c, h, w = x.shape
        f = F.reshape(x, (b, c, h * w))
        e = F.matmul(f, f, transb=True)
        e = F.broadcast_to(F.max(e, axis=2, keepdims=True), e.shape) - e
        out = F.reshape(F.matmul(F.softmax(e, axis=2), f), x.shape)
        return F.scale(out, F.broadcast_to(self.gamma, (b,)), axis=0) + x


class DANet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.stem = ConvBNReLU(3, 12)
            self.res1 = ConvBNReLU(12, 12)
            self.res2 = ConvBNReLU(12, 12, dilate=2, act=False)
            self.pre_p = ConvBNReLU(12, 8)
            self.pre_c = ConvBNReLU(12, 8)
            self.pam = PositionAttention(8)
            self.cam = ChannelAttention()
            self.post_p = ConvBNReLU(8, 8)
            self.post_c = ConvBNReLU(8, 8)
            self.cls_p = L.Convolution2D(8, 4, 1)
            self.cls_c = L.Convolution2D(8, 4, 1)
            self.cls = L.Convolution2D(8, 4, 1)

    def __call__(self, x):
        with chainer.using_config("train", False):
            size = x.shape[2:]
            h = F.max_pooling_2d(self.stem(x), 3, 2, 1, cover_all=False)
            h = F.relu(self.res2(self.res1(h)) + h)
            p = self.post_p(self.pam(self.pre_p(h)))
            c = self.post_c(self.cam(self.pre_c(h)))
            outs = self.cls(p + c), self.cls_p(p), self.cls_c(c)
            return tuple(F.resize_images(o, size) for o in outs)


def make():
    m = DANet()
    r = np.random.RandomState(15)
    for _, p in sorted(m.namedparams()):
        p.array[...] = r.randn(*p.shape) * 0.3
    return m


def load(ported, original):
    def a(t):
        return t.detach().numpy()

    def cbr(dst, conv, bn):
        dst.conv.W.array[...] = a(conv.weight)
        dst.bn.gamma.array[...] = a(bn.weight)
        dst.bn.beta.array[...] = a(bn.bias)
        dst.bn.avg_mean[...] = a(bn.running_mean)
        dst.bn.avg_var[...] = a(bn.running_var)

    def conv(dst, src):
        dst.W.array[...] = a(src.weight)
        dst.b.array[...] = a(src.bias)

    o, h = original, original.head
    cbr(ported.stem, o.stem[0], o.stem[1])
    cbr(ported.res1, o.block.conv1[0], o.block.conv1[1])
    cbr(ported.res2, o.block.conv2, o.block.bn2)
    cbr(ported.pre_p, h.conv5a[0], h.conv5a[1])
    cbr(ported.pre_c, h.conv5c[0], h.conv5c[1])
    cbr(ported.post_p, h.conv51[0], h.conv51[1])
    cbr(ported.post_c, h.conv52[0], h.conv52[1])
    conv(ported.pam.q, h.sa.query_conv)
    conv(ported.pam.k, h.sa.key_conv)
    conv(ported.pam.v, h.sa.value_conv)
    ported.pam.gamma.array[...] = a(h.sa.gamma)
    ported.cam.gamma.array[...] = a(h.sc.gamma)
    conv(ported.cls_p, h.conv6)
    conv(ported.cls_c, h.conv7)
    conv(ported.cls, h.conv8)


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, 3, 10, 10).astype("float32"),)
