"""ConvNeXt in Keras 3, channels last."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"

CFG = dict(dims=(8, 16), depths=(2, 2), num_classes=6)


class ConvNeXtBlock(layers.Layer):
    def __init__(self, dim, **kw):
        super().__init__(**kw)
        self.dwconv = layers.DepthwiseConv2D(7, padding="same")
        self.norm = layers.LayerNormalization(epsilon=1e-6)
        self.pwconv1 = layers.Dense(4 * dim)
        self.pwconv2 = layers.Dense(dim)
        self.gamma = self.add_weight(shape=(dim,), initializer="ones", name="gamma")

    def call(self, x):
        h = self.norm(self.dwconv(x))
        h = keras.activations.gelu(self.pwconv1(h), approximate=False)
        h = self.pwconv2(h)
        return x + self.gamma * h


class ConvNeXt(keras.Model):
    def __init__(self, dims, depths, num_classes):
        super().__init__()
        self.stem_conv = layers.Conv2D(dims[0], 4, strides=4)
        self.stem_norm = layers.LayerNormalization(epsilon=1e-6)
        self.down_norms = [layers.LayerNormalization(epsilon=1e-6) for _ in dims[1:]]
        self.down_convs = [layers.Conv2D(d, 2, strides=2) for d in dims[1:]]
        self.stages = [[ConvNeXtBlock(d) for _ in range(n)] for d, n in zip(dims, depths)]
        self.norm = layers.LayerNormalization(epsilon=1e-6)
        self.head = layers.Dense(num_classes)

    def call(self, x):
        x = self.stem_norm(self.stem_conv(x))
        for i, stage in enumerate(self.stages):
            if i > 0:
                x = self.down_convs[i - 1](self.down_norms[i - 1](x))
            for block in stage:
                x = block(x)
        x = self.norm(tf.reduce_mean(x, axis=[1, 2]))
        return self.head(x)


def make():
    net = ConvNeXt(**CFG)
    net(np.zeros((1, 32, 32, 3), np.float32))
    return net


def inputs(seed):
    x = np.random.default_rng(seed).normal(0, 1, (4, 3, 32, 32)).astype(np.float32)
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1))


def load(port_model, ref_model):
    sd = {k: v.detach().numpy() for k, v in ref_model.state_dict().items()}

    def conv(layer, key):
        layer.set_weights([sd[key + ".weight"].transpose(2, 3, 1, 0), sd[key + ".bias"]])

    def depthwise(layer, key):
        layer.set_weights([sd[key + ".weight"].transpose(2, 3, 0, 1), sd[key + ".bias"]])

    def dense(layer, key):
        layer.set_weights([sd[key + ".weight"].T, sd[key + ".bias"]])

    def norm(layer, key):
        layer.set_weights([sd[key + ".weight"], sd[key + ".bias"]])

    conv(port_model.stem_conv, "downsample_layers.0.0")
    norm(port_model.stem_norm, "downsample_layers.0.1")
    for i in range(1, len(CFG["dims"])):
        norm(port_model.down_norms[i - 1], f"downsample_layers.{i}.0")
        conv(port_model.down_convs[i - 1], f"downsample_layers.{i}.1")
    for s, stage in enumerate(port_model.stages):
        for b, block in enumerate(stage):
            pre = f"stages.{s}.{b}"
            depthwise(block.dwconv, pre + ".dwconv")
            norm(block.norm, pre + ".norm")
            dense(block.pwconv1, pre + ".pwconv1")
            dense(block.pwconv2, pre + ".pwconv2")
            block.gamma.assign(sd[pre + ".gamma"])
    norm(port_model.norm, "norm")
    dense(port_model.head, "head")
    return port_model
