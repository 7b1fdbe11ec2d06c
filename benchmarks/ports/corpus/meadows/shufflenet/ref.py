"""ShuffleNet V2 (Ma et al. 2018) in Keras."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"


def shuffle(x, groups=2):
    _, h, w, c = x.shape
    x = ops.reshape(x, (-1, h, w, groups, c // groups))
    x = ops.transpose(x, (0, 1, 2, 4, 3))
    return ops.reshape(x, (-1, h, w, c))


class ConvBN(layers.Layer):
    def __init__(self, filters, size, strides=1, relu=True, **kwargs):
        super().__init__(**kwargs)
        self.conv = layers.Conv2D(filters, size, strides, padding="same", use_bias=False)
        self.bn = layers.BatchNormalization()
        self.relu = relu

    def call(self, x):
        x = self.bn(self.conv(x))
        return ops.relu(x) if self.relu else x


class DepthwiseBN(layers.Layer):
    def __init__(self, strides=1, **kwargs):
        super().__init__(**kwargs)
        self.conv = layers.DepthwiseConv2D(3, strides, padding="same", use_bias=False)
        self.bn = layers.BatchNormalization()

    def call(self, x):
        return self.bn(self.conv(x))


class Unit(layers.Layer):
    def __init__(self, channels, **kwargs):
        super().__init__(**kwargs)
        self.half = channels // 2
        self.expand = ConvBN(self.half, 1)
        self.spatial = DepthwiseBN()
        self.project = ConvBN(self.half, 1)

    def call(self, x):
        kept, worked = x[..., : self.half], x[..., self.half:]
        worked = self.project(self.spatial(self.expand(worked)))
        return shuffle(ops.concatenate([kept, worked], axis=-1))


class DownUnit(layers.Layer):
    def __init__(self, channels, **kwargs):
        super().__init__(**kwargs)
        self.left_spatial = DepthwiseBN(2)
        self.left_project = ConvBN(channels // 2, 1)
        self.expand = ConvBN(channels // 2, 1)
        self.spatial = DepthwiseBN(2)
        self.project = ConvBN(channels // 2, 1)

    def call(self, x):
        left = self.left_project(self.left_spatial(x))
        right = self.project(self.spatial(self.expand(x)))
        return shuffle(ops.concatenate([left, right], axis=-1))


class ShuffleNet(keras.Model):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = ConvBN(12, 3)
        self.pool = layers.MaxPooling2D(3, 2, padding="same")
        self.units = [DownUnit(24), Unit(24), Unit(24), DownUnit(48), Unit(48)]
        self.last = ConvBN(64, 1)
        self.classify = layers.Dense(classes)

    def call(self, x):
        x = self.pool(self.stem(x))
        for unit in self.units:
            x = unit(x)
        x = ops.mean(self.last(x), axis=(1, 2))
        return self.classify(x)


def make(seed=0):
    keras.utils.set_random_seed(seed)
    net = ShuffleNet()
    net(inputs(0))
    rng = np.random.default_rng(seed)
    for v in net.weights:
        if v.path.endswith(("gamma", "moving_variance")):
            v.assign(rng.uniform(0.6, 1.4, v.shape))
        elif v.path.endswith(("beta", "moving_mean", "bias")):
            v.assign(rng.normal(0, 0.2, v.shape))
        else:
            fan = 9 if "depthwise" in v.path else int(np.prod(v.shape[:-1]))
            v.assign(rng.normal(0, (2 / fan) ** 0.5, v.shape))
    return net


def images(rng):
    coarse = rng.uniform(-1, 1, size=(4, 8, 8, 3)).repeat(4, 1).repeat(4, 2)
    return (coarse + 0.2 * rng.normal(size=(4, 32, 32, 3))).astype("float32")


def inputs(seed=0):
    return images(np.random.default_rng(seed))
