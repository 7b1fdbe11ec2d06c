"""The Nature DQN (Mnih et al., 2015) in torch and Keras, batch 32."""

import keras
import numpy as np
import torch
from keras import layers
from torch import nn

BATCH, CHANNELS, SIZE, ACTIONS = 32, 4, 84, 6
FLAT = (64, 7, 7)
HIDDEN = 512


def pair():
    return torch_model(), keras_model(), inputs_for_torch(), inputs_for_keras()


@torch.no_grad()
def torch_model():
    net = nn.Sequential(
        nn.Conv2d(CHANNELS, 32, 8, stride=4),
        nn.ReLU(),
        nn.Conv2d(32, 64, 4, stride=2),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3, stride=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(int(np.prod(FLAT)), HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, ACTIONS),
    )
    with_weights = [layer for layer in net if isinstance(layer, nn.Conv2d | nn.Linear)]
    for layer, (weight, bias) in zip(with_weights, draw_weights(), strict=True):
        layer.weight.copy_(torch.from_numpy(weight))
        layer.bias.copy_(torch.from_numpy(bias))
    return net.eval()


def keras_model():
    net = keras.Sequential(
        [
            layers.Input((SIZE, SIZE, CHANNELS)),
            layers.Conv2D(32, 8, strides=4, activation="relu"),
            layers.Conv2D(64, 4, strides=2, activation="relu"),
            layers.Conv2D(64, 3, strides=1, activation="relu"),
            layers.Flatten(),
            layers.Dense(HIDDEN, activation="relu"),
            layers.Dense(ACTIONS),
        ]
    )
    with_weights = [layer for layer in net.layers if layer.weights]
    for layer, (weight, bias) in zip(with_weights, draw_weights(), strict=True):
        if weight.ndim == 4:
            kernel = weight.transpose(2, 3, 1, 0)
        elif weight.shape == (HIDDEN, np.prod(FLAT)):  # reads the flattened images
            kernel = weight.reshape(HIDDEN, *FLAT).transpose(2, 3, 1, 0).reshape(-1, HIDDEN)
        else:
            kernel = weight.T
        layer.set_weights([kernel, bias])
    return net


def inputs_for_torch():
    rng = np.random.default_rng(1)
    return rng.uniform(-1, 1, (BATCH, CHANNELS, SIZE, SIZE)).astype(np.float32)


def inputs_for_keras():
    return np.ascontiguousarray(inputs_for_torch().transpose(0, 2, 3, 1))


def draw_weights():
    """(weight, bias) of each layer, in torch's order."""
    rng = np.random.default_rng(0)
    shapes = [
        (32, CHANNELS, 8, 8),
        (64, 32, 4, 4),
        (64, 64, 3, 3),
        (HIDDEN, int(np.prod(FLAT))),
        (ACTIONS, HIDDEN),
    ]
    for shape in shapes:
        scale = np.sqrt(2 / np.prod(shape[1:]))
        weight = rng.normal(0, scale, shape).astype(np.float32)
        bias = rng.normal(0, 0.1, shape[0]).astype(np.float32)
        yield weight, bias
