"""CycleGAN's generator for Keras 3, functional API."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"


def reflect(x, n):
    return ops.pad(x, ((0, 0), (n, n), (n, n), (0, 0)), mode="reflect")


def instance_norm(x):
    # one group for every channel
    return layers.GroupNormalization(groups=-1, epsilon=1e-5)(x)


def resnet_block(x, dim):
    y = reflect(x, 1)
    y = layers.Conv2D(dim, 3)(y)
    y = instance_norm(y)
    y = layers.ReLU()(y)
    y = reflect(y, 1)
    y = layers.Conv2D(dim, 3)(y)
    y = instance_norm(y)
    return layers.Add()([x, y])


def up(x, dim):
    # torch's padding=1, output_padding=1 throws the first row and column away
    x = layers.Conv2DTranspose(dim, 3, strides=2, padding="valid")(x)
    x = layers.Cropping2D(((1, 0), (1, 0)))(x)
    return layers.ReLU()(instance_norm(x))


def build(size=16, ngf=6, n_blocks=2):
    image = keras.Input((size, size, 3))
    x = layers.Conv2D(ngf, 7)(reflect(image, 3))
    x = layers.ReLU()(instance_norm(x))
    for i in range(2):
        x = layers.ZeroPadding2D(1)(x)
        x = layers.Conv2D(ngf * 2 ** (i + 1), 3, strides=2)(x)
        x = layers.ReLU()(instance_norm(x))
    for _ in range(n_blocks):
        x = resnet_block(x, ngf * 4)
    for i in range(2):
        x = up(x, ngf * 2 ** (1 - i))
    x = layers.Conv2D(3, 7, activation="tanh")(reflect(x, 3))
    return keras.Model(image, x)


def make():
    net = build()
    rng = np.random.default_rng(5)
    net.set_weights([rng.normal(0.3, 0.2, w.shape) for w in net.weights])
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    image = rng.uniform(-1, 1, (4, 3, 16, 16)).astype("float32")
    return (image.transpose(0, 2, 3, 1),)


def load(ported, original):
    from torch import nn

    theirs = [m for m in original.modules() if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d, nn.InstanceNorm2d))]
    ours = [l for l in ported.layers if l.weights]
    for a, b in zip(ours, theirs, strict=True):
        w, bias = b.weight.detach().numpy(), b.bias.detach().numpy()
        if w.ndim == 4:
            w = w.transpose(2, 3, 1, 0)
        a.set_weights([w, bias])
