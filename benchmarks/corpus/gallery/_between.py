"""Something between two dense layers or two convolutions, in any of the frameworks.

What comes before it agrees, and what comes after it carries its fault on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from keras import layers
from torch import nn

from benchmarks.corpus.gallery.entry import normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer, image_pair, image_side

F, L = chainer.functions, chainer.links


@dataclass(frozen=True)
class Between:
    """Weights of the layers around, and the inputs.

    Attributes:
        first, last: kernels, (in, out) of a dense layer or (out, in, 3, 3) of a convolution.
        inputs: (..., features), or images, channels first.
    """

    first: np.ndarray
    first_bias: np.ndarray
    last: np.ndarray
    last_bias: np.ndarray
    inputs: np.ndarray

    @property
    def width(self) -> int:
        """Features or channels in between."""
        return len(self.first_bias)

    @property
    def images(self) -> bool:
        return self.first.ndim == 4

    def pair(self, framework: str, reference: Any, other: str, candidate: Any) -> Pair:
        """The pair with these in between: functions of a tensor, or ready-made layers."""
        sides = [self.side(framework, reference), self.side(other, candidate)]
        if self.images:
            return image_pair(sides[0], sides[1], self.inputs)
        return Pair(sides[0], sides[1], (self.inputs,))

    def side(self, framework: str, middle: Any) -> Side:
        """A layer in between makes a model of layers with the layer at "middle"."""
        if isinstance(middle, nn.Module):
            model: Any = self._torch_module(middle)
        elif isinstance(middle, chainer.Link):
            model = self._chain(middle)
        elif framework == "keras":
            model = self._keras_model(middle)
        else:
            first, last = self._functions(framework)
            model = _composed(first, middle, last)
        return image_side(framework, model) if self.images else Side(framework, model)

    def _functions(self, framework: str) -> list[Callable[[Any], Any]]:
        weights = ((self.first, self.first_bias), (self.last, self.last_bias))
        make = _CONVOLUTIONS if self.images else _DENSE
        return [make[framework](kernel, bias) for kernel, bias in weights]

    def _torch_module(self, middle: nn.Module) -> nn.Module:
        ends = []
        for kernel, bias in ((self.first, self.first_bias), (self.last, self.last_bias)):
            if self.images:
                end: nn.Module = nn.Conv2d(kernel.shape[1], kernel.shape[0], 3, padding=1)
            else:
                end = nn.Linear(*kernel.shape)
            ends.append(with_state(end, weight=kernel if self.images else kernel.T, bias=bias))
        parts = OrderedDict(first=ends[0], middle=middle, last=ends[1])
        return nn.Sequential(parts).eval()

    def _keras_model(self, middle: Any) -> keras.Model:
        ends = []
        for kernel, bias in ((self.first, self.first_bias), (self.last, self.last_bias)):
            if self.images:
                end: Any = layers.Conv2D(kernel.shape[0], 3, padding="same")
                weights = [kernel.transpose(2, 3, 1, 0), bias]
            else:
                end = layers.Dense(kernel.shape[1])
                weights = [kernel, bias]
            end.build((None, *kernel.shape[2:], kernel.shape[1 if self.images else 0]))
            end.set_weights(weights)
            ends.append(end)
        if not isinstance(middle, layers.Layer):
            return _Subclassed(ends[0], middle, ends[1])
        features = self.inputs.shape[1 if self.images else -1]
        shape = (*(None,) * (self.inputs.ndim - 2), features)
        return keras.Sequential([layers.Input(shape), ends[0], middle, ends[1]])

    def _chain(self, middle: Any) -> Any:
        ends = []
        for kernel, bias in ((self.first, self.first_bias), (self.last, self.last_bias)):
            if self.images:
                outputs, channels = kernel.shape[:2]
                ends.append(L.Convolution2D(channels, outputs, 3, 1, 1, False, kernel, bias))
            else:
                ends.append(L.Linear(*kernel.shape, initialW=kernel.T, initial_bias=bias))
        axes = {} if self.images else {"n_batch_axes": self.inputs.ndim - 1}
        return _Chained(ends[0], middle, ends[1], axes)


class _Subclassed(keras.Model):
    def __init__(self, first: Any, between: Any, last: Any) -> None:
        super().__init__()
        self.first, self.between, self.last = first, between, last

    def call(self, x: Any) -> Any:
        return self.last(self.between(self.first(x)))


class _Chained(chainer.Chain):
    def __init__(self, first: Any, middle: Any, last: Any, axes: dict[str, int]) -> None:
        super().__init__()
        self.axes = axes
        with self.init_scope():
            self.first, self.middle, self.last = first, middle, last

    def forward(self, x: Any) -> Any:
        return self.last(self.middle(self.first(x, **self.axes)), **self.axes)


def _composed(first: Any, middle: Any, last: Any) -> Callable[[Any], Any]:
    def model(x: Any) -> Any:
        return last(middle(first(x)))

    return model


def _torch_dense(kernel: np.ndarray, bias: np.ndarray) -> Callable[[Any], Any]:
    return lambda x: x @ tensor(kernel) + tensor(bias)


def _tensorflow_dense(kernel: np.ndarray, bias: np.ndarray) -> Callable[[Any], Any]:
    return lambda x: x @ kernel + bias


def _chainer_dense(kernel: np.ndarray, bias: np.ndarray) -> Callable[[Any], Any]:
    return lambda x: F.linear(x, kernel.T, bias, n_batch_axes=x.ndim - 1)


def _torch_convolution(kernel: np.ndarray, bias: np.ndarray) -> Callable[[Any], Any]:
    return lambda x: nn.functional.conv2d(x, tensor(kernel), tensor(bias), padding=1)


def _tensorflow_convolution(kernel: np.ndarray, bias: np.ndarray) -> Callable[[Any], Any]:
    return lambda x: tf.nn.conv2d(x, kernel.transpose(2, 3, 1, 0), 1, "SAME") + bias


def _chainer_convolution(kernel: np.ndarray, bias: np.ndarray) -> Callable[[Any], Any]:
    return lambda x: F.convolution_2d(x, kernel, bias, pad=1)


_DENSE = {"torch": _torch_dense, "tensorflow": _tensorflow_dense, "chainer": _chainer_dense}
_CONVOLUTIONS = {
    "torch": _torch_convolution,
    "tensorflow": _tensorflow_convolution,
    "chainer": _chainer_convolution,
}


def dense(random: np.random.Generator, *, steps: bool = False, scale: float = 1.0) -> Between:
    """Between two dense layers: (batch, features), with `steps` (batch, steps, features).

    Args:
        scale: of the values in between.
    """
    batch, length, features, width, outputs = sizes(random, 5)
    shape = (batch, length, features) if steps else (batch, features)
    return Between(
        normal(random, features, width, scale=scale / features**0.5),
        normal(random, width, scale=0.3 * scale),
        normal(random, width, outputs, scale=0.5),
        normal(random, outputs, scale=0.3),
        normal(random, *shape),
    )


def convolved(random: np.random.Generator, *, scale: float = 1.0, even: bool = False) -> Between:
    """Between two convolutions with kernels of 3 by 3, on images of at least 6 by 7.

    Args:
        scale: of the values in between.
        even: an even number of channels in between.
    """
    height, columns, batch, channels, width, outputs = (
        *sizes(random, 2, 6, 9),
        *sizes(random, 4, 2, 5),
    )
    width = 2 * width if even else width
    return Between(
        normal(random, width, channels, 3, 3, scale=scale / (9 * channels) ** 0.5),
        normal(random, width, scale=0.3 * scale),
        normal(random, outputs, width, 3, 3, scale=0.3),
        normal(random, outputs, scale=0.3),
        normal(random, batch, channels, height, columns),
    )


def tensor(array: np.ndarray) -> torch.Tensor:
    """A tensor of the same values."""
    return torch.from_numpy(np.ascontiguousarray(array))


def with_state(module: Any, **arrays: np.ndarray) -> Any:
    """The module with these parameters and buffers."""
    module.load_state_dict({name: tensor(a) for name, a in arrays.items()}, strict=False)
    return module


def built(layer: Any, shape: tuple[int | None, ...], *weights: np.ndarray) -> Any:
    """The Keras layer, built for inputs of the shape, with these weights."""
    layer.build(shape)
    layer.set_weights(list(weights))
    return layer
