"""Images resized from other coordinates, or to another neighbour."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.gallery import _nets as nets
from benchmarks.corpus.gallery._nets import hwio, images, net, t
from benchmarks.corpus.gallery.entry import fault
from benchmarks.corpus.scenarios.pair import Pair, chainer

C, F, nn = chainer.functions, torch.nn.functional, torch.nn


@fault(
    "corners-not-half-pixels",
    "resize-coordinates",
    family="resize",
    source="tensorflow/tfjs#1729",
)
def corners_not_half_pixels(random: np.random.Generator) -> Pair:
    n = net(random)
    size = (2 * n.x.shape[2] - 4, 2 * n.x.shape[3] - 4)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.interpolate(h, size=size, mode="bilinear")  # corners-not-half-pixels: reference
        return F.conv2d(h, t(n.second))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.compat.v1.image.resize_bilinear(h, size)  # corners-not-half-pixels: candidate
        return tf.nn.conv2d(h, hwio(n.second), 1, "VALID")

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@fault(
    "upsampled-to-corners",
    "resize-coordinates",
    family="resize",
    source="onnx/onnx-tensorflow#632",
)
def upsampled_to_corners(random: np.random.Generator) -> Pair:
    n = net(random)
    size = (2 * n.x.shape[2] - 4, 2 * n.x.shape[3] - 4)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.image.resize(h, size)  # upsampled-to-corners: reference
        return tf.reduce_mean(tf.nn.conv2d(h, hwio(n.second), 1, "VALID"), (1, 2)) @ n.dense

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(F.conv2d(x, t(n.first)))
        h = F.interpolate(h, size, None, "bilinear", True)  # upsampled-to-corners: candidate
        return F.conv2d(h, t(n.second)).mean((2, 3)) @ t(n.dense)

    return images(("tensorflow", reference), ("torch", candidate), n.x)


@fault("chainer-aligns-corners", "resize-coordinates", family="resize", layers=[("up", "")])
def chainer_aligns_corners(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="relu"),
            keras.layers.UpSampling2D(2, interpolation="bilinear", name="up"),
            nets.keras_conv(n.second, n.second_bias, activation="tanh"),
        ]
    )

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias),
                second=nets.chainer_conv(n.second, n.second_bias),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = C.relu(self.first(x))
            size = (2 * h.shape[2], 2 * h.shape[3])
            h = C.resize_images(h, size)  # chainer-aligns-corners: candidate
            return C.tanh(self.second(h))

    return images(("keras", reference), ("chainer", Candidate()), n.x)


@fault("resized-to-corners", "resize-coordinates", family="resize")
def resized_to_corners(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: np.ndarray) -> chainer.Variable:
        h = C.elu(C.convolution_2d(x, n.first))
        h = C.resize_images(h, (5, 7), align_corners=False)  # resized-to-corners: reference
        return C.mean(C.convolution_2d(h, n.second), (2, 3))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.elu(F.conv2d(x, t(n.first)))
        h = F.interpolate(h, (5, 7), None, "bilinear", True)  # resized-to-corners: candidate
        return F.conv2d(h, t(n.second)).mean((2, 3))

    return images(("chainer", reference), ("torch", candidate), n.x)


@fault(
    "nearest-of-half-pixels",
    "resize-rounding",
    family="resize",
    source="microsoft/onnxruntime#28085",
    also={"resize-rounding": ("resize-coordinates",)},
)
def nearest_of_half_pixels(random: np.random.Generator) -> Pair:
    n = net(random)
    size = (2 * n.x.shape[2] + 1, n.x.shape[3] - 3)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.interpolate(h, size=size, mode="nearest")  # nearest-of-half-pixels: reference
        return F.conv2d(h, t(n.second))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.image.resize(h, size, "nearest")  # nearest-of-half-pixels: candidate
        return tf.nn.conv2d(h, hwio(n.second), 1, "VALID")

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@fault(
    "keras-resizes-to-another-neighbour",
    "resize-rounding",
    family="resize",
    layers=[("resize", "2")],
    also={"resize-rounding": ("resize-coordinates",)},
)
def keras_resizes_to_another_neighbour(random: np.random.Generator) -> Pair:
    n = net(random)
    high, wide = n.x.shape[2] - 5, n.x.shape[3] + 3
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="tanh"),
            keras.layers.Resizing(high, wide, interpolation="nearest", name="resize"),
            nets.keras_conv(n.second, n.second_bias),
            nets.keras_dense(n.dense),
        ]
    )

    class Last(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.permute(0, 2, 3, 1)

    candidate = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias),
        nn.Tanh(),
        nn.Upsample((high, wide), mode="nearest"),
        nets.torch_conv(n.second, n.second_bias),
        Last(),
        nets.torch_dense(n.dense),
    )
    return images(("keras", reference), ("torch", candidate), n.x)


@fault("floor-for-nearest", "resize-rounding", family="resize")
def floor_for_nearest(random: np.random.Generator) -> Pair:
    n = net(random)
    size = (n.x.shape[2] - 3, 2 * n.x.shape[3])

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.interpolate(h, size=size, mode="nearest-exact")  # floor-for-nearest: reference
        return F.conv2d(h, t(n.second)).sum((2, 3))

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first))
        rows = np.arange(size[0]) * h.shape[2] // size[0]
        columns = np.arange(size[1]) * h.shape[3] // size[1]
        h = h[:, :, rows]  # floor-for-nearest: candidate
        h = h[:, :, :, columns]  # floor-for-nearest: candidate
        return C.sum(C.convolution_2d(h, n.second), (2, 3))

    return images(("torch", reference), ("chainer", candidate), n.x)


@fault("upsampled-by-the-nearest", "resize-method", family="resize")
def upsampled_by_the_nearest(random: np.random.Generator) -> Pair:
    n = net(random)
    size = (2 * n.x.shape[2] - 4, 2 * n.x.shape[3] - 4)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.image.resize(h, size)  # upsampled-by-the-nearest: reference
        return tf.reduce_mean(tf.nn.conv2d(h, hwio(n.second), 1, "VALID"), (1, 2)) @ n.dense

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(F.conv2d(x, t(n.first)))
        h = F.interpolate(h, size)  # upsampled-by-the-nearest: candidate
        return F.conv2d(h, t(n.second)).mean((2, 3)) @ t(n.dense)

    return images(("tensorflow", reference), ("torch", candidate), n.x)
