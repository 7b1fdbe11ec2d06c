"""EfficientNet MBConv blocks with squeeze-excite, in Chainer."""
import parity  # noqa: F401  (Chainer needs it on NumPy 2)
import chainer
import chainer.functions as CF
import chainer.links as CL

FRAMEWORK = "chainer"


def silu(x):
    return x * CF.sigmoid(x)


class CMBConv(chainer.Chain):
    def __init__(self, cin, cout, stride, expand=4):
        super().__init__()
        mid = cin * expand
        self.skip = stride == 1 and cin == cout
        eps = 1e-5
        with self.init_scope():
            self.expand, self.bn1 = CL.Convolution2D(cin, mid, 1, nobias=True), CL.BatchNormalization(mid, eps=eps)
            self.depth = CL.Convolution2D(mid, mid, 3, stride, 1, nobias=True, groups=mid)
            self.bn2 = CL.BatchNormalization(mid, eps=eps)
            self.se1, self.se2 = CL.Convolution2D(mid, cin // 2, 1), CL.Convolution2D(cin // 2, mid, 1)
            self.project, self.bn3 = CL.Convolution2D(mid, cout, 1, nobias=True), CL.BatchNormalization(cout, eps=eps)

    def forward(self, x):
        h = silu(self.bn1(self.expand(x)))
        h = silu(self.bn2(self.depth(h)))
        s = CF.mean(h, axis=(2, 3), keepdims=True)
        s = silu(self.se1(s))
        s = CF.sigmoid(self.se2(s))
        h = self.project(h * CF.broadcast_to(s, h.shape))
        h = self.bn3(h)
        return x + h if self.skip else h


class CNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.stem = CL.Convolution2D(3, 8, 3, 2, 1)
            self.b1, self.b2, self.b3 = CMBConv(8, 8, 1), CMBConv(8, 12, 2), CMBConv(12, 12, 1)
            self.head = CL.Linear(12, 6)

    def forward(self, x):
        h = self.b3(self.b2(self.b1(silu(self.stem(x)))))
        return self.head(CF.mean(h, axis=(2, 3)))


def make():
    return CNet()


def load(net, ref):
    def conv(mine, theirs):
        mine.W.array[...] = theirs.weight.detach().numpy()
        if theirs.bias is not None:
            mine.b.array[...] = theirs.bias.detach().numpy()

    conv(net.stem, ref.stem), conv(net.head, ref.head)
    for n in ("b1", "b2", "b3"):
        mine, theirs = getattr(net, n), getattr(ref, n)
        for k in ("expand", "depth", "se1", "se2", "project"):
            conv(getattr(mine, k), getattr(theirs, k))
        for k in ("bn1", "bn2", "bn3"):
            a, b = getattr(mine, k), getattr(theirs, k)
            a.gamma.array[...], a.beta.array[...] = b.weight.detach().numpy(), b.bias.detach().numpy()
            a.avg_mean[...] = b.running_mean.numpy()
            a.avg_var[...] = b.running_var.numpy()
