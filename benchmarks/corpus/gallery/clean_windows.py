"""Windows, padding and resizing written otherwise, and equal to rounding."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.gallery import _nets as nets
from benchmarks.corpus.gallery._nets import L, hwio, images, net, t
from benchmarks.corpus.gallery.entry import clean, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer

C, F, nn = chainer.functions, torch.nn.functional, torch.nn


@clean("same-padding-by-hand", family="spatial", source="taehoonlee/tensornets#25")
def same_padding_by_hand(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "SAME") + n.first_bias)
        h = tf.nn.conv2d(h, hwio(n.second), 2, "SAME")
        return tf.reduce_mean(tf.nn.relu(h), (1, 2)) @ n.dense

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first), t(n.first_bias), padding=1))
        h = F.conv2d(F.pad(h, (0, 1, 0, 1)), t(n.second), stride=2)
        return F.relu(h).mean((2, 3)) @ t(n.dense)

    return images(("tensorflow", reference), ("torch", candidate), n.x)


@clean("padding-one-before-keras-valid", family="spatial")
def padding_one_before_keras_valid(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = nets.strided(n)
    candidate = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, padding="same", activation="tanh"),
            keras.layers.ZeroPadding2D(1),
            nets.keras_conv(n.second, n.second_bias, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            nets.keras_dense(n.dense),
        ]
    )
    return images(("torch", reference), ("keras", candidate), n.x)


@clean("same-is-one-on-odd-maps", family="spatial")
def same_is_one_on_odd_maps(random: np.random.Generator) -> Pair:
    n = net(random)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias),
                second=nets.chainer_conv(n.second, stride=2, pad=1),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            return C.sigmoid(self.second(C.elu(self.first(x))))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.elu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID") + n.first_bias)
        return tf.sigmoid(tf.nn.conv2d(h, hwio(n.second), 2, "SAME"))

    x = np.ascontiguousarray(n.x[:, :, 1:, 1:])
    return images(("chainer", Reference()), ("tensorflow", candidate), x)


@clean("zero-padding-of-what-is-positive", family="spatial", source="pytorch/pytorch#41294")
def zero_padding_of_what_is_positive(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first), t(n.first_bias)))
        return F.conv2d(F.max_pool2d(h, 3, 2, 1), t(n.second)).mean((2, 3))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID") + n.first_bias)
        h = tf.pad(h, ((0, 0), (1, 1), (1, 1), (0, 0)))
        h = tf.nn.max_pool2d(h, 3, 2, "VALID")
        return tf.reduce_mean(tf.nn.conv2d(h, hwio(n.second), 1, "VALID"), (1, 2))

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@clean("causal-by-padding", family="spatial")
def causal_by_padding(random: np.random.Generator) -> Pair:
    batch, steps, features, hidden = sizes(random, 4, 4, 12)
    kernel = normal(random, hidden, features, 3, scale=0.4)
    conv = keras.layers.Conv1D(hidden, 3, padding="causal", use_bias=False)
    reference = keras.Sequential(
        [nets.filled(conv, (None, None, features), kernel.transpose(2, 1, 0)), keras.layers.ReLU()]
    )

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.conv1d(x.transpose(1, 2), t(kernel), padding=2)[..., :steps]
        return F.relu(h).transpose(1, 2)

    x = normal(random, batch, steps, features)
    return Pair(Side("keras", reference), Side("torch", candidate), (x,))


@clean("ceil-by-padding-with-infinity", family="spatial", source="onnx/onnx#549")
def ceil_by_padding_with_infinity(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: np.ndarray) -> chainer.Variable:
        h = C.max_pooling_2d(C.convolution_2d(x, n.first, n.first_bias), 3, 2)
        return C.matmul(C.mean(C.convolution_2d(h, n.second), (2, 3)), n.dense)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.conv2d(x, t(n.first), t(n.first_bias))
        h = F.max_pool2d(F.pad(h, (0, 1, 0, 1), value=float("-inf")), 3, 2)
        return F.conv2d(h, t(n.second)).mean((2, 3)) @ t(n.dense)

    return images(("chainer", reference), ("torch", candidate), n.x)


@clean("ceil-is-same-here", family="spatial")
def ceil_is_same_here(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        nets.torch_conv(n.second, n.second_bias),
    )
    candidate = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias),
            keras.layers.MaxPooling2D(3, 2, padding="same"),
            nets.keras_conv(n.second, n.second_bias),
        ]
    )
    return images(("torch", reference), ("keras", candidate), n.x)


@clean("average-not-counting-the-padding", family="spatial", source="apache/tvm#1144")
def average_not_counting_the_padding(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        return tf.nn.conv2d(tf.nn.avg_pool2d(h, 3, 1, "SAME"), hwio(n.second), 1, "VALID")

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        return F.conv2d(F.avg_pool2d(h, 3, 1, 1, count_include_pad=False), t(n.second))

    return images(("tensorflow", reference), ("torch", candidate), n.x)


@clean("average-as-a-depthwise-convolution", family="spatial")
def average_as_a_depthwise_convolution(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: np.ndarray) -> chainer.Variable:
        h = C.tanh(C.convolution_2d(x, n.first, n.first_bias))
        return C.convolution_2d(C.average_pooling_2d(h, 3, 1, 1), n.second)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(tf.nn.conv2d(x, hwio(n.first), 1, "VALID") + n.first_bias)
        kernel = np.full((3, 3, len(n.first), 1), 1 / 9, np.float32)
        h = tf.nn.depthwise_conv2d(h, kernel, (1, 1, 1, 1), "SAME")
        return tf.nn.conv2d(h, hwio(n.second), 1, "VALID")

    return images(("chainer", reference), ("tensorflow", candidate), n.x)


@clean("transposed-same-cropped-right", family="spatial", source="keras-team/keras#22876")
def transposed_same_cropped_right(random: np.random.Generator) -> Pair:
    n = net(random)
    up = keras.layers.Conv2DTranspose(len(n.second), 3, 2, padding="same")
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="relu"),
            nets.filled(
                up, (None, None, None, len(n.first)), n.second.transpose(2, 3, 0, 1), n.second_bias
            ),
            keras.layers.Activation("tanh"),
        ]
    )

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first), t(n.first_bias)))
        h = F.conv_transpose2d(h, t(n.second).swapaxes(0, 1), t(n.second_bias), 2)
        return torch.tanh(h[..., :-1, :-1])

    return images(("keras", reference), ("torch", candidate), n.x)


@clean("transposed-as-a-convolution-with-gaps", family="spatial")
def transposed_as_a_convolution_with_gaps(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first))
        return C.sigmoid(C.deconvolution_2d(h, n.second.swapaxes(0, 1).copy(), stride=2))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        gaps = h.new_zeros(*h.shape[:2], 2 * h.shape[2] - 1, 2 * h.shape[3] - 1)
        gaps[..., ::2, ::2] = h
        return torch.sigmoid(F.conv2d(gaps, t(n.second).flip(2, 3), padding=2))

    return images(("chainer", reference), ("torch", candidate), n.x)


@clean("deconvolution-in-tensorflow", family="spatial")
def deconvolution_in_tensorflow(random: np.random.Generator) -> Pair:
    n = net(random, kernel=(4, 4))

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias),
                up=L.Deconvolution2D(
                    len(n.first), len(n.second), 4, 2, 1, initialW=n.second.swapaxes(0, 1).copy(),
                    initial_bias=n.second_bias,
                ),
            )  # fmt: skip

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            return C.tanh(self.up(C.relu(self.first(x))))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID") + n.first_bias)
        batch, high, wide, _ = h.shape
        shape = (batch, 2 * high, 2 * wide, len(n.second))
        h = tf.nn.conv2d_transpose(h, n.second.transpose(2, 3, 0, 1), shape, 2, "SAME")
        return tf.tanh(h + n.second_bias)

    return images(("chainer", Reference()), ("tensorflow", candidate), n.x)


@clean("stride-by-taking-every-other", family="spatial")
def stride_by_taking_every_other(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        return F.relu(F.conv2d(h, t(n.second), stride=2)).mean((2, 3)) @ t(n.dense)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.nn.conv2d(h, hwio(n.second), 1, "VALID")[:, ::2, ::2]
        return tf.reduce_mean(tf.nn.relu(h), (1, 2)) @ n.dense

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@clean("dilation-by-a-kernel-with-gaps", family="spatial")
def dilation_by_a_kernel_with_gaps(random: np.random.Generator) -> Pair:
    n = net(random)
    wide = np.zeros((*n.second.shape[:2], 5, 5), np.float32)
    wide[:, :, ::2, ::2] = n.second

    def reference(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first))
        return C.mean(C.convolution_2d(h, n.second, dilate=2), (2, 3))

    candidate = keras.Sequential(
        [
            nets.keras_conv(n.first, activation="relu"),
            nets.keras_conv(wide),
            keras.layers.GlobalAveragePooling2D(),
        ]
    )
    return images(("chainer", reference), ("keras", candidate), n.x)


@clean("groups-by-splitting", family="spatial")
def groups_by_splitting(random: np.random.Generator) -> Pair:
    n = net(random, middle=6)
    grouped = normal(random, 8, 3, 3, 3, scale=0.3)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first), t(n.first_bias)))
        return F.relu(F.conv2d(h, t(grouped), groups=2)).amax((2, 3))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID") + n.first_bias)
        kernels = (hwio(grouped[:4]), hwio(grouped[4:]))
        parts = zip(tf.split(h, 2, -1), kernels, strict=True)
        h = tf.concat([tf.nn.conv2d(part, kernel, 1, "VALID") for part, kernel in parts], -1)
        return tf.reduce_max(tf.nn.relu(h), (1, 2))

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@clean("groups-as-blocks-of-one-kernel", family="spatial")
def groups_as_blocks_of_one_kernel(random: np.random.Generator) -> Pair:
    n = net(random, middle=4)
    grouped = normal(random, 6, 2, 3, 3, scale=0.3)
    blocks = np.zeros((6, 4, 3, 3), np.float32)
    blocks[:3, :2], blocks[3:, 2:] = grouped[:3], grouped[3:]
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="relu"),
            nets.keras_conv(grouped, groups=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
        ]
    )

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias), second=nets.chainer_conv(blocks)
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            return C.mean(C.relu(self.second(C.relu(self.first(x)))), (2, 3))

    return images(("keras", reference), ("chainer", Candidate()), n.x)


@clean("convolution-as-a-matrix-product", family="spatial")
def convolution_as_a_matrix_product(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        columns = F.unfold(h, 3)
        return torch.tanh(t(n.second).flatten(1) @ columns).mean(2)

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first))
        return C.mean(C.tanh(C.convolution_2d(h, n.second)), (2, 3))

    return images(("torch", reference), ("chainer", candidate), n.x)


@clean("patches-and-a-dense-layer", family="spatial")
def patches_and_a_dense_layer(random: np.random.Generator) -> Pair:
    batch, width = sizes(random, 2, 4, 9)
    patch, bias = normal(random, width, 3, 2, 2), normal(random, width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        parts = tf.reshape(x, (batch, 3, 2, 4, 2, 3))
        parts = tf.reshape(tf.transpose(parts, (0, 1, 3, 2, 4, 5)), (batch, 12, 12))
        return tf.nn.gelu(parts @ patch.transpose(2, 3, 1, 0).reshape(12, width) + bias)

    class Candidate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patch = nets.torch_conv(patch, bias, stride=2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.gelu(self.patch(x).flatten(2).transpose(1, 2))

    return images(("tensorflow", reference), ("torch", Candidate()), normal(random, batch, 3, 6, 8))


@clean("convolution-in-time-as-an-image", family="spatial")
def convolution_in_time_as_an_image(random: np.random.Generator) -> Pair:
    batch, steps, features, hidden, out = sizes(random, 5, 5, 12)
    kernel, dense = normal(random, hidden, features, 3, scale=0.4), normal(random, hidden, out)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                conv=L.Convolution1D(features, hidden, 3, pad=1, nobias=True, initialW=kernel),
                out=nets.chainer_dense(dense),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            return self.out(C.max(C.relu(self.conv(C.transpose(x, (0, 2, 1)))), 2))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.conv2d(x[:, None], kernel.transpose(2, 1, 0)[None], 1, "SAME")
        return tf.reduce_max(tf.nn.relu(h[:, 0]), 1) @ dense

    x = normal(random, batch, steps, features)
    return Pair(Side("chainer", Reference()), Side("tensorflow", candidate), (x,))


@clean("convolution-as-shifted-products", family="spatial")
def convolution_as_shifted_products(random: np.random.Generator) -> Pair:
    batch, steps, features, hidden = sizes(random, 4, 5, 12)
    kernel = normal(random, 3, features, hidden, scale=0.4)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.softplus(tf.nn.conv1d(tf.tanh(x), kernel, 1, "VALID"))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(x)
        h = sum(x[:, shift : steps - 2 + shift] @ t(kernel[shift]) for shift in range(3))
        return F.softplus(h)

    x = normal(random, batch, steps, features)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@clean("reflected-by-concatenation", family="spatial")
def reflected_by_concatenation(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        return F.conv2d(F.pad(h, (1, 1, 1, 1), "reflect"), t(n.second))

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first))
        h = C.concat([h[:, :, 1:2], h, h[:, :, -2:-1]], 2)
        h = C.concat([h[..., 1:2], h, h[..., -2:-1]], 3)
        return C.convolution_2d(h, n.second)

    return images(("torch", reference), ("chainer", candidate), n.x)


@clean("half-pixels-in-three-frameworks-words", family="resize", source="tensorflow/tfjs#1729")
def half_pixels_in_three_frameworks_words(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="relu"),
            keras.layers.UpSampling2D(2, interpolation="bilinear"),
            nets.keras_conv(n.second),
        ]
    )

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first), t(n.first_bias)))
        return F.conv2d(F.interpolate(h, scale_factor=2, mode="bilinear"), t(n.second))

    return images(("keras", reference), ("torch", candidate), n.x)


@clean("aligned-corners-on-both-sides", family="resize")
def aligned_corners_on_both_sides(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first))
        return C.convolution_2d(C.resize_images(h, (9, 13)), n.second)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.interpolate(h, size=(9, 13), mode="bilinear", align_corners=True)
        return F.conv2d(h, t(n.second))

    return images(("chainer", reference), ("torch", candidate), n.x)


@clean("bilinear-as-two-matrix-products", family="resize")
def bilinear_as_two_matrix_products(random: np.random.Generator) -> Pair:
    n = net(random)

    def weights(size: int, new: int) -> np.ndarray:
        """Interpolation between half pixels, (new, size)."""
        at = np.clip((np.arange(new) + 0.5) * size / new - 0.5, 0, size - 1)
        return np.maximum(0, 1 - np.abs(at[:, None] - np.arange(size))).astype(np.float32)

    rows, columns = (weights(size - 2, 2 * size) for size in n.x.shape[2:])

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.interpolate(h, size=(len(rows), len(columns)), mode="bilinear")
        return torch.tanh(h).mean((2, 3))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.einsum("ih,bhwc,jw->bijc", rows, h, columns)
        return tf.reduce_mean(tf.tanh(h), (1, 2))

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@clean("nearest-by-repeating", family="resize")
def nearest_by_repeating(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        high, wide = h.shape[1:3]
        return tf.nn.conv2d(
            tf.image.resize(h, (2 * high, 2 * wide), "nearest"), hwio(n.second), 1, "SAME"
        )

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first))
        return C.convolution_2d(C.repeat(C.repeat(h, 2, 2), 2, 3), n.second, pad=1)

    return images(("tensorflow", reference), ("chainer", candidate), n.x)


@clean("nearest-exact-is-keras-nearest", family="resize", source="microsoft/onnxruntime#28085")
def nearest_exact_is_keras_nearest(random: np.random.Generator) -> Pair:
    n = net(random)
    high, wide = n.x.shape[2] - 5, n.x.shape[3] + 3
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="tanh"),
            keras.layers.Resizing(high, wide, interpolation="nearest"),
            nets.keras_conv(n.second, n.second_bias),
        ]
    )
    candidate = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias),
        nn.Tanh(),
        nn.Upsample((high, wide), mode="nearest-exact"),
        nets.torch_conv(n.second, n.second_bias),
    )
    return images(("keras", reference), ("torch", candidate), n.x)
