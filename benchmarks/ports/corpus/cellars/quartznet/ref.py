import numpy as np
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
FEATS, VOCAB = 10, 9


class SepConvBN(chainer.Chain):
    def __init__(self, c_in, c_out, k, stride=1, dilation=1):
        super().__init__()
        pad = dilation * (k - 1) // 2
        with self.init_scope():
            self.depthwise = L.Convolution1D(c_in, c_in, k, stride, pad, nobias=True,
                                             dilate=dilation, groups=c_in)
            self.pointwise = L.Convolution1D(c_in, c_out, 1, nobias=True)
            self.bn = L.BatchNormalization(c_out, eps=1e-3)

    def forward(self, x, mask):
        x = x * F.broadcast_to(mask, x.shape)
        return self.bn(self.pointwise(self.depthwise(x)))


class Block(chainer.Chain):
    def __init__(self, c_in, c_out, k, repeat):
        super().__init__()
        with self.init_scope():
            self.subs = chainer.ChainList(
                *[SepConvBN(c_in if i == 0 else c_out, c_out, k) for i in range(repeat)])
            self.res = L.Convolution1D(c_in, c_out, 1, nobias=True)
            self.res_bn = L.BatchNormalization(c_out, eps=1e-3)

    def forward(self, x, mask):
        h = x
        last = len(self.subs) - 1
        for i, sub in enumerate(self.subs):
            h = sub(h, mask)
            if i < last:
                h = F.relu(h)
        r = self.res_bn(self.res(x * F.broadcast_to(mask, x.shape)))
        return F.relu(h + r)


class QuartzNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.c1 = SepConvBN(FEATS, 12, 5, stride=2)
            self.b1 = Block(12, 12, 5, 2)
            self.b2 = Block(12, 16, 7, 2)
            self.c2 = SepConvBN(16, 16, 7, dilation=2)
            self.c3 = L.Convolution1D(16, 20, 1, nobias=True)
            self.c3_bn = L.BatchNormalization(20, eps=1e-3)
            self.decoder = L.Convolution1D(20, VOCAB, 1)

    def forward(self, feats, mask):
        """feats (B, T, F), mask (B, T)"""
        x = F.transpose(feats, (0, 2, 1))
        m = mask[:, None, :]
        x = F.relu(self.c1(x, m))
        m = m[:, :, ::2]
        x = self.b1(x, m)
        x = self.b2(x, m)
        x = F.relu(self.c2(x, m))
        x = F.relu(self.c3_bn(self.c3(x)))
        logits = F.transpose(self.decoder(x), (0, 2, 1))
        return F.log_softmax(logits, axis=2)


class Eval(chainer.Chain):
    def __init__(self, net):
        super().__init__()
        with self.init_scope():
            self.net = net

    def forward(self, feats, mask):
        with chainer.using_config("train", False):
            return self.net(feats, mask)


def make():
    net = QuartzNet()
    r = np.random.RandomState(111)
    for n, p in sorted(net.namedparams()):
        if n.endswith("gamma"):
            p.array[...] = r.rand(*p.shape) + 0.5
        elif p.ndim == 1:
            p.array[...] = r.randn(*p.shape) * 0.3
        else:
            p.array[...] = r.randn(*p.shape) * (1.5 / np.prod(p.shape[1:])) ** 0.5
    for n, l in sorted(net.namedlinks()):
        if isinstance(l, L.BatchNormalization):
            l.avg_mean[...] = r.randn(*l.avg_mean.shape) * 0.3
            l.avg_var[...] = r.rand(*l.avg_var.shape) + 0.5
    return Eval(net)


def inputs(seed):
    r = np.random.RandomState(seed)
    x = r.randn(4, 20, FEATS).astype("float32")
    mask = np.ones((4, 20), "float32")
    mask[1, 14:] = 0
    mask[2, 17:] = 0
    mask[3, 9:] = 0
    return x, mask
