"""SiamRPN++ in Keras, channels last throughout; takes its images as (batch, height, width, colour)."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

FRAMEWORK = "tensorflow"
K, C = 3, 10
ANCHOR_W = np.array([16, 11, 8], "float32")
ANCHOR_H = np.array([8, 11, 16], "float32")


def trunk():
    return keras.Sequential(
        [
            layers.ZeroPadding2D(1),
            layers.Conv2D(8, 3, strides=2, use_bias=False),
            layers.BatchNormalization(epsilon=2e-5),
            layers.ReLU(),
            layers.MaxPooling2D(2),
            layers.Conv2D(C, 3, padding="same", use_bias=False),
            layers.BatchNormalization(epsilon=2e-5),
            layers.ReLU(),
        ]
    )


def correlate(search, kernel):
    """Each channel of each image with the same channel of its exemplar."""
    b, kh, kw, c = kernel.shape
    h, w = search.shape[1:3]
    filters = ops.reshape(ops.transpose(kernel, (1, 2, 0, 3)), (kh, kw, b * c, 1))
    planes = ops.reshape(ops.transpose(search, (1, 2, 0, 3)), (1, h, w, b * c))
    response = tf.nn.depthwise_conv2d(planes, filters, strides=[1, 1, 1, 1], padding="VALID")
    response = ops.reshape(response, (h - kh + 1, w - kw + 1, b, c))
    return ops.transpose(response, (2, 0, 1, 3)) / float(kh * kw)


class Branch(layers.Layer):
    def __init__(self, outputs, **kw):
        super().__init__(**kw)
        self.for_kernel = layers.Conv2D(C, 3, activation="relu")
        self.for_search = layers.Conv2D(C, 3, activation="relu")
        self.head = layers.Conv2D(outputs, 1)

    def call(self, z, x):
        return self.head(correlate(self.for_search(x), self.for_kernel(z)))


class Tracker(keras.Model):
    def __init__(self):
        super().__init__()
        self.trunk = trunk()
        self.classify = Branch(2 * K)
        self.regress = Branch(4 * K)

    def call(self, exemplar, region):
        z, x = self.trunk(exemplar), self.trunk(region)
        cls, loc = self.classify(z, x), self.regress(z, x)
        b, h, w, _ = cls.shape
        logits = ops.reshape(cls, (b, h, w, 2, K))
        score = ops.softmax(logits, axis=3)[:, :, :, 1]
        dx, dy, dw, dh = ops.unstack(ops.reshape(loc, (b, h, w, 4, K)), axis=3)
        ys = (np.arange(h, dtype="float32") - (h - 1) / 2)[:, None, None] * 4
        xs = (np.arange(w, dtype="float32") - (w - 1) / 2)[None, :, None] * 4
        cx = dx * ANCHOR_W + xs
        cy = dy * ANCHOR_H + ys
        width = ops.exp(dw) * ANCHOR_W
        height = ops.exp(dh) * ANCHOR_H
        boxes = ops.stack([cx, cy, width, height], axis=-1)
        score = ops.transpose(score, (0, 3, 1, 2))
        boxes = ops.transpose(boxes, (0, 3, 1, 2, 4))
        return ops.reshape(score, (b, -1)), ops.reshape(boxes, (b, -1, 4))


def make():
    keras.utils.set_random_seed(12)
    net = Tracker()
    net(*inputs(0))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    region = rng.normal(size=(4, 3, 48, 48)) * 0.5
    region += np.linspace(-1, 1, 48)[None, None, None, :] * rng.normal(size=(4, 3, 1, 1))
    exemplar = region[:, :, 12:36, 10:34] + 0.1 * rng.normal(size=(4, 3, 24, 24))
    return tuple(a.astype("float32").transpose(0, 2, 3, 1) for a in (exemplar, region))


def load(ported, original):
    def conv(layer, link):
        weights = [link.W.array.transpose(2, 3, 1, 0)]
        if link.b is not None:
            weights.append(link.b.array)
        layer.set_weights(weights)

    convs = [l for l in ported.trunk.layers if isinstance(l, layers.Conv2D)]
    norms = [l for l in ported.trunk.layers if isinstance(l, layers.BatchNormalization)]
    source = original.backbone
    for layer, link in zip(convs, (source.conv1, source.conv2)):
        conv(layer, link)
    for layer, link in zip(norms, (source.bn1, source.bn2)):
        layer.set_weights([link.gamma.array, link.beta.array, link.avg_mean, link.avg_var])
    for branch, head in ((ported.classify, original.cls), (ported.regress, original.loc)):
        conv(branch.for_kernel, head.kernel)
        conv(branch.for_search, head.search)
        conv(branch.head, head.head)
