"""The backward pass: what is stopped in one model alone, scaled, or given a derivative by hand."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.corpus.gallery._layers import Conv, Dense, conv, dense
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer, image_side

F = chainer.functions


def _two_heads(random: np.random.Generator) -> tuple[np.ndarray, Dense, Dense, Dense]:
    """Features (batch, features); a hidden layer; a head of one value and one of actions."""
    batch, features, width, actions = sizes(random, 4)
    layers = (
        dense(random, features, width), dense(random, width, 1), dense(random, width, actions),
    )  # fmt: skip
    return normal(random, batch, features), *layers


class TorchHeads(nn.Module):
    """A value and advantages over one hidden layer."""

    def __init__(self, hidden: Dense, value: Dense, advantage: Dense) -> None:
        super().__init__()
        self.hidden, self.value = hidden.torch_layer(), value.torch_layer()
        self.advantage = advantage.torch_layer()

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        h = torch.tanh(self.hidden(x))
        return {"value": self.value(h), "advantage": self.advantage(h)}


class KerasHeads(keras.Model):
    """The same in Keras."""

    def __init__(self, hidden: Dense, value: Dense, advantage: Dense) -> None:
        super().__init__()
        self.hidden, self.value = hidden.keras_layer(), value.keras_layer()
        self.advantage = advantage.keras_layer()

    def call(self, x: Any) -> Any:
        h = tf.tanh(self.hidden(x))
        return {"value": self.value(h), "advantage": self.advantage(h)}


class ChainerHeads(chainer.Chain):
    """The same in Chainer."""

    def __init__(self, hidden: Dense, value: Dense, advantage: Dense) -> None:
        super().__init__()
        with self.init_scope():
            self.hidden, self.value = hidden.chainer_link(), value.chainer_link()
            self.advantage = advantage.chainer_link()

    def forward(self, x: Any) -> Any:
        h = F.tanh(self.hidden(x))
        return {"value": self.value(h), "advantage": self.advantage(h)}


@fault("value-head-detached", "gradient-missing", family="gradients", layers=[("value", "")])
def value_head_detached(random: np.random.Generator) -> Pair:
    """The value's loss does not reach the trunk."""
    x, *layers = _two_heads(random)

    class Candidate(KerasHeads):
        def call(self, x: Any) -> Any:
            h = tf.tanh(self.hidden(x))  # value-head-detached: candidate
            value = self.value(tf.stop_gradient(h))
            return {"value": value, "advantage": self.advantage(h)}

    return _pair(Side("torch", TorchHeads(*layers)), Side("keras", Candidate(*layers)), x)


@fault(
    "advantage-detached-in-torch",
    "gradient-missing",
    family="gradients",
    layers=[("/advantage", "")],
)
def advantage_detached_in_torch(random: np.random.Generator) -> Pair:
    x, *layers = _two_heads(random)

    class Candidate(TorchHeads):
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            h = torch.tanh(self.hidden(x))  # advantage-detached-in-torch: candidate
            return {"value": self.value(h), "advantage": self.advantage(h.detach())}

    return _pair(Side("chainer", ChainerHeads(*layers)), Side("torch", Candidate(*layers)), x)


@fault(
    "value-head-not-detached", "gradient-not-stopped", family="gradients", layers=[("", "value")]
)
def value_head_not_detached(random: np.random.Generator) -> Pair:
    """The reference trains the trunk by the advantages alone."""
    x, *layers = _two_heads(random)

    class Reference(KerasHeads):
        def call(self, x: Any) -> Any:
            h = tf.tanh(self.hidden(x))  # value-head-not-detached: reference
            value = self.value(tf.stop_gradient(h))
            return {"value": value, "advantage": self.advantage(h)}

    return _pair(Side("keras", Reference(*layers)), Side("torch", TorchHeads(*layers)), x)


