"""Values for small nets on images and on rows, and the layers of each framework that hold them.

Kernels are drawn as torch and Chainer keep them, (out, in, height, width), and dense weights as
(in, out). Images are drawn channels first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import torch

from benchmarks.corpus.gallery.entry import normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, chainer, image_pair, image_side

L = chainer.links
t = torch.from_numpy


@dataclass(frozen=True)
class Net:
    """Two convolutions of 3x3 and a dense layer on the means of the images."""

    x: np.ndarray  # (batch, channels, height, width), height and width even
    first: np.ndarray  # (middle, channels, 3, 3)
    first_bias: np.ndarray
    second: np.ndarray  # (last, middle, 3, 3)
    second_bias: np.ndarray
    dense: np.ndarray  # (last, out)


def net(random: np.random.Generator, kernel: tuple[int, int] = (3, 3), middle: int = 0) -> Net:
    """Draws a net. `kernel` is the second one's size, `middle` the channels between the two."""
    batch, channels, width, last, out = sizes(random, 5, 2, 7)
    middle = middle or width
    high, wide = (2 * size for size in sizes(random, 2, 5, 8))
    return Net(
        x=normal(random, batch, channels, high, wide),
        first=normal(random, middle, channels, 3, 3, scale=0.4),
        first_bias=normal(random, middle),
        second=normal(random, last, middle, *kernel, scale=0.3),
        second_bias=normal(random, last),
        dense=normal(random, last, out),
    )


def hwio(kernel: np.ndarray) -> np.ndarray:
    """A kernel (out, in, height, width) as TensorFlow and Keras keep it."""
    return np.ascontiguousarray(kernel.transpose(2, 3, 1, 0))


def images(
    reference: tuple[str, Callable[..., Any]],
    candidate: tuple[str, Callable[..., Any]],
    x: np.ndarray,
) -> Pair:
    """A pair on images (batch, channels, height, width), laid out here as each framework's are."""
    return image_pair(image_side(*reference), image_side(*candidate), x)


def torch_conv(kernel: np.ndarray, bias: np.ndarray | None = None, **options: Any) -> Any:
    channels = kernel.shape[1] * options.get("groups", 1)
    layer = torch.nn.Conv2d(
        channels, len(kernel), kernel.shape[2:], bias=bias is not None, **options
    )
    return _fill(layer, kernel, bias)


def torch_dense(weight: np.ndarray, bias: np.ndarray | None = None) -> Any:
    return _fill(torch.nn.Linear(*weight.shape, bias=bias is not None), weight.T, bias)


def strided(n: Net) -> Any:
    """The net in torch; its second convolution is at every other pixel, padded by one."""
    nn = torch.nn
    return nn.Sequential(
        torch_conv(n.first, n.first_bias, padding=1),
        nn.Tanh(),
        torch_conv(n.second, n.second_bias, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        torch_dense(n.dense),
    )


def _fill(layer: Any, weight: np.ndarray, bias: np.ndarray | None) -> Any:
    with torch.no_grad():
        layer.weight.copy_(t(np.ascontiguousarray(weight)))
        if bias is not None:
            layer.bias.copy_(t(bias))
    return layer


def keras_conv(kernel: np.ndarray, bias: np.ndarray | None = None, **options: Any) -> Any:
    layer = keras.layers.Conv2D(len(kernel), kernel.shape[2:], use_bias=bias is not None, **options)
    channels = kernel.shape[1] * options.get("groups", 1)
    return filled(layer, (None, None, None, channels), hwio(kernel), bias)


def keras_dense(weight: np.ndarray, bias: np.ndarray | None = None, **options: Any) -> Any:
    layer = keras.layers.Dense(weight.shape[1], use_bias=bias is not None, **options)
    return filled(layer, (None, len(weight)), weight, bias)


def filled(layer: Any, shape: tuple[int | None, ...], *weights: np.ndarray | None) -> Any:
    """A Keras layer, built for an input's shape, that holds these weights."""
    layer.build(shape)
    layer.set_weights([weight for weight in weights if weight is not None])
    return layer


def chainer_conv(kernel: np.ndarray, bias: np.ndarray | None = None, **options: Any) -> Any:
    channels = kernel.shape[1] * options.get("groups", 1)
    return L.Convolution2D(
        channels, len(kernel), kernel.shape[2:], initialW=kernel, initial_bias=bias,
        nobias=bias is None, **options,
    )  # fmt: skip


def chainer_dense(weight: np.ndarray, bias: np.ndarray | None = None) -> Any:
    weight = np.ascontiguousarray(weight.T)
    return L.Linear(
        weight.shape[1], weight.shape[0], nobias=bias is None, initialW=weight, initial_bias=bias
    )
