"""The same weights for the three networks: drawn once, in torch's order, and carried over.

A layer's weights are a pair (weight, bias). Convolutions are (out, in, height, width) and dense
layers (out, in) in torch and Chainer, (height, width, in, out) and (in, out) in Keras.
"""

import numpy as np

SHAPES = {
    "conv1": (32, 4, 8, 8),
    "conv2": (64, 32, 4, 4),
    "conv3": (64, 64, 3, 3),
    "advantage_hidden": (512, 64 * 7 * 7),
    "advantage_out": (6 * 51, 512),
    "value_hidden": (512, 64 * 7 * 7),
    "value_out": (51, 512),
}
AFTER_FLATTEN = ("advantage_hidden", "value_hidden")


def draw(seed=0):
    """He-scaled weights and biases that are all distinct and none zero; the same for one seed."""
    rng = np.random.default_rng(seed)
    drawn = {}
    for layer, shape in SHAPES.items():
        scale = np.sqrt(2 / np.prod(shape[1:]))
        weight = rng.normal(0, scale, shape).astype(np.float32)
        bias = rng.normal(0, 0.1, shape[0]).astype(np.float32)
        drawn[layer] = (weight, bias)
    return drawn


def load_into_torch(net, weights):
    import torch

    with torch.no_grad():
        for layer, (weight, bias) in weights.items():
            getattr(net, layer).weight.copy_(torch.from_numpy(weight))
            getattr(net, layer).bias.copy_(torch.from_numpy(bias))


def load_into_chainer(net, weights):
    for layer, (weight, bias) in weights.items():
        getattr(net, layer).W.array[...] = weight
        getattr(net, layer).b.array[...] = bias


def load_into_keras(net, weights):
    net(np.zeros((1, 84, 84, 4), np.float32))  # makes its variables
    for layer, (weight, bias) in weights.items():
        if layer in AFTER_FLATTEN:
            weight = flatten_channels_last(weight)
        if weight.ndim == 4:
            kernel = weight.transpose(2, 3, 1, 0)
        else:
            kernel = weight.T
        getattr(net, layer).set_weights([kernel, bias])


def flatten_channels_last(weight, channels=64, height=7, width=7):
    """Turns the inputs of a dense layer from the flattened order of CHW to that of HWC."""
    images = weight.reshape(-1, channels, height, width)
    return images.transpose(0, 2, 3, 1).reshape(weight.shape)
