"""RLlib's default networks for images in torch and Keras, and the gates of its attention net.

Built as RLlib builds them, with its names and shapes; RLlib itself need not be installed.
"""

from __future__ import annotations

from typing import Any

import keras
import torch
from keras import layers, ops
from torch import nn

FILTERS = ((16, 8, 4), (32, 4, 2), (256, 11, 1))
ACTIONS = 4


# --- the vision network, 84 x 84 -----------------------------------------------------------------


class _Slim(nn.Module):
    """`SlimConv2d` and `SlimFC`: what they do is a Sequential named `_model`."""

    def __init__(self, *modules: nn.Module):
        super().__init__()
        self._model = nn.Sequential(*modules)

    def forward(self, x):
        return self._model(x)


def _same(size: int, kernel: int, stride: int) -> tuple[nn.ZeroPad2d, int]:
    """The padding of TensorFlow's `same`, and the size that a convolution then leaves."""
    steps = -(-size // stride)
    total = max((steps - 1) * stride + kernel - size, 0)
    one, other = total // 2, total - total // 2
    return nn.ZeroPad2d((one, other, one, other)), steps


def _trunk(frames: int = 4, size: int = 84) -> list[_Slim]:
    found = []
    for number, (filters, kernel, stride) in enumerate(FILTERS):
        conv = nn.Conv2d(frames, filters, kernel, stride)
        if number < 2:
            padding, size = _same(size, kernel, stride)
            found.append(_Slim(padding, conv, nn.ReLU()))
        else:
            found.append(_Slim(conv, nn.ReLU()))
        frames = filters
    return found


class TorchVision(nn.Module):
    """Logits and value of images (batch, 84, 84, 4), which it permutes itself."""

    def __init__(self, shared: bool = True):
        super().__init__()
        self._logits = _Slim(nn.ZeroPad2d(0), nn.Conv2d(256, ACTIONS, 1))
        self._convs = nn.Sequential(*_trunk())
        if shared:
            self._value_branch = _Slim(nn.Linear(256, 1))
        else:
            head = _Slim(nn.Conv2d(256, 1, 1))
            self._value_branch_separate = nn.Sequential(*_trunk(), head)

    def forward(self, images):
        x = images.permute(0, 3, 1, 2)
        features = self._convs(x)
        logits = self._logits(features)[:, :, 0, 0]
        if hasattr(self, "_value_branch"):
            return logits, self._value_branch(features[:, :, 0, 0]).squeeze(1)
        return logits, self._value_branch_separate(x)[:, :, 0, 0].squeeze(1)


def _keras_trunk(x: Any, names: str) -> Any:
    for number, (filters, kernel, stride) in enumerate(FILTERS, 1):
        x = layers.Conv2D(
            filters,
            kernel,
            stride,
            activation="relu",
            padding="same" if number < 3 else "valid",
            name=names.format(number),
        )(x)
    return x


def keras_vision(shared: bool = True) -> keras.Model:
    """The same in Keras, its layers created in RLlib's order."""
    inputs = layers.Input((84, 84, 4), name="observations")
    x = inputs
    if shared:
        last = _keras_trunk(x, "conv{}")
        logits = layers.Conv2D(ACTIONS, 1, padding="same", name="conv_out")(last)
        value = layers.Dense(1, name="value_out")(last[:, 0, 0])
        return keras.Model(inputs, [logits[:, 0, 0], value[:, 0]])
    value = _keras_trunk(x, "conv_value_{}")
    value = layers.Conv2D(1, 1, padding="same", name="conv_value_out")(value)
    last = _keras_trunk(x, "conv{}")
    logits = layers.Conv2D(ACTIONS, 1, padding="same", name="conv_out")(last)
    return keras.Model(inputs, [logits[:, 0, 0], value[:, 0, 0, 0]])


# --- the gates of the attention net, whose variables all have one name ---------------------------


class Gate(layers.Layer):
    """`GRUGate`: six kernels and a bias, each called `Variable`."""

    def build(self, shape):
        size = shape[0][-1]
        new = [self.add_weight(shape=(size, size), name="Variable") for _ in range(6)]
        self.w_r, self.w_z, self.w_h, self.u_r, self.u_z, self.u_h = new
        self.bias_z = self.add_weight(shape=(size,), name="Variable")

    def call(self, pair):
        h, x = pair
        r = ops.sigmoid(x @ self.w_r + h @ self.u_r)
        z = ops.sigmoid(x @ self.w_z + h @ self.u_z - self.bias_z)
        new = ops.tanh(x @ self.w_h + (r * h) @ self.u_h)
        return (1 - z) * h + z * new


class Bias(layers.Layer):
    """Both vectors of `RelativeMultiHeadAttention` that are added: two of one name."""

    def build(self, shape):
        self.u, self.v = (self.add_weight(shape=(shape[-1],), name="Variable") for _ in range(2))

    def call(self, x):
        return ops.tanh(x + self.u) + self.v


def keras_gates() -> keras.Model:
    """37 variables, of which a dict by name keeps 24."""
    inputs = h = layers.Input((4,))
    h = layers.Dense(16, activation="tanh", use_bias=False, name="fc_1")(h)
    h = Bias(name="bias")(h)
    for number in (1, 2):
        x = layers.LayerNormalization(name=f"layer_normalization_{number}")(h)
        for width in ("wide", "narrow"):
            x = layers.Dense(16, activation="relu", name=f"{width}_{number}")(x)
        h = Gate(name=f"gate_{number}")([h, x])
    for number in range(2):
        h = layers.Dense(16, activation="tanh", name=f"last_{number}")(h)
    logits, value = layers.Dense(2, name="logits")(h), layers.Dense(1, name="values")(h)
    return keras.Model(inputs, [logits, value])


class TorchGate(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        for name in ("u_h", "w_h", "u_z", "w_z", "u_r", "w_r"):
            setattr(self, f"_{name}", nn.Parameter(torch.zeros(size, size)))
        self._bias_z = nn.Parameter(torch.zeros(size))

    def forward(self, h, x):
        r = torch.sigmoid(x @ self._w_r + h @ self._u_r)
        z = torch.sigmoid(x @ self._w_z + h @ self._u_z - self._bias_z)
        new = torch.tanh(x @ self._w_h + (r * h) @ self._u_h)
        return (1 - z) * h + z * new


class TorchGates(nn.Module):
    def __init__(self):
        super().__init__()
        self._values, self._logits = nn.Linear(16, 1), nn.Linear(16, 2)
        self._gates = nn.ModuleList([TorchGate(16), TorchGate(16)])
        self._last = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())
        self._mlps = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(16, eps=1e-3),
                nn.Linear(16, 16),
                nn.ReLU(),
                nn.Linear(16, 16),
                nn.ReLU(),
            )
            for _ in range(2)
        )
        self._first = nn.Linear(4, 16, bias=False)
        self._v, self._u = (nn.Parameter(torch.zeros(16)) for _ in range(2))

    def forward(self, x):
        h = torch.tanh(torch.tanh(self._first(x)) + self._u) + self._v
        for mlp, gate in zip(self._mlps, self._gates, strict=True):
            h = gate(h, mlp(h))
        h = self._last(h)
        return self._logits(h), self._values(h)
