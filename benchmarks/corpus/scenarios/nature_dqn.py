"""Seed 004: a ChainerRL Nature DQN brought to Keras, its weights converted rightly or wrongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np
from keras import layers

from .pair import Pair, chainer, image_pair, image_side, place_of, tagged_lines

F, L = chainer.functions, chainer.links

CHANNELS = (4, 10, 12, 14)
LAST_MAP = (14, 7, 8)  # of images 84 x 92
HIDDEN, ACTIONS = 29, 9
CONVOLUTIONS = ["conv", "conv_1", "conv_2"]


class NatureDQNHead(chainer.ChainList):
    """As in ChainerRL, with fewer filters."""

    def __init__(self, activation=F.relu, bias=0.1):
        self.activation = activation
        super().__init__(
            L.Convolution2D(CHANNELS[0], CHANNELS[1], 8, stride=4, initial_bias=bias),
            L.Convolution2D(CHANNELS[1], CHANNELS[2], 4, stride=2, initial_bias=bias),
            L.Convolution2D(CHANNELS[2], CHANNELS[3], 3, stride=1, initial_bias=bias),
            L.Linear(int(np.prod(LAST_MAP)), HIDDEN, initial_bias=bias),
        )

    def forward(self, state):
        h = state
        for layer in self:
            h = self.activation(layer(h))  # stage: layer
        return h


def chainer_model(rng: np.random.Generator):
    model = chainer.Sequential(NatureDQNHead(), L.Linear(HIDDEN, ACTIONS))
    for name, parameter in sorted(model.namedparams()):
        fan_in = np.prod(parameter.shape[1:]) if name.endswith("W") else 10.0
        parameter.array[...] = rng.normal(scale=1.3 / np.sqrt(fan_in), size=parameter.shape)
    return model


def keras_model(arrays: list[np.ndarray]):
    inputs = layers.Input(shape=(84, 92, 4))
    x = layers.Conv2D(CHANNELS[1], 8, strides=4, activation="relu", name="conv")(inputs)
    x = layers.Conv2D(CHANNELS[2], 4, strides=2, activation="relu", name="conv_1")(x)
    x = layers.Conv2D(CHANNELS[3], 3, strides=1, activation="relu", name="conv_2")(x)
    x = layers.Flatten()(x)
    x = layers.Dense(HIDDEN, activation="relu", name="fully_connected")(x)
    action_scores = layers.Dense(ACTIONS, name="fully_connected_1")(x)
    model = keras.Model(inputs, action_scores)
    model.set_weights(arrays)
    return model


@dataclass(frozen=True)
class Conversion:
    """How convolution and first dense weights are converted, and what goes wrong in which layer."""

    convolution: Callable[[np.ndarray], np.ndarray]
    dense: Callable[[np.ndarray], np.ndarray]
    causes: dict[str, str]

    @property
    def wrong_layers(self) -> tuple[str, ...]:
        return tuple(self.causes)


def reshaped(w: np.ndarray) -> np.ndarray:
    out, into, height, width = w.shape
    return w.reshape(height, width, into, out)


def transposed(w: np.ndarray) -> np.ndarray:
    return w.transpose(2, 3, 1, 0)


def permuted(w: np.ndarray) -> np.ndarray:
    """The columns of a dense kernel (out, C*H*W) in HWC order, transposed."""
    return w.reshape(-1, *LAST_MAP).transpose(2, 3, 1, 0).reshape(-1, len(w))


NOT_PERMUTED = {"fully_connected": "flatten-order"}
CONVERSIONS = {
    "question: convolutions reshaped": Conversion(
        reshaped, np.transpose, dict.fromkeys(CONVOLUTIONS, "weight-reshaped") | NOT_PERMUTED
    ),
    "answer: transposed, dense not permuted": Conversion(transposed, np.transpose, NOT_PERMUTED),
    "W.T on convolutions": Conversion(
        np.transpose, np.transpose, dict.fromkeys(CONVOLUTIONS, "spatial-swap") | NOT_PERMUTED
    ),
    "right: transposed, dense permuted": Conversion(transposed, permuted, {}),
}
CHAINER_LAYERS = {"conv": "0/0", "conv_1": "0/1", "conv_2": "0/2", "fully_connected": "0/3"}


def conversion_pair(name: str) -> Pair:
    rng = np.random.default_rng(4)
    conversion, model = CONVERSIONS[name], chainer_model(rng)
    arrays = []
    for i, layer in enumerate([*model[0], model[1]]):
        convert = (conversion.convolution,) * 3 + (conversion.dense, np.transpose)
        arrays += [convert[i](layer.W.array), layer.b.array]
    images = rng.normal(size=(5, 4, 84, 92)).astype(np.float32)
    return image_pair(
        image_side("chainer", model), image_side("keras", keras_model(arrays)), images
    )


def layers_of(divergence) -> tuple[str, str]:
    """The last parts of the layers' paths: `0/0` of `/0/0` in Chainer, `conv` in Keras."""
    reference, candidate = (
        site.layer or "" for site in (divergence.reference, divergence.candidate)
    )
    return "/".join(reference.split("/")[-2:]), candidate.split("/")[-1]


def is_first_wrong_layer(conversion: Conversion, divergence) -> bool:
    """Whether both sides name the first layer whose weights are wrong."""
    wrong = conversion.wrong_layers[:1]
    at_line = place_of(divergence.reference) in tagged_lines(__file__, "stage: layer")
    return at_line and [layers_of(divergence)] == [(CHAINER_LAYERS[name], name) for name in wrong]
