"""Weights and values in another order: of axes, of channels, of pixels, of parts, of heads."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.gallery import _nets as nets
from benchmarks.corpus.gallery._nets import hwio, images, net, t
from benchmarks.corpus.gallery.entry import fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer

C, F, nn = chainer.functions, torch.nn.functional, torch.nn


@fault(
    "square-weight-not-transposed",
    "weight-not-transposed",
    family="layout",
    layers=[("2", "square")],
    source="vllm-project/vllm#44110",
)
def square_weight_not_transposed(random: np.random.Generator) -> Pair:
    batch, features, hidden, out = sizes(random, 4)
    first, last = normal(random, features, hidden), normal(random, hidden, out)
    square, bias = normal(random, hidden, hidden, scale=0.5), normal(random, hidden)
    reference = nn.Sequential(
        nets.torch_dense(first),
        nn.ReLU(),
        nets.torch_dense(square, bias),
        nn.Tanh(),
        nets.torch_dense(last),
    )
    candidate = keras.Sequential(
        [
            nets.keras_dense(first, activation="relu"),
            nets.keras_dense(square.T, bias, activation="tanh", name="square"),
            nets.keras_dense(last),
        ]
    )
    return Pair(
        Side("torch", reference), Side("keras", candidate), (normal(random, batch, features),)
    )


@fault("projection-not-transposed", "weight-not-transposed", family="layout")
def projection_not_transposed(random: np.random.Generator) -> Pair:
    batch, steps, width, out = sizes(random, 4)
    query, key = normal(random, width, width), normal(random, width, width)
    value = normal(random, width, out)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(query=nets.chainer_dense(query), key=nets.chainer_dense(key))
            self.value = chainer.Parameter(value)

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            q = self.query(x, n_batch_axes=2)
            k = self.key(x, n_batch_axes=2)  # projection-not-transposed: reference
            weights = C.softmax(C.matmul(q, k, transb=True) / width, axis=2)
            return C.matmul(weights, C.einsum("btw,wo->bto", x, self.value))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        q = F.linear(x, t(query.T.copy()))
        k = F.linear(x, t(key))  # projection-not-transposed: candidate
        return torch.softmax(q @ k.transpose(1, 2) / width, -1) @ (x @ t(value))

    x = normal(random, batch, steps, width)
    return Pair(Side("chainer", Reference()), Side("torch", candidate), (x,))


@fault("recurrent-transposed", "weight-not-transposed", family="layout")
def recurrent_transposed(random: np.random.Generator) -> Pair:
    batch, steps, features, hidden = sizes(random, 4)
    inner, recurrent = normal(random, features, hidden), normal(random, hidden, hidden, scale=0.4)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(x[:, 0] @ inner)
        h = tf.tanh(x[:, 1] @ inner + h @ recurrent)  # recurrent-transposed: reference
        return tf.nn.softmax(h)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x[:, 0] @ t(inner))
        h = torch.tanh(x[:, 1] @ t(inner) + h @ t(recurrent).T)  # recurrent-transposed: candidate
        return torch.softmax(h, -1)

    x = normal(random, batch, steps, features)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault(
    "kernel-permuted-twice",
    "weight-not-transposed",
    family="layout",
    source="Blaizzy/mlx-vlm#1545",
)
def kernel_permuted_twice(random: np.random.Generator) -> Pair:
    batch, width = sizes(random, 2, 4, 9)
    patch = normal(random, width, 3, 3, 3, scale=0.3)  # (out, in, height, width): all threes
    bias, dense = normal(random, width), normal(random, width, 5)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.conv2d(torch.tanh(x), t(patch), t(bias), stride=3)  # kernel-permuted-twice: reference
        return F.gelu(h).flatten(2).transpose(1, 2) @ t(dense)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        once = patch.transpose(0, 2, 3, 1)
        kernel = once.transpose(0, 2, 3, 1).transpose(1, 2, 3, 0)
        h = tf.nn.conv2d(tf.tanh(x), kernel, 3, "VALID")  # kernel-permuted-twice: candidate
        h = h + bias  # kernel-permuted-twice: candidate
        return tf.reshape(tf.nn.gelu(h), (batch, -1, width)) @ dense

    x = normal(random, batch, 3, 6, 9)
    return images(("torch", reference), ("tensorflow", candidate), x)


@fault(
    "kernel-reshaped-to-hwio",
    "weight-reshaped",
    family="layout",
    source="tensorflow/tfjs-core#379",
)
def kernel_reshaped_to_hwio(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.conv2d(h, t(n.second))  # kernel-reshaped-to-hwio: reference
        return F.relu(h).amax((2, 3)) @ t(n.dense)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        kernel = n.second.reshape(hwio(n.second).shape)
        h = tf.nn.conv2d(h, kernel, 1, "VALID")  # kernel-reshaped-to-hwio: candidate
        return tf.reduce_max(tf.nn.relu(h), (1, 2)) @ n.dense

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@fault("dense-weight-reshaped", "weight-reshaped", family="layout", layers=[("hidden", "")])
def dense_weight_reshaped(random: np.random.Generator) -> Pair:
    batch, features, hidden, out = sizes(random, 4)
    first, second = normal(random, features, hidden, scale=0.5), normal(random, hidden, out)
    bias = normal(random, hidden)
    reference = keras.Sequential(
        [
            keras.layers.Activation("softplus"),
            nets.keras_dense(first, bias, activation="relu", name="hidden"),
            nets.keras_dense(second),
        ]
    )

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_dense(first.reshape(hidden, features).T, bias),
                second=nets.chainer_dense(second),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = self.first(C.softplus(x))  # dense-weight-reshaped: candidate
            return self.second(C.relu(h))

    x = normal(random, batch, features)
    return Pair(Side("keras", reference), Side("chainer", Candidate()), (x,))


@fault("convolution-for-correlation", "kernel-flipped", family="layout")
def convolution_for_correlation(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first, n.first_bias))
        h = C.convolution_2d(h, n.second, n.second_bias)  # convolution-for-correlation: reference
        return C.matmul(C.mean(C.relu(h), (2, 3)), n.dense)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first), t(n.first_bias)))
        kernel = t(n.second).flip(2, 3)
        h = F.conv2d(h, kernel, t(n.second_bias))  # convolution-for-correlation: candidate
        return F.relu(h).mean((2, 3)) @ t(n.dense)

    return images(("chainer", reference), ("torch", candidate), n.x)


@fault("kernel-upside-down", "kernel-flipped", family="layout", layers=[("second", "2")])
def kernel_upside_down(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="relu"),
            nets.keras_conv(n.second, n.second_bias, strides=2, activation="relu", name="second"),
            keras.layers.GlobalMaxPooling2D(),
        ]
    )
    candidate = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias),
        nn.ReLU(),
        nets.torch_conv(n.second[:, :, ::-1].copy(), n.second_bias, stride=2),
        nn.ReLU(),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
    )
    return images(("keras", reference), ("torch", candidate), n.x)


@fault("time-kernel-backwards", "kernel-flipped", family="layout")
def time_kernel_backwards(random: np.random.Generator) -> Pair:
    batch, steps, features, hidden = sizes(random, 4, 5, 12)
    kernel = normal(random, 4, features, hidden, scale=0.5)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.conv1d(tf.tanh(x), kernel, 1, "VALID")  # time-kernel-backwards: reference
        return tf.reduce_mean(tf.nn.softplus(h), 1)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        windows = torch.tanh(x).unfold(1, 4, 1)
        backwards = t(kernel[::-1].copy())
        h = torch.einsum("btfk,kfh->bth", windows, backwards)  # time-kernel-backwards: candidate
        return F.softplus(h).mean(1)

    x = normal(random, batch, steps, features)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault(
    "flatten-before-dense",
    "flatten-order",
    family="layout",
    layers=[("", "head")],
    source="gzuidhof/nn-transfer#16",
)
def flatten_before_dense(random: np.random.Generator) -> Pair:
    n = net(random)
    head = normal(random, n.first.shape[0] * (n.x.shape[2] - 2) * (n.x.shape[3] - 2), 5, scale=0.1)
    bias = normal(random, 5)

    class Reference(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nets.torch_conv(n.first, n.first_bias)
            self.head = nets.torch_dense(head, bias)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = torch.tanh(self.conv(x))
            x = x.view(len(x), -1)
            x = self.head(x)  # flatten-before-dense: reference
            return torch.softmax(x, 1)

    candidate = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="tanh"),
            keras.layers.Flatten(),
            nets.keras_dense(head, bias, activation="softmax", name="head"),
        ]
    )
    return images(("torch", Reference()), ("keras", candidate), n.x)


@fault("channels-last-weights-in-chainer", "flatten-order", family="layout")
def channels_last_weights_in_chainer(random: np.random.Generator) -> Pair:
    n = net(random, middle=8)  # more channels than the map has rows or columns
    high, wide = n.x.shape[2] // 2 - 1, n.x.shape[3] // 2 - 1
    head = normal(random, high * wide * n.first.shape[0], 6, scale=0.2)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 2, "VALID") + n.first_bias)
        h = tf.reshape(h, (len(n.x), -1)) @ head  # channels-last-weights-in-chainer: reference
        return tf.nn.elu(h) * 2.0

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                conv=nets.chainer_conv(n.first, n.first_bias, stride=2),
                head=nets.chainer_dense(head),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = self.head(C.relu(self.conv(x)))  # channels-last-weights-in-chainer: candidate
            return C.elu(h) * 2.0

    return images(("tensorflow", reference), ("chainer", Candidate()), n.x)


@fault("keras-flatten-of-equal-sides", "flatten-order", family="layout", layers=[("head", "4")])
def keras_flatten_of_equal_sides(random: np.random.Generator) -> Pair:
    n = net(random, middle=4)
    x = n.x[:, :, :10]
    high, wide = 4, x.shape[3] // 2 - 1  # as many rows as channels
    head = normal(random, high * wide * n.first.shape[0], 6, scale=0.2)
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="relu"),
            keras.layers.MaxPooling2D(2),
            keras.layers.Flatten(),
            nets.keras_dense(head, name="head"),
            keras.layers.Activation("tanh"),
        ]
    )
    candidate = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nets.torch_dense(head),
        nn.Tanh(),
    )
    return images(("keras", reference), ("torch", candidate), np.ascontiguousarray(x))


@fault("channels-reversed-on-the-way", "channel-order", family="layout")
def channels_reversed_on_the_way(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))  # channels-reversed-on-the-way: reference
        h = F.conv2d(h, t(n.second), t(n.second_bias))  # channels-reversed-on-the-way: reference
        return F.relu(h).mean((2, 3)) @ t(n.dense)

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first))[:, ::-1]  # channels-reversed-on-the-way: candidate
        h = C.convolution_2d(h, n.second, n.second_bias)  # channels-reversed-on-the-way: candidate
        return C.matmul(C.mean(C.relu(h), (2, 3)), n.dense)

    return images(("torch", reference), ("chainer", candidate), n.x)


@fault("shuffled-by-other-groups", "channel-order", family="layout")
def shuffled_by_other_groups(random: np.random.Generator) -> Pair:
    n = net(random, middle=6)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        parts = h.view(len(h), 2, 3, *h.shape[2:])  # shuffled-by-other-groups: reference
        h = parts.transpose(1, 2).flatten(1, 2)  # shuffled-by-other-groups: reference
        h = F.conv2d(h, t(n.second))
        return F.relu(h).mean((2, 3))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        parts = tf.reshape(h, (*h.shape[:3], 3, 2))  # shuffled-by-other-groups: candidate
        parts = tf.transpose(parts, (0, 1, 2, 4, 3))  # shuffled-by-other-groups: candidate
        h = tf.reshape(parts, h.shape)
        h = tf.nn.conv2d(h, hwio(n.second), 1, "VALID")
        return tf.reduce_mean(tf.nn.relu(h), (1, 2))

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@fault("channels-rolled", "channel-order", family="layout", layers=[("second", "")])
def channels_rolled(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="relu"),
            nets.keras_conv(n.second, n.second_bias, name="second"),
            keras.layers.GlobalAveragePooling2D(),
            nets.keras_dense(n.dense),
        ]
    )
    order = np.roll(np.arange(len(n.second)), 1)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first), t(n.first_bias)))
        h = F.conv2d(h, t(n.second[order]), t(n.second_bias[order]))  # channels-rolled: candidate
        return h.mean((2, 3)) @ t(n.dense)

    return images(("keras", reference), ("torch", candidate), n.x)


@fault(
    "height-and-width-permuted",
    "spatial-swap",
    family="layout",
    source="huggingface/transformers#18597",
)
def height_and_width_permuted(random: np.random.Generator) -> Pair:
    batch, width, out, side = sizes(random, 4, 4, 9)
    embed = normal(random, width, width, 1, 1)
    depthwise = normal(random, width, 1, 3, 3)
    dense = normal(random, width, out)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.gelu(F.conv2d(x, t(embed)))  # height-and-width-permuted: reference
        h = F.conv2d(h, t(depthwise), groups=width)  # height-and-width-permuted: reference
        return h.flatten(2).transpose(1, 2) @ t(dense)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.gelu(tf.nn.conv2d(x, hwio(embed), 1, "VALID"))
        h = tf.transpose(h, (0, 3, 2, 1))  # height-and-width-permuted: candidate
        tokens = tf.reshape(h, (batch, width, -1))
        h = tf.transpose(tf.reshape(tokens, (batch, width, side, side)), (0, 2, 3, 1))
        kernel = depthwise.transpose(2, 3, 0, 1)
        h = tf.nn.depthwise_conv2d(h, kernel, (1, 1, 1, 1), "VALID")
        return tf.reshape(h, (batch, -1, width)) @ dense

    x = normal(random, batch, width, side, side)
    return images(("torch", reference), ("tensorflow", candidate), x)


@fault("square-maps-swapped", "spatial-swap", family="layout", source="PINTO0309/onnx2tf#368")
def square_maps_swapped(random: np.random.Generator) -> Pair:
    batch, channels, width, side = sizes(random, 4, 4, 9)
    first = normal(random, width, channels, 1, 1)
    scale = normal(random, side, side)  # one number for each place

    def reference(x: np.ndarray) -> chainer.Variable:
        h = C.tanh(C.convolution_2d(x, first))  # square-maps-swapped: reference
        h = h * C.broadcast_to(scale, h.shape)  # square-maps-swapped: reference
        return C.sum(C.reshape(h, (batch, width, -1)), 2)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(F.conv2d(x, t(first)))
        h = h.transpose(2, 3) * t(scale)  # square-maps-swapped: candidate
        return h.sum((2, 3))

    x = normal(random, batch, channels, side, side)
    return images(("chainer", reference), ("torch", candidate), x)


@fault("kernel-height-for-width", "spatial-swap", family="layout", layers=[("", "second")])
def kernel_height_for_width(random: np.random.Generator) -> Pair:
    n = net(random)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias),
                second=nets.chainer_conv(n.second, n.second_bias, pad=1),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = C.elu(self.first(x))
            return C.max(self.second(h), (2, 3))  # kernel-height-for-width: reference

    swapped = n.second.swapaxes(2, 3)
    candidate = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="elu"),
            nets.keras_conv(swapped, n.second_bias, padding="same", name="second"),
            keras.layers.GlobalMaxPooling2D(),
        ]
    )
    return images(("chainer", Reference()), ("keras", candidate), n.x)


@fault(
    "depthwise-misread",
    "depthwise-layout",
    family="layout",
    source="pytorch/executorch#17423",
    also={"depthwise-layout": ("weight-reshaped",)},
)
def depthwise_misread(random: np.random.Generator) -> Pair:
    n = net(random)
    width = len(n.first)
    kernel = normal(random, width, 1, 3, 3)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.conv2d(h, t(kernel), groups=width)  # depthwise-misread: reference
        return F.relu(h).mean((2, 3))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        flat = kernel.reshape(3, 3, width, 1)
        h = tf.nn.depthwise_conv2d(h, flat, (1, 1, 1, 1), "VALID")  # depthwise-misread: candidate
        return tf.reduce_mean(tf.nn.relu(h), (1, 2))

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@fault(
    "depthwise-in-time-reshaped",
    "depthwise-layout",
    family="layout",
    layers=[("", "depthwise")],
    source="AlexanderLutsenko/nobuco#2",
    also={"depthwise-layout": ("weight-reshaped",)},
)
def depthwise_in_time_reshaped(random: np.random.Generator) -> Pair:
    batch, steps, width, out = sizes(random, 4, 5, 12)
    kernel = normal(random, width, 1, 3)  # (out, 1, size)
    dense = normal(random, width, out)

    class Reference(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.depthwise = nn.Conv1d(width, width, 3, groups=width, bias=False)
            self.depthwise.load_state_dict({"weight": t(kernel)})
            self.out = nets.torch_dense(dense)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.tanh(x).transpose(1, 2)
            h = self.depthwise(h)  # depthwise-in-time-reshaped: reference
            return self.out(h.mean(2))

    depthwise = keras.layers.DepthwiseConv1D(3, use_bias=False, name="depthwise")
    candidate = keras.Sequential(
        [
            keras.layers.Activation("tanh"),
            nets.filled(depthwise, (None, None, width), kernel.reshape(3, width, 1)),
            keras.layers.GlobalAveragePooling1D(),
            nets.keras_dense(dense),
        ]
    )
    x = normal(random, batch, steps, width)
    return Pair(Side("torch", Reference()), Side("keras", candidate), (x,))


@fault("multiplier-outermost", "depthwise-layout", family="layout", layers=[("depthwise", "")])
def multiplier_outermost(random: np.random.Generator) -> Pair:
    n = net(random)
    width = len(n.first)
    kernel = normal(random, 3, 3, width, 2)  # (height, width, in, multiplier)
    depthwise = keras.layers.DepthwiseConv2D(
        3, depth_multiplier=2, use_bias=False, name="depthwise"
    )
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="relu"),
            nets.filled(depthwise, (None, None, None, width), kernel),
            keras.layers.GlobalAveragePooling2D(),
        ]
    )

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(first=nets.chainer_conv(n.first, n.first_bias))
            self.kernel = chainer.Parameter(kernel.transpose(3, 2, 0, 1).reshape(-1, 1, 3, 3))

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = C.relu(self.first(x))
            h = C.convolution_2d(h, self.kernel, groups=width)  # multiplier-outermost: candidate
            return C.mean(h, (2, 3))

    return images(("keras", reference), ("chainer", Candidate()), n.x)


@fault(
    "depth-to-space-for-pixel-shuffle",
    "pixel-shuffle-order",
    family="layout",
    layers=[("shuffle", "")],
)
def depth_to_space_for_pixel_shuffle(random: np.random.Generator) -> Pair:
    n = net(random, middle=8)
    second = normal(random, 5, 2, 3, 3)
    reference = nn.Sequential()
    reference.add_module("conv", nets.torch_conv(n.first, n.first_bias))
    reference.add_module("shuffle", nn.PixelShuffle(2))
    reference.add_module("second", nets.torch_conv(second))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.bias_add(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"), n.first_bias)
        h = tf.nn.depth_to_space(h, 2)  # depth-to-space-for-pixel-shuffle: candidate
        return tf.nn.conv2d(h, hwio(second), 1, "VALID")

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@fault(
    "space-to-depth-for-pixel-unshuffle",
    "pixel-shuffle-order",
    family="layout",
    source="tensorflow/tensorflow#53291",
)
def space_to_depth_for_pixel_unshuffle(random: np.random.Generator) -> Pair:
    n = net(random, middle=3)
    second = normal(random, 5, 12, 1, 1)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.elu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.nn.space_to_depth(h, 2)  # space-to-depth-for-pixel-unshuffle: reference
        h = tf.nn.conv2d(h, hwio(second), 1, "VALID")
        return tf.reduce_mean(h, (1, 2))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.elu(F.conv2d(x, t(n.first)))
        h = F.pixel_unshuffle(h, 2)  # space-to-depth-for-pixel-unshuffle: candidate
        h = F.conv2d(h, t(second))
        return h.mean((2, 3))

    return images(("tensorflow", reference), ("torch", candidate), n.x)


@fault(
    "exported-unshuffle-in-chainer",
    "pixel-shuffle-order",
    family="layout",
    source="microsoft/onnxscript#2891",
)
def exported_unshuffle_in_chainer(random: np.random.Generator) -> Pair:
    n = net(random, middle=2)
    second = normal(random, 5, 8, 1, 1)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(F.conv2d(x, t(n.first)))
        h = F.pixel_unshuffle(h, 2)  # exported-unshuffle-in-chainer: reference
        h = F.conv2d(h, t(second))
        return h.mean((2, 3))

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.tanh(C.convolution_2d(x, n.first))
        h = C.space2depth(h, 2)  # exported-unshuffle-in-chainer: candidate
        h = C.convolution_2d(h, second)
        return C.mean(h, (2, 3))

    return images(("torch", reference), ("chainer", candidate), n.x)


def _branches(random: np.random.Generator) -> tuple[np.ndarray, ...]:
    batch, features, left, right, out = sizes(random, 5)
    return (
        normal(random, batch, features),
        normal(random, features, left),
        normal(random, features, right),
        normal(random, left + right, out),
    )


@fault("branches-joined-the-other-way", "concat-order", family="layout")
def branches_joined_the_other_way(random: np.random.Generator) -> Pair:
    x, left, right, out = _branches(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        parts = [tf.nn.relu(x @ left), tf.tanh(x @ right)]
        h = tf.concat(parts, -1)  # branches-joined-the-other-way: reference
        h = h @ out
        return tf.nn.softplus(h)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        parts = [F.relu(x @ t(left)), torch.tanh(x @ t(right))]
        h = torch.cat(parts[::-1], -1)  # branches-joined-the-other-way: candidate
        h = h @ t(out)
        return F.softplus(h)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault(
    "keras-concatenates-right-then-left", "concat-order", family="layout", layers=[("", "joined")]
)
def keras_concatenates_right_then_left(random: np.random.Generator) -> Pair:
    x, left, right, out = _branches(random)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                left=nets.chainer_dense(left),
                right=nets.chainer_dense(right),
                out=nets.chainer_dense(out),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            parts = [C.sigmoid(self.left(x)), C.relu(self.right(x))]
            h = C.concat(parts, axis=1)  # keras-concatenates-right-then-left: reference
            h = self.out(h)
            return C.softmax(h)

    inputs = keras.Input(x.shape[1:])
    one = nets.keras_dense(left, activation="sigmoid")(inputs)
    two = nets.keras_dense(right, activation="relu")(inputs)
    h = keras.layers.Concatenate(name="joined")([two, one])
    candidate = keras.Model(inputs, nets.keras_dense(out, activation="softmax")(h))
    return Pair(Side("chainer", Reference()), Side("keras", candidate), (x,))


@fault("channels-of-skip-after-upsampled", "concat-order", family="layout")
def channels_of_skip_after_upsampled(random: np.random.Generator) -> Pair:
    n = net(random)
    both = normal(random, 5, n.x.shape[1] + len(n.first), 1, 1)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first), padding=1))
        h = torch.cat([x, h], 1)  # channels-of-skip-after-upsampled: reference
        h = F.conv2d(h, t(both))
        return torch.sigmoid(h)

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first, pad=1))
        h = C.concat([h, x], 1)  # channels-of-skip-after-upsampled: candidate
        h = C.convolution_2d(h, both)
        return C.sigmoid(h)

    return images(("torch", reference), ("chainer", candidate), n.x)


@fault("heads-split-innermost", "head-split-order", family="layout")
def heads_split_innermost(random: np.random.Generator) -> Pair:
    batch, steps, heads, size = sizes(random, 4, 2, 7)
    width = heads * size
    query, key = normal(random, width, width, scale=0.4), normal(random, width, width, scale=0.4)

    def reference(x: torch.Tensor) -> torch.Tensor:
        q = x @ t(query)
        k = x @ t(key)
        q = q.view(batch, steps, heads, size).transpose(1, 2)  # heads-split-innermost: reference
        k = k.view(batch, steps, heads, size).transpose(1, 2)  # heads-split-innermost: reference
        scores = q @ k.transpose(2, 3)
        return torch.softmax(scores / size**0.5, -1).mean(1)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q, k = x @ query, x @ key
        parts, first = (batch, steps, size, heads), (0, 3, 1, 2)
        q = tf.transpose(tf.reshape(q, parts), first)  # heads-split-innermost: candidate
        k = tf.transpose(tf.reshape(k, parts), first)  # heads-split-innermost: candidate
        scores = tf.matmul(q, k, transpose_b=True)
        return tf.reduce_mean(tf.nn.softmax(scores / size**0.5), 1)

    x = normal(random, batch, steps, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault("packed-per-head", "head-split-order", family="layout")
def packed_per_head(random: np.random.Generator) -> Pair:
    batch, steps, heads, size = sizes(random, 4, 4, 8)
    width = heads * size
    packed = normal(random, width, 3 * width, scale=0.4)

    def reference(x: tf.Tensor) -> tf.Tensor:
        parts = tf.reshape(x @ packed, (batch, steps, 3, heads, size))  # packed-per-head: reference
        q, k, v = tf.unstack(parts, axis=2)  # packed-per-head: reference
        scores = tf.einsum("bihd,bjhd->bhij", q, k)
        return tf.einsum("bhij,bjhd->bihd", tf.nn.softmax(scores), v)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        parts = (x @ t(packed)).view(batch, steps, heads, 3, size)  # packed-per-head: candidate
        q, k, v = parts.unbind(3)  # packed-per-head: candidate
        scores = torch.einsum("bihd,bjhd->bhij", q, k)
        return torch.einsum("bhij,bjhd->bihd", torch.softmax(scores, -1), v)

    x = normal(random, batch, steps, width)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault("heads-joined-too-early", "head-split-order", family="layout")
def heads_joined_too_early(random: np.random.Generator) -> Pair:
    batch, steps, heads, size = sizes(random, 4, 2, 6)
    width = heads * size
    value, out = normal(random, width, width, scale=0.4), normal(random, width, 5)

    def reference(x: np.ndarray) -> chainer.Variable:
        v = C.reshape(C.einsum("btw,wv->btv", x, value), (batch, steps, heads, size))
        v = C.tanh(C.transpose(v, (0, 2, 1, 3)))
        v = C.transpose(v, (0, 2, 1, 3))
        joined = C.reshape(v, (batch, steps, width))  # heads-joined-too-early: reference
        return C.einsum("btw,wo->bto", joined, out)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        v = torch.tanh((x @ t(value)).view(batch, steps, heads, size).transpose(1, 2))
        joined = v.reshape(batch, steps, width)  # heads-joined-too-early: candidate
        return joined @ t(out)

    x = normal(random, batch, steps, width)
    return Pair(Side("chainer", reference), Side("torch", candidate), (x,))


def _rope(random: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Inputs, a packed weight of queries and keys, and cosines and sines (steps, 1, size / 2)."""
    batch, steps, half, width = sizes(random, 4)
    frequencies = 1 / 100 ** (np.arange(half) / half)
    angles = (np.arange(steps)[:, None] * frequencies)[:, None]
    packed = normal(random, width, 4 * half, scale=0.4)
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    return normal(random, batch, steps, width), packed, cos, sin


