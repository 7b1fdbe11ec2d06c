"""DenseNet-BC with subclassed Keras layers."""
import keras
import numpy as np
from keras import layers

FRAMEWORK = "keras"


class BnReluConv(layers.Layer):
    def __init__(self, filters, kernel, **kwargs):
        super().__init__(**kwargs)
        self.norm = layers.BatchNormalization(epsilon=1e-5)
        self.relu = layers.ReLU()
        self.conv = layers.Conv2D(filters, kernel, padding="same", use_bias=False)

    def call(self, x):
        x = self.norm(x)
        x = self.relu(x)
        return self.conv(x)


class DenseBlock(layers.Layer):
    def __init__(self, depth, growth, **kwargs):
        super().__init__(**kwargs)
        self.squeeze = [BnReluConv(4 * growth, 1) for _ in range(depth)]
        self.grow = [BnReluConv(growth, 3) for _ in range(depth)]

    def call(self, x):
        for squeeze, grow in zip(self.squeeze, self.grow):
            new = grow(squeeze(x))
            x = keras.ops.concatenate([x, new], axis=-1)
        return x


class DenseNet(keras.Model):
    def __init__(self, growth=4, classes=6):
        super().__init__()
        self.stem = layers.Conv2D(8, 3, padding="same", use_bias=False)
        self.stem_norm = layers.BatchNormalization(epsilon=1e-5)
        self.pad = layers.ZeroPadding2D(1)
        self.pool = layers.MaxPooling2D(3, strides=2, padding="valid")
        self.block1 = DenseBlock(2, growth)
        self.transition = BnReluConv(8, 1)
        self.down = layers.AveragePooling2D(2)
        self.block2 = DenseBlock(3, growth)
        self.final_norm = layers.BatchNormalization(epsilon=1e-5)
        self.gap = layers.GlobalAveragePooling2D()
        self.classifier = layers.Dense(classes)

    def call(self, x):
        x = keras.ops.relu(self.stem_norm(self.stem(x)))
        x = self.pool(self.pad(x))
        x = self.block1(x)
        x = self.down(self.transition(x))
        x = self.block2(x)
        x = keras.ops.relu(self.final_norm(x))
        return self.classifier(self.gap(x))


def make(seed=1):
    model = DenseNet()
    model(np.zeros((1, 16, 16, 3), "float32"))
    rng = np.random.default_rng(seed)
    for w in model.weights:
        if w.name in ("gamma", "moving_variance"):
            w.assign(rng.uniform(0.5, 1.5, size=w.shape))
        else:
            w.assign(0.3 * rng.normal(size=w.shape))
    return model


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    return np.ascontiguousarray(rng.randn(4, 3, 16, 16).astype("f").transpose(0, 2, 3, 1))


def load(ported, original):
    def conv(layer, link):
        layer.set_weights([link.W.array.transpose(2, 3, 1, 0)])

    def norm(layer, link):
        layer.set_weights([link.gamma.array, link.beta.array, link.avg_mean, link.avg_var])

    conv(ported.stem, original.conv0)
    norm(ported.stem_norm, original.bn0)
    for mine, theirs in ((ported.block1, original.block1), (ported.block2, original.block2)):
        for i, link in enumerate(theirs):
            norm(mine.squeeze[i].norm, link.bn1)
            conv(mine.squeeze[i].conv, link.conv1)
            norm(mine.grow[i].norm, link.bn2)
            conv(mine.grow[i].conv, link.conv2)
    norm(ported.transition.norm, original.trans.bn)
    conv(ported.transition.conv, original.trans.conv)
    norm(ported.final_norm, original.bn1)
    ported.classifier.set_weights([original.fc.W.array.T, original.fc.b.array])
