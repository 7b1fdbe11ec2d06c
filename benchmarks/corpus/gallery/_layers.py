"""One dense or convolutional layer with the same values in every framework: what entries share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.gallery.entry import normal, sizes
from benchmarks.corpus.scenarios.pair import chainer

F, L = chainer.functions, chainer.links


@dataclass(frozen=True)
class Dense:
    """Weight (inputs, outputs) and bias (outputs,)."""

    weight: np.ndarray
    bias: np.ndarray

    def in_torch(self, x: torch.Tensor) -> torch.Tensor:
        return x @ torch.from_numpy(self.weight) + torch.from_numpy(self.bias)

    def in_tf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.linalg.matmul(x, self.weight) + self.bias

    def in_chainer(self, x: Any) -> Any:
        return F.linear(x, self.weight.T, self.bias, n_batch_axes=x.ndim - 1)

    def torch_layer(self) -> torch.nn.Linear:
        layer = torch.nn.Linear(*self.weight.shape)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(self.weight.T))
            layer.bias.copy_(torch.from_numpy(self.bias))
        return layer

    def keras_layer(self, activation: str | None = None, name: str | None = None) -> Any:
        return keras.layers.Dense(
            self.weight.shape[1],
            activation=activation,
            kernel_initializer=keras.initializers.Constant(self.weight),
            bias_initializer=keras.initializers.Constant(self.bias),
            name=name,
        )

    def chainer_link(self) -> Any:
        return L.Linear(*self.weight.shape, initialW=self.weight.T, initial_bias=self.bias)


@dataclass(frozen=True)
class Conv:
    """Kernel (outputs, inputs, height, width) and bias (outputs,); stride 1, no padding."""

    kernel: np.ndarray
    bias: np.ndarray

    def in_torch(self, x: torch.Tensor) -> torch.Tensor:
        kernel, bias = torch.from_numpy(self.kernel), torch.from_numpy(self.bias)
        return torch.nn.functional.conv2d(x, kernel, bias)

    def in_tf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.conv2d(x, self.kernel.transpose(2, 3, 1, 0), 1, "VALID") + self.bias

    def in_chainer(self, x: Any) -> Any:
        return F.convolution_2d(x, self.kernel, self.bias)

    def torch_layer(self) -> torch.nn.Conv2d:
        outputs, inputs, *window = self.kernel.shape
        layer = torch.nn.Conv2d(inputs, outputs, tuple(window))
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(self.kernel))
            layer.bias.copy_(torch.from_numpy(self.bias))
        return layer

    def keras_layer(self, activation: str | None = None, name: str | None = None) -> Any:
        return keras.layers.Conv2D(
            self.kernel.shape[0],
            self.kernel.shape[2:],
            activation=activation,
            kernel_initializer=keras.initializers.Constant(self.kernel.transpose(2, 3, 1, 0)),
            bias_initializer=keras.initializers.Constant(self.bias),
            name=name,
        )


def dense(random: np.random.Generator, inputs: int, outputs: int, scale: float = 1.0) -> Dense:
    """A layer whose outputs are about as large as its inputs, times `scale`."""
    weight = normal(random, inputs, outputs, scale=scale / np.sqrt(inputs))
    return Dense(weight, normal(random, outputs, scale=0.5 * scale))


def two_dense(random: np.random.Generator, scale: float = 1.0) -> tuple[np.ndarray, Dense, Dense]:
    """Features (batch, features), and two dense layers; `scale` is the second's."""
    batch, features, hidden, outputs = sizes(random, 4)
    layers = dense(random, features, hidden), dense(random, hidden, outputs, scale)
    return normal(random, batch, features), *layers


def conv(random: np.random.Generator, inputs: int, outputs: int, window: int = 3) -> Conv:
    kernel = normal(random, outputs, inputs, window, window, scale=1 / np.sqrt(9 * inputs))
    return Conv(kernel, normal(random, outputs, scale=0.5))


def between(random: np.random.Generator, low: float, high: float) -> float:
    """A number that is exact in float32, so that both frameworks get the same."""
    return float(np.float32(random.uniform(low, high)))
