"""MobileNetV3 in Chainer, channels first."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
SIZE, N_CLASS = 24, 10


def relu6(x):
    return F.clip(x, 0.0, 6.0)


def h_sigmoid(x):
    return relu6(x + 3.0) / 6.0


def h_swish(x):
    return x * h_sigmoid(x)


class ConvBN(chainer.Chain):
    """TF's "same" convolution, batch norm, activation."""

    def __init__(self, n_in, n_out, ksize=1, stride=1, groups=1, act=None):
        super().__init__()
        self.ksize, self.stride, self.act = ksize, stride, act
        with self.init_scope():
            self.conv = L.Convolution2D(n_in, n_out, ksize, stride, nobias=True, groups=groups)
            self.bn = L.BatchNormalization(n_out, eps=1e-3)

    def pad(self, x):
        widths = [(0, 0), (0, 0)]
        for size in x.shape[2:]:
            out = -(-size // self.stride)
            total = max((out - 1) * self.stride + self.ksize - size, 0)
            widths.append((total // 2, total - total // 2))
        return F.pad(x, widths, "constant")

    def forward(self, x):
        h = self.bn(self.conv(self.pad(x)))
        return h if self.act is None else self.act(h)


class SE(chainer.Chain):
    def __init__(self, ch):
        super().__init__()
        with self.init_scope():
            self.down = L.Linear(ch, ch // 4)
            self.up = L.Linear(ch // 4, ch)

    def forward(self, x):
        pooled = F.mean(x, axis=(2, 3))
        return h_sigmoid(self.up(F.relu(self.down(pooled))))[:, :, None, None]


class InvertedResidual(chainer.Chain):
    def __init__(self, n_in, k, mid, n_out, se, act, stride):
        super().__init__()
        self.shortcut = stride == 1 and n_in == n_out
        self.use_se = se
        with self.init_scope():
            self.expand = ConvBN(n_in, mid, act=act)
            self.depthwise = ConvBN(mid, mid, k, stride, groups=mid, act=act)
            if se:
                self.se = SE(mid)
            self.project = ConvBN(mid, n_out)

    def forward(self, x):
        e = self.expand(x)
        h = self.depthwise(e)
        if self.use_se:
            h = h * F.broadcast_to(self.se(h), h.shape)
        h = self.project(h)
        return h + x if self.shortcut else h


class MobileNetV3(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.stem = ConvBN(3, 8, 3, 2, act=h_swish)
            self.blocks = chainer.ChainList(
                InvertedResidual(8, 3, 16, 8, True, F.relu, 2),
                InvertedResidual(8, 3, 32, 12, False, F.relu, 1),
                InvertedResidual(12, 5, 36, 12, True, h_swish, 1),
                InvertedResidual(12, 5, 48, 16, True, h_swish, 2),
            )
            self.last = ConvBN(16, 48, act=h_swish)
            self.fc = L.Linear(48, 32)
            self.logits = L.Linear(32, N_CLASS)

    def forward(self, image):
        h = self.stem(image)
        for block in self.blocks:
            h = block(h)
        h = F.mean(self.last(h), axis=(2, 3))
        return self.logits(h_swish(self.fc(h)))


def make(seed=13):
    rng = np.random.RandomState(seed)
    np.random.seed(seed)
    net = MobileNetV3()
    for link in net.links():
        if isinstance(link, L.BatchNormalization):
            link.gamma.data[...] = rng.uniform(0.8, 1.5, link.gamma.shape)
            link.beta.data[...] = rng.normal(0, 0.2, link.beta.shape)
            link.avg_mean[...] = rng.normal(0, 0.2, link.avg_mean.shape)
            link.avg_var[...] = rng.uniform(0.1, 0.9, link.avg_var.shape)
        elif isinstance(link, L.Linear):
            link.b.data[...] = rng.normal(0, 0.2, link.b.shape)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    coarse = rng.normal(size=(4, 6, 6, 3)).repeat(4, axis=1).repeat(4, axis=2)
    image = np.clip(coarse + 0.3 * rng.normal(size=coarse.shape), -2, 2).astype("float32")
    return (np.ascontiguousarray(image.transpose(0, 3, 1, 2)),)


def load(ported, original):
    def get(name):
        return original.get_layer(name).get_weights()

    def conv_bn(ours, name, depthwise=False):
        (kernel,) = get(name)
        ours.conv.W.data[...] = kernel.transpose((2, 3, 0, 1) if depthwise else (3, 2, 0, 1))
        bn = ours.bn
        bn.gamma.data[...], bn.beta.data[...], bn.avg_mean[...], bn.avg_var[...] = get(name + "_bn")

    def linear(ours, name):
        kernel, bias = get(name)
        ours.W.data[...] = kernel.reshape(kernel.shape[-2:]).T
        ours.b.data[...] = bias

    conv_bn(ported.stem, "stem")
    for i, block in enumerate(ported.blocks):
        conv_bn(block.expand, f"b{i}_pw")
        conv_bn(block.depthwise, f"b{i}_dw", depthwise=True)
        conv_bn(block.project, f"b{i}_project")
        if block.use_se:
            linear(block.se.down, f"b{i}_se_reduce")
            linear(block.se.up, f"b{i}_se_expand")
    conv_bn(ported.last, "last")
    linear(ported.fc, "fc")
    linear(ported.logits, "logits")
