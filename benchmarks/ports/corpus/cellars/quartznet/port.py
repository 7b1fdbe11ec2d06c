import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
FEATS, VOCAB = 10, 9


class MaskedSepConv(layers.Layer):
    def __init__(self, filters, kernel_size, strides=1, dilation=1, **kw):
        super().__init__(**kw)
        total = dilation * (kernel_size - 1)
        self.pad = layers.ZeroPadding1D(total // 2)
        self.conv = layers.SeparableConv1D(filters, kernel_size, strides=strides, padding="valid",
                                           dilation_rate=dilation, use_bias=False)
        self.bn = layers.BatchNormalization(epsilon=1e-3)

    def call(self, x, mask):
        x = self.pad(x * mask)
        return self.bn(self.conv(x), training=False)


class QuartzBlock(layers.Layer):
    def __init__(self, filters, kernel_size, repeat, **kw):
        super().__init__(**kw)
        self.subs = [MaskedSepConv(filters, kernel_size) for _ in range(repeat)]
        self.res = layers.Conv1D(filters, 1, use_bias=False)
        self.res_bn = layers.BatchNormalization(epsilon=1e-3)

    def call(self, x, mask):
        h = x
        for sub in self.subs[:-1]:
            h = ops.relu(sub(h, mask))
        h = self.subs[-1](h, mask)
        h = h + self.res_bn(self.res(x * mask), training=False)
        return ops.relu(h)


class QuartzNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.c1 = MaskedSepConv(12, 5, strides=2)
        self.b1 = QuartzBlock(12, 5, 2)
        self.b2 = QuartzBlock(16, 7, 2)
        self.c2 = MaskedSepConv(16, 7, dilation=2)
        self.c3 = layers.Conv1D(20, 1, use_bias=False)
        self.c3_bn = layers.BatchNormalization(epsilon=1e-3)
        self.decoder = layers.Dense(VOCAB)

    def call(self, feats, lengths_mask):
        mask = ops.expand_dims(lengths_mask, -1)
        x = ops.relu(self.c1(feats, mask))
        mask = mask[:, ::2]
        x = self.b2(self.b1(x, mask), mask)
        x = ops.relu(self.c2(x, mask))
        x = ops.relu(self.c3_bn(self.c3(x), training=False))
        return ops.log_softmax(self.decoder(x), axis=-1)


def make():
    keras.utils.set_random_seed(121)
    m = QuartzNet()
    m(np.zeros((1, 20, FEATS), "float32"), np.ones((1, 20), "float32"))
    r = np.random.RandomState(122)
    for w in m.weights:
        if w.name in ("gamma", "moving_variance"):
            w.assign(r.rand(*w.shape) + 0.5)
        else:
            w.assign(r.randn(*w.shape) * 0.3)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    x = r.randn(4, 20, FEATS).astype("float32")
    mask = np.ones((4, 20), "float32")
    mask[1, 14:] = 0
    mask[2, 17:] = 0
    mask[3, 9:] = 0
    return x, mask


def load(ported, original):
    src = original.net

    def norm(a, b):
        a.set_weights([b.gamma.array, b.beta.array, b.avg_mean, b.avg_var])

    def pw(a, b):
        a.set_weights([b.W.array.transpose(2, 1, 0)])

    def sep(a, b):
        a.conv.set_weights([b.depthwise.W.array.transpose(2, 0, 1), b.pointwise.W.array.transpose(2, 1, 0)])
        norm(a.bn, b.bn)

    sep(ported.c1, src.c1)
    sep(ported.c2, src.c2)
    for a, b in ((ported.b1, src.b1), (ported.b2, src.b2)):
        for s, t in zip(a.subs, b.subs):
            sep(s, t)
        pw(a.res, b.res)
        norm(a.res_bn, b.res_bn)
    pw(ported.c3, src.c3)
    norm(ported.c3_bn, src.c3_bn)
    ported.decoder.set_weights([src.decoder.W.array[:, :, 0].T, src.decoder.b.array])
