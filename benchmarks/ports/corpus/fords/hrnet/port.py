"""HRNet in Chainer."""
import numpy as np
import parity  # noqa: F401  lets chainer load
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
LAYOUT = "NCHW"
CH, JOINTS, MODULES = (6, 10), 4, 2


class ConvBN(chainer.Chain):
    def __init__(self, cin, cout, ksize, stride=1):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(cin, cout, ksize, stride, ksize // 2, nobias=True)
            self.bn = L.BatchNormalization(cout, eps=1e-5)

    def forward(self, x):
        return self.bn(self.conv(x))


class Residual(chainer.Chain):
    def __init__(self, ch):
        super().__init__()
        with self.init_scope():
            self.a = ConvBN(ch, ch, 3)
            self.b = ConvBN(ch, ch, 3)

    def forward(self, x):
        h = F.relu(self.a(x))
        h = self.b(h)
        return F.relu(h + x)


class Exchange(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.high = Residual(CH[0])
            self.low = Residual(CH[1])
            self.up = ConvBN(CH[1], CH[0], 1)
            self.down = ConvBN(CH[0], CH[1], 3, stride=2)

    def forward(self, high, low):
        high, low = self.high(high), self.low(low)
        up = F.unpooling_2d(self.up(low), 2, cover_all=False)
        fused_high = F.relu(high + up)
        fused_low = F.relu(low + self.down(high))
        return fused_high, fused_low


class HRNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.stem = ConvBN(3, 8, 3, stride=2)
            self.trans_high = ConvBN(8, CH[0], 3)
            self.trans_low = ConvBN(8, CH[1], 3, stride=2)
            self.stages = chainer.ChainList(*[Exchange() for _ in range(MODULES)])
            self.last = ConvBN(sum(CH), 12, 1)
            self.final = L.Convolution2D(12, JOINTS, 1)

    def forward(self, x):
        h = F.relu(self.stem(x))
        high = F.relu(self.trans_high(h))
        low = F.relu(self.trans_low(h))
        for stage in self.stages:
            high, low = stage(high, low)
        low = F.resize_images(low, high.shape[2:])
        h = F.concat([high, low], axis=1)
        return self.final(F.relu(self.last(h)))


def make():
    chainer.config.train = False
    rng = np.random.RandomState(6)
    m = HRNet()
    for name, p in sorted(m.namedparams()):
        z = rng.randn(*p.shape).astype("float32")
        p.array[...] = z * 0.3 if p.ndim == 4 else (1.0 if name.endswith("gamma") else 0.0) + 0.2 * z
    for link in m.links():
        if isinstance(link, L.BatchNormalization):
            link.avg_mean[...] = 0.2 * rng.randn(*link.avg_mean.shape)
            link.avg_var[...] = 0.6 + rng.rand(*link.avg_var.shape)
    return m


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, 3, 16, 12).astype("float32"),)


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}
    def conv_bn(dst, conv, bn):
        dst.conv.W.array[...] = sd[conv + ".weight"]
        dst.bn.gamma.array[...] = sd[bn + ".weight"]
        dst.bn.beta.array[...] = sd[bn + ".bias"]
        dst.bn.avg_mean[...] = sd[bn + ".running_mean"]
        dst.bn.avg_var[...] = sd[bn + ".running_var"]
    for dst, src in ((ported.stem, "stem"), (ported.trans_high, "trans0"), (ported.trans_low, "trans1"), (ported.last, "last")):
        conv_bn(dst, src + ".0", src + ".1")
    for i, s in enumerate(ported.stages):
        for j, branch in enumerate((s.high, s.low)):
            b = f"stage.{i}.branches.{j}."
            conv_bn(branch.a, b + "conv1", b + "bn1")
            conv_bn(branch.b, b + "conv2", b + "bn2")
        conv_bn(s.up, f"stage.{i}.up.0", f"stage.{i}.up.1")
        conv_bn(s.down, f"stage.{i}.down.0", f"stage.{i}.down.1")
    ported.final.W.array[...] = sd["final.weight"]
    ported.final.b.array[...] = sd["final.bias"]
