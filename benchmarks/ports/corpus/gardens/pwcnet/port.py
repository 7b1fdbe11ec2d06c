"""PWC-Net (two levels) in Chainer."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"


class ConvLReLU(chainer.Chain):
    def __init__(self, n_in, n_out, stride=1):
        super().__init__()
        with self.init_scope():
            self.c = L.Convolution2D(n_in, n_out, 3, stride, 1)

    def __call__(self, x):
        return F.leaky_relu(self.c(x), 0.1)


def cost_volume(ref, target, d=2):
    b, c, h, w = ref.shape
    t = F.pad(target, ((0, 0), (0, 0), (d, d), (d, d)), "constant")
    shifted = [F.mean(ref * t[:, :, i:i + h, j:j + w], axis=1)
               for i in range(2 * d + 1) for j in range(2 * d + 1)]
    return F.leaky_relu(F.stack(shifted, axis=1), 0.1)


def warp(x, flow):
    b, _, h, w = x.shape
    gy, gx = np.meshgrid(np.arange(h, dtype="f"), np.arange(w, dtype="f"), indexing="ij")
    pos = flow + np.broadcast_to(np.stack([gx, gy])[None], flow.shape)
    size = np.array([w - 1, h - 1], "f").reshape(1, 2, 1, 1)
    grid = 2 * pos / np.broadcast_to(size, flow.shape) - 1
    return F.spatial_transformer_sampler(x, grid)


def upsample2(x):
    h, w = x.shape[2:]
    return F.unpooling_2d(x, 2, 2, outsize=(2 * h, 2 * w))


class FlowHead(chainer.Chain):
    """DenseNet style estimator: new features go in front."""

    def __init__(self, n_in):
        super().__init__()
        with self.init_scope():
            self.c1 = ConvLReLU(n_in, 16)
            self.c2 = ConvLReLU(n_in + 16, 12)
            self.out = L.Convolution2D(n_in + 28, 2, 3, pad=1)

    def __call__(self, x):
        for c in (self.c1, self.c2):
            x = F.concat((c(x), x), axis=1)
        return self.out(x)


class PWC(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.lv1 = chainer.Sequential(ConvLReLU(3, 8, 2), ConvLReLU(8, 8))
            self.lv2 = chainer.Sequential(ConvLReLU(8, 12, 2), ConvLReLU(12, 12))
            self.head2 = FlowHead(25 + 12)
            self.head1 = FlowHead(25 + 8 + 2)
            self.ctx1 = L.DilatedConvolution2D(2, 8, 3, pad=2, dilate=2)
            self.ctx2 = L.Convolution2D(8, 2, 3, pad=1)

    def __call__(self, im1, im2):
        a1, b1 = self.lv1(im1), self.lv1(im2)
        a2, b2 = self.lv2(a1), self.lv2(b1)
        flow2 = self.head2(F.concat((cost_volume(a2, b2), a2), axis=1))
        flow1 = upsample2(flow2) * 2
        corr = cost_volume(a1, warp(b1, flow1))
        flow1 = flow1 + self.head1(F.concat((corr, a1, flow1), axis=1))
        return flow1 + self.ctx2(F.leaky_relu(self.ctx1(flow1), 0.1))


def make(seed=55):
    np.random.seed(seed)
    chainer.config.train = False
    return PWC()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    big = r.random((4, 3, 30, 38))
    big = sum(np.roll(big, (i, j), (2, 3)) for i in range(3) for j in range(3)) / 9
    big = (big - 0.5) * 4
    return big[:, :, 2:26, 2:34].astype("float32"), big[:, :, 3:27, 4:36].astype("float32")


def load(ported, original):
    def put(link, c):
        link.W.array[...] = c.weight.detach().numpy()
        link.b.array[...] = c.bias.detach().numpy()

    for seq, src in ((ported.lv1, original.pyramid.one), (ported.lv2, original.pyramid.two)):
        for link, s in zip(seq, src):
            put(link.c, s[0])
    for head, est in ((ported.head2, original.coarse), (ported.head1, original.fine)):
        put(head.c1.c, est.a[0])
        put(head.c2.c, est.b[0])
        put(head.out, est.flow)
    put(ported.ctx1, original.context[0])
    put(ported.ctx2, original.context[2])
