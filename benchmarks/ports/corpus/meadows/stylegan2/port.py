"""StyleGAN2 generator in Keras (subclassed): styles scale the maps, not the kernels."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
Z_DIM, W_DIM, WIDTH = 10, 12, 8


class ScaledDense(layers.Layer):
    def __init__(self, units, slope=None, **kwargs):
        super().__init__(**kwargs)
        self.units, self.slope = units, slope

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units), initializer="random_normal")
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros")
        self.gain = shape[-1] ** -0.5

    def call(self, x):
        y = ops.matmul(x, self.kernel * self.gain) + self.bias
        return y if self.slope is None else ops.leaky_relu(y, self.slope)


class StyleConv(layers.Layer):
    def __init__(self, channels, filters, size, demodulate=True, **kwargs):
        super().__init__(**kwargs)
        self.demodulate = demodulate
        self.to_style = ScaledDense(channels)
        self.kernel = self.add_weight(
            shape=(size, size, channels, filters), initializer="random_normal", name="kernel"
        )
        self.gain = (channels * size**2) ** -0.5

    def call(self, x, w):
        style = self.to_style(w) + 1.0
        kernel = self.kernel * self.gain
        y = ops.conv(x * style[:, None, None, :], kernel, padding="same")
        if self.demodulate:
            energy = ops.sum(ops.square(kernel), axis=(0, 1))
            sigma = ops.matmul(ops.square(style), energy)
            y = y * ops.rsqrt(sigma + 1e-8)[:, None, None, :]
        return y


class Synthesis(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.conv = StyleConv(WIDTH, WIDTH, 3)
        self.noise_gain = self.add_weight(shape=(1,), initializer="zeros", name="noise_gain")
        self.bias = self.add_weight(shape=(WIDTH,), initializer="zeros", name="bias")

    def call(self, x, w, noise):
        x = self.conv(x, w)
        x = x + self.noise_gain * noise
        x = x + self.bias
        return ops.leaky_relu(x, 0.2) * 2**0.5


class Rgb(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.conv = StyleConv(WIDTH, 3, 1, demodulate=False)
        self.bias = self.add_weight(shape=(3,), initializer="zeros", name="bias")

    def call(self, x, w):
        return self.conv(x, w) + self.bias


class Generator(keras.Model):
    def __init__(self):
        super().__init__()
        self.mapping = [ScaledDense(W_DIM, slope=0.2) for _ in range(3)]
        self.seed_map = self.add_weight(shape=(1, 4, 4, WIDTH), initializer="random_normal")
        self.synth4, self.rgb4 = Synthesis(), Rgb()
        self.synth8a, self.synth8b, self.rgb8 = Synthesis(), Synthesis(), Rgb()
        self.upsample = layers.UpSampling2D(2, interpolation="bilinear")

    def call(self, inputs):
        z, noise4, noise8a, noise8b = inputs
        w = z / ops.sqrt(ops.mean(ops.square(z), axis=-1, keepdims=True) + 1e-8)
        for dense in self.mapping:
            w = dense(w)
        x = ops.tile(self.seed_map, (z.shape[0], 1, 1, 1))
        x = self.synth4(x, w, noise4)
        image = self.rgb4(x, w)
        x = self.synth8a(self.upsample(x), w, noise8a)
        x = self.synth8b(x, w, noise8b)
        return self.upsample(image) + self.rgb8(x, w)


def make(seed=1):
    keras.utils.set_random_seed(seed)
    net = Generator()
    net(inputs(0))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    shapes = [(4, Z_DIM), (4, 1, 4, 4), (4, 1, 8, 8), (4, 1, 8, 8)]
    z, *noises = (rng.normal(size=s).astype("float32") for s in shapes)
    return (z, *(n.transpose(0, 2, 3, 1) for n in noises))


def load(ported, original):
    def n(p):
        return p.detach().numpy()

    def dense(layer, source):
        layer.kernel.assign(n(source.weight).T)
        layer.bias.assign(n(source.bias))

    def conv(layer, source):
        layer.kernel.assign(n(source.weight).transpose(2, 3, 1, 0))
        dense(layer.to_style, source.affine)

    for layer, source in zip(ported.mapping, original.mapping):
        dense(layer, source)
    ported.seed_map.assign(n(original.const).transpose(0, 2, 3, 1))
    for mine, theirs in (("synth4", "first"), ("synth8a", "up8"), ("synth8b", "conv8")):
        layer, source = getattr(ported, mine), getattr(original, theirs)
        conv(layer.conv, source.conv)
        layer.noise_gain.assign(n(source.strength))
        layer.bias.assign(n(source.bias).ravel())
    for mine, theirs in (("rgb4", "first_rgb"), ("rgb8", "rgb8")):
        layer, source = getattr(ported, mine), getattr(original, theirs)
        conv(layer.conv, source.conv)
        layer.bias.assign(n(source.bias).ravel())
