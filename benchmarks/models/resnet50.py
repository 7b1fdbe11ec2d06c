"""ResNet-50: `keras.applications.ResNet50` and the same network in torch, batch 8, 64x64.

Keras's is the first version of He et al. (2015): a block that halves the image does so in its
first 1x1 convolution, convolutions have biases, BatchNorm's epsilon is 1.001e-5, and the padding
before the first convolution and the max pool is the same on all sides. No weights are fetched;
both get random ones, for BatchNorm's statistics too.
"""

import zlib

import keras
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

BATCH, CHANNELS, SIZE, CLASSES = 8, 3, 64, 1000
STAGES = [("conv2", 64, 3, 1), ("conv3", 128, 4, 2), ("conv4", 256, 6, 2), ("conv5", 512, 3, 2)]
EPSILON = 1.001e-5


def pair():
    return torch_model(), keras_model(), inputs_for_torch(), inputs_for_keras()


class Block(nn.Module):
    """1x1, 3x3 and 1x1 convolutions beside a shortcut, which is projected in a stage's first."""

    def __init__(self, channels, filters, stride, projected):
        super().__init__()
        self.projected = projected
        if projected:
            self.conv0 = nn.Conv2d(channels, 4 * filters, 1, stride=stride)
            self.bn0 = nn.BatchNorm2d(4 * filters, eps=EPSILON)
        self.conv1 = nn.Conv2d(channels, filters, 1, stride=stride)
        self.bn1 = nn.BatchNorm2d(filters, eps=EPSILON)
        self.conv2 = nn.Conv2d(filters, filters, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(filters, eps=EPSILON)
        self.conv3 = nn.Conv2d(filters, 4 * filters, 1)
        self.bn3 = nn.BatchNorm2d(4 * filters, eps=EPSILON)

    def forward(self, x):
        shortcut = self.bn0(self.conv0(x)) if self.projected else x
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = self.bn3(self.conv3(x))
        return F.relu(x + shortcut)


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(CHANNELS, 64, 7, stride=2, padding=3)
        self.bn1 = nn.BatchNorm2d(64, eps=EPSILON)
        self.blocks = nn.Sequential()
        channels = 64
        for stage, filters, repeats, stride in STAGES:
            for index in range(1, repeats + 1):
                first = index == 1
                block = Block(channels, filters, stride if first else 1, projected=first)
                self.blocks.add_module(f"{stage}_block{index}", block)
                channels = 4 * filters
        self.predictions = nn.Linear(channels, CLASSES)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        # Keras pads with zeros, max_pool2d with -inf: behind a ReLU that is the same.
        x = F.max_pool2d(x, 3, stride=2, padding=1)
        x = self.blocks(x)
        x = x.mean(dim=(2, 3))
        return F.softmax(self.predictions(x), dim=-1)


@torch.no_grad()
def torch_model():
    net = ResNet50()
    for path, layer in net.named_modules():
        name = keras_name(path)
        if isinstance(layer, nn.Conv2d):
            out, channels, height, width = layer.weight.shape
            kernel, bias = draw_kernel(name, (height, width, channels, out))
            layer.weight.copy_(torch.from_numpy(kernel.transpose(3, 2, 0, 1)))
            layer.bias.copy_(torch.from_numpy(bias))
        elif isinstance(layer, nn.Linear):
            out, channels = layer.weight.shape
            kernel, bias = draw_kernel(name, (channels, out))
            layer.weight.copy_(torch.from_numpy(kernel.T))
            layer.bias.copy_(torch.from_numpy(bias))
        elif isinstance(layer, nn.BatchNorm2d):
            tensors = (layer.weight, layer.bias, layer.running_mean, layer.running_var)
            drawn = draw_normalisation(name, layer.num_features)
            for tensor, array in zip(tensors, drawn, strict=True):
                tensor.copy_(torch.from_numpy(array))
    return net.eval()


def keras_model():
    net = keras.applications.ResNet50(
        weights=None, input_shape=(SIZE, SIZE, CHANNELS), classes=CLASSES
    )
    for layer in net.layers:
        if isinstance(layer, keras.layers.Conv2D | keras.layers.Dense):
            layer.set_weights(draw_kernel(layer.name, layer.kernel.shape))
        elif isinstance(layer, keras.layers.BatchNormalization):
            layer.set_weights(draw_normalisation(layer.name, layer.gamma.shape[0]))
    return net


def inputs_for_torch():
    rng = np.random.default_rng(1)
    return rng.normal(size=(BATCH, CHANNELS, SIZE, SIZE)).astype(np.float32)


def inputs_for_keras():
    return np.ascontiguousarray(inputs_for_torch().transpose(0, 2, 3, 1))


def keras_name(path):
    """`blocks.conv2_block1.bn3` is `conv2_block1_3_bn` in Keras, and `bn1` is `conv1_bn`."""
    block, _, layer = path.removeprefix("blocks.").rpartition(".")
    if block:
        return f"{block}_{layer[-1]}_{layer[:-1]}"
    return {"conv1": "conv1_conv", "bn1": "conv1_bn"}.get(layer, layer)


def draw_kernel(name, shape):
    """Kernel (Keras's order) and bias of a layer; a name always gets the same ones."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    gain = 0.1 if name == "predictions" else 2  # He's 2, but the softmax must not saturate
    kernel = rng.standard_normal(shape, dtype=np.float32)
    kernel *= np.float32(np.sqrt(gain / np.prod(shape[:-1])))
    bias = 0.1 * rng.standard_normal(shape[-1], dtype=np.float32)
    return kernel, bias


def draw_normalisation(name, channels):
    """Gamma, beta, mean and variance; gammas are small where a branch ends: sixteen are added."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    gamma = rng.uniform(0.5, 1.5, channels) * (0.3 if name.endswith("_3_bn") else 1)
    beta = rng.normal(0, 0.1, channels)
    mean = rng.normal(0, 0.1, channels)
    variance = rng.uniform(1, 2, channels)
    return [array.astype(np.float32) for array in (gamma, beta, mean, variance)]
