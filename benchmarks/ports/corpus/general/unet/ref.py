"""A small U-Net for segmentation, with an auxiliary head on the coarse features (deep supervision)."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"

WIDTHS = (8, 16, 24)
CLASSES = 3
SIZE = 16


class ConvBNAct(layers.Layer):
    """Convolution without bias, batch normalisation, activation."""

    def __init__(self, filters, kernel=3, strides=1, **kwargs):
        super().__init__(**kwargs)
        self.conv = layers.Conv2D(filters, kernel, strides=strides, padding="same", use_bias=False)
        self.bn = layers.BatchNormalization(epsilon=1e-3)

    def call(self, x, training=False):
        return ops.relu(self.bn(self.conv(x), training=training))


class DoubleConv(layers.Layer):
    def __init__(self, filters, **kwargs):
        super().__init__(**kwargs)
        self.first = ConvBNAct(filters)
        self.second = ConvBNAct(filters)

    def call(self, x, training=False):
        return self.second(self.first(x, training=training), training=training)


class Down(layers.Layer):
    """Halves the resolution with a strided convolution, then two convolutions."""

    def __init__(self, filters, **kwargs):
        super().__init__(**kwargs)
        self.reduce = ConvBNAct(filters, strides=2)
        self.body = DoubleConv(filters)

    def call(self, x, training=False):
        return self.body(self.reduce(x, training=training), training=training)


class Up(layers.Layer):
    """Doubles the resolution, joins the skip connection, then two convolutions."""

    def __init__(self, filters, **kwargs):
        super().__init__(**kwargs)
        self.expand = layers.Conv2DTranspose(filters, 2, strides=2)
        self.body = DoubleConv(filters)

    def call(self, x, skip, training=False):
        x = self.expand(x)
        x = ops.concatenate([skip, x], axis=-1)
        return self.body(x, training=training)


class UNet(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.stem = DoubleConv(WIDTHS[0])
        self.downs = [Down(w) for w in WIDTHS[1:]]
        self.ups = [Up(w) for w in reversed(WIDTHS[:-1])]
        self.head = layers.Conv2D(CLASSES, 1)
        self.aux = layers.Conv2D(CLASSES, 1)

    def call(self, images, training=False):
        x = self.stem(images, training=training)
        skips = []
        for down in self.downs:
            skips.append(x)
            x = down(x, training=training)
        coarse = self.aux(x)
        for up in self.ups:
            x = up(x, skips.pop(), training=training)
        coarse = ops.image.resize(coarse, (SIZE, SIZE), interpolation="bilinear")
        return ops.softmax(self.head(x), axis=-1), coarse


def make(seed=0):
    keras.utils.set_random_seed(seed)
    model = UNet()
    model(np.zeros((1, SIZE, SIZE, 2), np.float32))
    rng = np.random.default_rng(seed)
    for layer in model._flatten_layers():
        if isinstance(layer, layers.BatchNormalization):
            n = layer.gamma.shape[0]
            layer.set_weights(
                [
                    rng.uniform(0.6, 1.4, n),
                    rng.normal(0, 0.2, n),
                    rng.normal(0, 0.3, n),
                    rng.uniform(0.4, 1.6, n),
                ]
            )
    for layer in (model.head, model.aux):
        layer.bias.assign(rng.normal(0, 0.3, CLASSES))
    return model


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed + 100)
    return (rng.normal(size=(4, SIZE, SIZE, 2)).astype(np.float32),)