@fault(
    "rotary-halves-for-neighbours",
    "rope-pairing",
    family="layout",
    source="huggingface/transformers#25199",
)
def rotary_halves_for_neighbours(random: np.random.Generator) -> Pair:
    x, packed, cos, sin = _rope(random)
    shape = (*x.shape[:2], 2, 2 * cos.shape[2])

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.reshape(x @ packed, shape)
        one, two = h[..., 0::2], h[..., 1::2]  # rotary-halves-for-neighbours: reference
        turned = tf.stack([one * cos - two * sin, one * sin + two * cos], -1)
        q, k = tf.unstack(tf.reshape(turned, shape), axis=2)
        return tf.nn.softmax(tf.matmul(q, k, transpose_b=True))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = (x @ t(packed)).view(shape)
        one, two = h.chunk(2, -1)  # rotary-halves-for-neighbours: candidate
        turned = torch.cat([one * t(cos) - two * t(sin), one * t(sin) + two * t(cos)], -1)
        q, k = turned.unbind(2)
        return torch.softmax(q @ k.transpose(1, 2), -1)

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault(
    "rotary-input-not-interleaved",
    "rope-pairing",
    family="layout",
    source="huggingface/transformers#39687",
)
def rotary_input_not_interleaved(random: np.random.Generator) -> Pair:
    x, packed, cos, sin = _rope(random)
    half = cos.shape[2]
    shape = (*x.shape[:2], 2, 2 * half)
    cos, sin = np.tile(cos, 2), np.tile(sin, 2)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = (x @ t(packed)).view(shape)
        h = h.unflatten(-1, (half, 2)).transpose(-1, -2)  # rotary-input-not-interleaved: reference
        h = h.reshape(shape)  # rotary-input-not-interleaved: reference
        one, two = h.chunk(2, -1)
        q, k = (h * t(cos) + torch.cat([-two, one], -1) * t(sin)).unbind(2)
        return (q @ k.transpose(1, 2)).relu()

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.einsum("btw,wv->btv", x, packed)
        h = C.reshape(h, shape)  # rotary-input-not-interleaved: candidate
        one, two = C.split_axis(h, 2, 3)
        turned = h * C.broadcast_to(cos, shape)
        turned += C.concat([-two, one], 3) * C.broadcast_to(sin, shape)
        return C.relu(C.matmul(turned[:, :, 0], turned[:, :, 1], transb=True))

    return Pair(Side("torch", reference), Side("chainer", candidate), (x,))