@fault(
    "gradient-halved",
    "gradient-scale",
    family="gradients",
    layers=[("", "")],
    parameters=[{"scale": (1.0, 0.5)}],
)
def gradient_halved(random: np.random.Generator) -> Pair:
    """IMPALA's trunks and others pass half of a head's gradient on."""
    x, *layers = _two_heads(random)

    class Reference(TorchHeads):
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            h = torch.tanh(self.hidden(x))  # gradient-halved: reference
            return {"value": self.value(h), "advantage": self.advantage(h)}

    class Candidate(KerasHeads):
        def call(self, x: Any) -> Any:
            h = tf.tanh(self.hidden(x))
            h = 0.5 * h + 0.5 * tf.stop_gradient(h)  # gradient-halved: candidate
            return {"value": self.value(h), "advantage": self.advantage(h)}

    return _pair(Side("torch", Reference(*layers)), Side("keras", Candidate(*layers)), x)


# --- clean ---------------------------------------------------------------------------------------


@clean("gradients-of-two-heads", family="gradients")
def gradients_of_two_heads(random: np.random.Generator) -> Pair:
    x, *layers = _two_heads(random)
    return _pair(Side("torch", TorchHeads(*layers)), Side("keras", KerasHeads(*layers)), x)


@clean("gradients-in-chainer", family="gradients")
def gradients_in_chainer(random: np.random.Generator) -> Pair:
    x, *layers = _two_heads(random)
    return _pair(Side("chainer", ChainerHeads(*layers)), Side("torch", TorchHeads(*layers)), x)


@clean("gradients-both-detached", family="gradients")
def gradients_both_detached(random: np.random.Generator) -> Pair:
    """Stopped in both, by `detach` and by `stop_gradient`."""
    x, *layers = _two_heads(random)

    class Reference(TorchHeads):
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            h = torch.tanh(self.hidden(x))
            return {"value": self.value(h.detach()), "advantage": self.advantage(h)}

    class Candidate(KerasHeads):
        def call(self, x: Any) -> Any:
            h = tf.tanh(self.hidden(x))
            return {"value": self.value(tf.stop_gradient(h)), "advantage": self.advantage(h)}

    return _pair(Side("torch", Reference(*layers)), Side("keras", Candidate(*layers)), x)


@clean("gradients-of-images", family="gradients")
def gradients_of_images(random: np.random.Generator) -> Pair:
    """Channels first and last, and a dense layer behind the flattened maps."""
    batch, channels, maps, outputs = sizes(random, 4)
    height, width = (int(n) for n in random.choice(np.arange(5, 10), 2, replace=False))
    first = conv(random, channels, maps)
    size = maps, height - 2, width - 2
    last = dense(random, int(np.prod(size)), outputs)
    x = normal(random, batch, channels, height, width)
    reference = nn.Sequential(first.torch_layer(), nn.ELU(), nn.Flatten(), last.torch_layer())
    candidate = _channels_last(first, last, size, x)
    return Pair(image_side("torch", reference), image_side("keras", candidate), (x,), True)


def _channels_last(first: Conv, last: Dense, size: tuple[int, int, int], x: np.ndarray) -> Any:
    rows = last.weight.reshape(*size, -1).transpose(1, 2, 0, 3).reshape(last.weight.shape)
    return keras.Sequential(
        [
            keras.layers.Input((*x.shape[2:], x.shape[1])),
            first.keras_layer("elu"),
            keras.layers.Flatten(),
            Dense(rows, last.bias).keras_layer(),
        ]
    )


@clean("gradients-of-a-recurrence", family="gradients")
def gradients_of_a_recurrence(random: np.random.Generator) -> Pair:
    """A fused LSTM with two biases against Keras's, whose gates are one matrix with one."""
    batch, steps, features, units = sizes(random, 4)
    x = normal(random, batch, steps, features)
    lstm = nn.LSTM(features, units, batch_first=True)
    drawn = [normal(random, *one.shape, scale=0.4) for one in lstm.parameters()]
    with torch.no_grad():
        for parameter, array in zip(lstm.parameters(), drawn, strict=True):
            parameter.copy_(torch.from_numpy(array))

    class Reference(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = lstm

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.lstm(x)[0]

    candidate = keras.Sequential(
        [keras.layers.Input((steps, features)), keras.layers.LSTM(units, return_sequences=True)]
    )
    candidate.set_weights([drawn[0].T, drawn[1].T, drawn[2] + drawn[3]])
    return _pair(Side("torch", Reference()), Side("keras", candidate), x)


def _pair(reference: Side, candidate: Side, x: np.ndarray) -> Pair:
    return Pair(reference, candidate, (x,), gradients=True)
