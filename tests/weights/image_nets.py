"""Nets of layers over images, drawn from a seed: the same in torch, Keras and Chainer."""

from __future__ import annotations

import keras
import numpy as np
import torch
from keras import layers

from parity.frameworks.chainer import chainer

F, L, nn = chainer.functions, chainer.links, torch.nn

IMAGES = ("conv", "depthwise", "transposed", "batch_norm", "max_pool", "average_pool", "relu")
FLAT = ("dense", "square", "layer_norm", "batch_norm_1d", "tanh", "relu")


def draw(random):
    """The shape of an image, channels first, and the layers with their sizes, up to eight."""
    shape = tuple(int(random.integers(*between)) for between in ((2, 4), (9, 13), (9, 13)))
    channels, height, width = shape
    found = []
    for kind in random.choice(IMAGES, random.integers(1, 4)):
        out = int(random.integers(2, 6))
        found.append((kind, channels, out))
        if kind in ("conv", "transposed"):
            channels = out
        change = {"conv": -2, "depthwise": -1, "transposed": 1}.get(kind, 0)
        height, width = height + change, width + change
        if kind.endswith("pool"):
            height, width = height // 2, width // 2
        if min(height, width) < 4:
            break
    size = channels * height * width
    found.append(("flatten", size, size))
    found.append(("dense", size, 7))
    for kind in random.choice(FLAT, random.integers(0, 3)):
        found.append((kind, 7, 7))
    return shape, [*found, ("dense", 7, 3)]


def torch_net(shape, drawn):
    made = {
        "conv": lambda a, b: nn.Conv2d(a, b, 3),
        "depthwise": lambda a, _: nn.Conv2d(a, a, 2, groups=a),
        "transposed": lambda a, b: nn.ConvTranspose2d(a, b, 2),
        "batch_norm": lambda a, _: nn.BatchNorm2d(a, eps=1e-3),
        "batch_norm_1d": lambda a, _: nn.BatchNorm1d(a, eps=1e-3),
        "layer_norm": lambda a, _: nn.LayerNorm(a),
        "max_pool": lambda *_: nn.MaxPool2d(2),
        "average_pool": lambda *_: nn.AvgPool2d(2),
        "relu": lambda *_: nn.ReLU(),
        "tanh": lambda *_: nn.Tanh(),
        "flatten": lambda *_: nn.Flatten(),
        "dense": nn.Linear,
        "square": nn.Linear,
    }
    return nn.Sequential(*(made[kind](a, b) for kind, a, b in drawn))


def keras_net(shape, drawn):
    made = {
        "conv": lambda b: layers.Conv2D(b, 3),
        "depthwise": lambda _: layers.DepthwiseConv2D(2),
        "transposed": lambda b: layers.Conv2DTranspose(b, 2),
        "batch_norm": lambda _: layers.BatchNormalization(epsilon=1e-3),
        "batch_norm_1d": lambda _: layers.BatchNormalization(epsilon=1e-3),
        "layer_norm": lambda _: layers.LayerNormalization(epsilon=1e-5),
        "max_pool": lambda _: layers.MaxPooling2D(2),
        "average_pool": lambda _: layers.AveragePooling2D(2),
        "relu": lambda _: layers.ReLU(),
        "tanh": lambda _: layers.Activation("tanh"),
        "flatten": lambda _: layers.Flatten(),
        "dense": layers.Dense,
        "square": layers.Dense,
    }
    inputs = h = layers.Input((*shape[1:], shape[0]))
    for kind, _, out in drawn:
        h = made[kind](out)(h)
    return keras.Model(inputs, h)


class ChainerNet(chainer.ChainList):
    LINKS = {
        "conv": lambda a, b: L.Convolution2D(a, b, 3),
        "depthwise": lambda a, _: L.DepthwiseConvolution2D(a, 1, 2),
        "transposed": lambda a, b: L.Deconvolution2D(a, b, 2),
        "batch_norm": lambda a, _: L.BatchNormalization(a, eps=1e-3),
        "batch_norm_1d": lambda a, _: L.BatchNormalization(a, eps=1e-3),
        "layer_norm": lambda a, _: L.LayerNormalization(a, eps=1e-5),
        "dense": L.Linear,
        "square": L.Linear,
    }
    FUNCTIONS = {
        "max_pool": lambda h: F.max_pooling_2d(h, 2, cover_all=False),
        "average_pool": lambda h: F.average_pooling_2d(h, 2),
        "relu": F.relu,
        "tanh": F.tanh,
        "flatten": lambda h: F.reshape(h, (h.shape[0], -1)),
    }

    def __init__(self, shape, drawn):
        self.kinds = [kind for kind, *_ in drawn]
        super().__init__(*(self.LINKS[kind](a, b) for kind, a, b in drawn if kind in self.LINKS))

    def forward(self, h):
        links = iter(self)
        for kind in self.kinds:
            h = next(links)(h) if kind in self.LINKS else self.FUNCTIONS[kind](h)
        return h


def makers(seed):
    """How each framework makes the net of a seed, and an input with channels first."""
    random = np.random.default_rng(seed)
    shape, drawn = draw(random)
    inputs = random.normal(size=(3, *shape)).astype("f")
    made = {"torch": torch_net, "keras": keras_net, "chainer": ChainerNet}
    return {name: lambda make=make: make(shape, drawn) for name, make in made.items()}, inputs