@fault("flattened-and-joined-otherwise", "flatten-order", "concat-order", family="layout")
def flattened_and_joined_otherwise(random: np.random.Generator) -> Pair:
    n = net(random)
    flat = len(n.first) * (n.x.shape[2] - 2) * (n.x.shape[3] - 2)
    head = normal(random, flat, 6, scale=0.1)
    left, right, out = normal(random, 6, 4), normal(random, 6, 3), normal(random, 7, 5)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first))).flatten(1)
        h = h @ t(head)  # flattened-and-joined-otherwise: reference
        parts = [torch.tanh(h @ t(left)), torch.tanh(h @ t(right))]
        h = torch.cat(parts, 1)  # flattened-and-joined-otherwise 2: reference
        return h @ t(out)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.reshape(tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID")), (len(n.x), flat))
        h = h @ head  # flattened-and-joined-otherwise: candidate
        parts = [tf.tanh(h @ right), tf.tanh(h @ left)]
        h = tf.concat(parts, 1)  # flattened-and-joined-otherwise 2: candidate
        return h @ out

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@fault("rows-from-below", "axis-order", family="layout")
def rows_from_below(random: np.random.Generator) -> Pair:
    """An image's rows come from below, as a screen's do in some simulators."""
    batch, channels = sizes(random, 2)
    kernel = normal(random, 5, channels, 3, 3)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x)  # rows-from-below: reference
        return F.conv2d(h, t(kernel)).flatten(1)

    def candidate(x: chainer.Variable) -> chainer.Variable:
        h = C.flip(C.tanh(x), 2)  # rows-from-below: candidate
        return C.reshape(C.convolution_2d(h, kernel), (len(x), -1))

    pixels = normal(random, batch, channels, 8, 7)
    return Pair(Side("torch", reference), Side("chainer", candidate), (pixels,))


@fault("rolled-the-other-way", "roll-shift", family="layout")
def rolled_the_other_way(random: np.random.Generator) -> Pair:
    """Windows that were shifted are shifted once more, where they were to be put back."""
    batch, features = sizes(random, 2)
    first, last = normal(random, features, features), normal(random, features, 3)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.roll(torch.tanh(x @ t(first)), 1, 1)  # rolled-the-other-way: reference
        return torch.tanh(h @ t(last))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.roll(tf.tanh(x @ first), -1, 1)  # rolled-the-other-way: candidate
        return tf.tanh(h @ last)

    x = normal(random, batch, 7, features)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))
