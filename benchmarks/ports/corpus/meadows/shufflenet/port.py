"""ShuffleNet V2 in Chainer, channels first."""
import parity  # noqa: F401  (makes chainer importable here)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
STAGES = ((24, True), (24, False), (24, False), (48, True), (48, False))


def pad_same(x, stride):
    """TensorFlow's SAME for a 3x3 kernel on an even map."""
    after = 1
    before = 1 if stride == 1 else 0
    return F.pad(x, ((0, 0), (0, 0), (before, after), (before, after)), "constant")


class Conv(chainer.Chain):
    def __init__(self, cin, cout, ksize, act=True):
        super().__init__()
        self.act = act
        with self.init_scope():
            self.conv = L.Convolution2D(cin, cout, ksize, pad=ksize // 2, nobias=True)
            self.norm = L.BatchNormalization(cout, eps=1e-3)

    def forward(self, x):
        y = self.norm(self.conv(x))
        if self.act:
            y = F.relu(y)
        return y


class Depthwise(chainer.Chain):
    def __init__(self, channels, stride):
        super().__init__()
        self.stride = stride
        with self.init_scope():
            self.conv = L.DepthwiseConvolution2D(channels, 1, 3, stride=stride, nobias=True)
            self.norm = L.BatchNormalization(channels, eps=1e-3)

    def forward(self, x):
        return self.norm(self.conv(pad_same(x, self.stride)))


class Block(chainer.Chain):
    def __init__(self, cin, cout, down):
        super().__init__()
        self.down = down
        half = cout // 2
        stride = 2 if down else 1
        with self.init_scope():
            self.pw1 = Conv(cin if down else half, half, 1)
            self.dw = Depthwise(half, stride)
            self.pw2 = Conv(half, half, 1)
            if down:
                self.side_dw = Depthwise(cin, stride)
                self.side_pw = Conv(cin, half, 1)

    def forward(self, x):
        if self.down:
            a, b = self.side_pw(self.side_dw(x)), x
        else:
            a, b = F.split_axis(x, 2, axis=1)
        b = self.pw2(self.dw(self.pw1(b)))
        y = F.concat((a, b), axis=1)
        n, c, h, w = y.shape
        y = F.reshape(y, (n, 2, c // 2, h, w))
        y = F.swapaxes(y, 1, 2)
        return F.reshape(y, (n, c, h, w))


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.stem = Conv(3, 12, 3)
            self.blocks = chainer.ChainList()
            cin = 12
            for cout, down in STAGES:
                self.blocks.add_link(Block(cin, cout, down))
                cin = cout
            self.last = Conv(48, 64, 1)
            self.fc = L.Linear(64, 10)

    def forward(self, x):
        h = self.stem(x)
        h = F.max_pooling_2d(h, 3, stride=2, pad=0, cover_all=True)
        for block in self.blocks:
            h = block(h)
        h = self.last(h)
        return self.fc(F.mean(h, axis=(2, 3)))


def make(seed=1):
    np.random.seed(seed)
    return Net()


def images(rng):
    coarse = rng.uniform(-1, 1, size=(4, 8, 8, 3)).repeat(4, 1).repeat(4, 2)
    return (coarse + 0.2 * rng.normal(size=(4, 32, 32, 3))).astype("float32")


def inputs(seed=0):
    x = images(np.random.default_rng(seed))
    return x.transpose(0, 3, 1, 2).copy()


def load(ported, original):
    def norm(bn, source):
        bn.gamma.array[...], bn.beta.array[...] = source.gamma.numpy(), source.beta.numpy()
        bn.avg_mean[...], bn.avg_var[...] = source.moving_mean.numpy(), source.moving_variance.numpy()

    def conv(link, source):
        link.conv.W.array[...] = source.conv.kernel.numpy().transpose(3, 2, 0, 1)
        norm(link.norm, source.bn)

    def depthwise(link, source):
        link.conv.W.array[...] = source.conv.kernel.numpy().transpose(3, 2, 0, 1)
        norm(link.norm, source.bn)

    conv(ported.stem, original.stem)
    conv(ported.last, original.last)
    for block, unit in zip(ported.blocks, original.units):
        conv(block.pw1, unit.expand)
        depthwise(block.dw, unit.spatial)
        conv(block.pw2, unit.project)
        if block.down:
            depthwise(block.side_dw, unit.left_spatial)
            conv(block.side_pw, unit.left_project)
    ported.fc.W.array[...] = original.classify.kernel.numpy().T
    ported.fc.b.array[...] = original.classify.bias.numpy()
