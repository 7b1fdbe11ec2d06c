"""HiFi-GAN's generator in Keras, time before channels inside; mels and audio as in the original."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"


def lrelu(x, slope=0.1):
    return ops.leaky_relu(x, negative_slope=slope)


class Residual(layers.Layer):
    def __init__(self, filters, size, dilations=(1, 3), **kw):
        super().__init__(**kw)
        self.dilated = [layers.Conv1D(filters, size, padding="same", dilation_rate=d) for d in dilations]
        self.plain = [layers.Conv1D(filters, size, padding="same") for _ in dilations]

    def call(self, x):
        for dilated, plain in zip(self.dilated, self.plain):
            y = dilated(lrelu(x))
            x = x + plain(lrelu(y))
        return x


class Upsample(layers.Layer):
    def __init__(self, filters, size, stride, **kw):
        super().__init__(**kw)
        self.crop = (size - stride) // 2
        self.deconv = layers.Conv1DTranspose(filters, size, strides=stride, padding="valid")

    def call(self, x):
        y = self.deconv(x)
        return y[:, self.crop : -self.crop]


class Vocoder(keras.Model):
    def __init__(self, width=32, rates=(4, 2), sizes=(8, 4), fusion=(3, 5)):
        super().__init__()
        self.head = layers.Conv1D(width, 7, padding="same")
        self.upsamplers, self.fusions = [], []
        for rate, size in zip(rates, sizes):
            width //= 2
            self.upsamplers.append(Upsample(width, size, rate))
            self.fusions.append([Residual(width, k) for k in fusion])
        self.tail = layers.Conv1D(1, 7, padding="same")

    def call(self, mel):
        x = self.head(ops.transpose(mel, (0, 2, 1)))
        for upsample, branches in zip(self.upsamplers, self.fusions):
            x = upsample(lrelu(x))
            x = sum(branch(x) for branch in branches) / len(branches)
        x = lrelu(x, 0.01)
        audio = ops.tanh(self.tail(x))
        return ops.transpose(audio, (0, 2, 1))


def make():
    keras.utils.set_random_seed(6)
    net = Vocoder()
    net(inputs(0))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(size=(4, 20, 11)), axis=2) * 0.4 - 1.0
    return walk.astype("float32")


def load(ported, original):
    def conv(layer, module):
        layer.set_weights([module.weight.detach().numpy().transpose(2, 1, 0), module.bias.detach().numpy()])

    conv(ported.head, original.conv_pre)
    blocks = iter(original.resblocks)
    for ours, up, branches in zip(ported.upsamplers, original.ups, ported.fusions):
        conv(ours.deconv, up)
        for branch in branches:
            block = next(blocks)
            for a, b in zip(branch.dilated, block.convs1):
                conv(a, b)
            for a, b in zip(branch.plain, block.convs2):
                conv(a, b)
    conv(ported.tail, original.conv_post)
