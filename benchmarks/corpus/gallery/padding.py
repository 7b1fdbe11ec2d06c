"""Padding on other sides, of another size, with other values."""

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
    "symmetric-padding-for-same",
    "padding-asymmetry",
    family="spatial",
    parameters=[{"padding": (((0, 1), (0, 1)), ((1, 1), (1, 1)))}],
    source="taehoonlee/tensornets#25",
)
def symmetric_padding_for_same(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "SAME") + n.first_bias)
        h = tf.nn.conv2d(h, hwio(n.second), 2, "SAME")  # symmetric-padding-for-same: reference
        return tf.reduce_mean(tf.nn.relu(h), (1, 2)) @ n.dense

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first), t(n.first_bias), padding=1))
        h = F.conv2d(h, t(n.second), stride=2, padding=1)  # symmetric-padding-for-same: candidate
        return F.relu(h).mean((2, 3)) @ t(n.dense)

    return images(("tensorflow", reference), ("torch", candidate), n.x)


@fault(
    "keras-same-for-padding-one",
    "padding-asymmetry",
    family="spatial",
    layers=[("2", "strided")],
    parameters=[{"padding": (((1, 1), (1, 1)), ((0, 1), (0, 1)))}],
    source="keras-team/keras#16363",
)
def keras_same_for_padding_one(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = nets.strided(n)
    candidate = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, padding="same", activation="tanh"),
            nets.keras_conv(n.second, n.second_bias, strides=2, padding="same", name="strided"),
            keras.layers.ReLU(),
            keras.layers.GlobalAveragePooling2D(),
            nets.keras_dense(n.dense),
        ]
    )
    return images(("torch", reference), ("keras", candidate), n.x)


@fault(
    "same-for-chainer-pad",
    "padding-asymmetry",
    family="spatial",
    source="tensorflow/tensorflow#10747",
)
def same_for_chainer_pad(random: np.random.Generator) -> Pair:
    n = net(random, kernel=(5, 5))

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias, pad=1),
                second=nets.chainer_conv(n.second, n.second_bias, stride=2, pad=2),
                dense=nets.chainer_dense(n.dense),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = C.elu(self.first(x))
            h = self.second(h)  # same-for-chainer-pad: reference
            return self.dense(C.mean(C.elu(h), (2, 3)))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.elu(tf.nn.conv2d(x, hwio(n.first), 1, "SAME") + n.first_bias)
        h = tf.nn.conv2d(h, hwio(n.second), 2, "SAME")  # same-for-chainer-pad: candidate
        h = tf.nn.bias_add(h, n.second_bias)  # same-for-chainer-pad: candidate
        return tf.reduce_mean(tf.nn.elu(h), (1, 2)) @ n.dense

    return images(("chainer", Reference()), ("tensorflow", candidate), n.x)


@fault(
    "stem-pool-pads-all-borders",
    "padding-asymmetry",
    family="spatial",
    layers=[("pool", "")],
    source="google-research/simclr#26",
)
def stem_pool_pads_all_borders(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, padding="same"),
            keras.layers.MaxPooling2D(3, 2, padding="same", name="pool"),
            nets.keras_conv(n.second, n.second_bias, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
        ]
    )

    class Candidate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nets.torch_conv(n.first, n.first_bias, padding=1)
            self.pool = nn.MaxPool2d(3, 2, 1)
            self.body = nets.torch_conv(n.second, n.second_bias)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.stem(x)
            x = self.pool(x)  # stem-pool-pads-all-borders: candidate
            return F.relu(self.body(x)).mean((2, 3))

    return images(("keras", reference), ("torch", Candidate()), n.x)


@fault("even-kernel-padded-before", "padding-asymmetry", family="spatial")
def even_kernel_padded_before(random: np.random.Generator) -> Pair:
    n = net(random, kernel=(4, 4))

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.tanh(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.nn.conv2d(h, hwio(n.second), 1, "SAME")  # even-kernel-padded-before: reference
        return tf.einsum("bhwc,co->bhwo", h, n.dense)

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.tanh(C.convolution_2d(x, n.first))
        h = C.pad(h, ((0, 0), (0, 0), (2, 1), (2, 1)), "constant")
        h = C.convolution_2d(h, n.second)  # even-kernel-padded-before: candidate
        return C.einsum("bchw,co->bohw", h, n.dense)

    return images(("tensorflow", reference), ("chainer", candidate), n.x)


@fault(
    "causal-convolution-sees-the-future",
    "padding-asymmetry",
    family="spatial",
    layers=[("", "conv")],
)
def causal_convolution_sees_the_future(random: np.random.Generator) -> Pair:
    batch, steps, features, hidden, out = sizes(random, 5, 4, 12)
    kernel = normal(random, hidden, features, 3, scale=0.4)
    dense = normal(random, hidden, out)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.pad((x * 0.5).transpose(1, 2), (2, 0))
        h = F.conv1d(h, t(kernel))  # causal-convolution-sees-the-future: reference
        return torch.sigmoid(h).transpose(1, 2) @ t(dense)

    conv = keras.layers.Conv1D(hidden, 3, padding="same", use_bias=False, name="conv")
    x = keras.Input((steps, features))
    h = keras.ops.sigmoid(conv(x * 0.5))
    candidate = keras.Model(x, nets.keras_dense(dense)(h))
    conv.set_weights([kernel.transpose(2, 1, 0)])
    return Pair(
        Side("torch", reference),
        Side("keras", candidate),
        (normal(random, batch, steps, features),),
    )


@fault(
    "valid-for-same",
    "padding-size",
    family="spatial",
    parameters=[{"padding": (((1, 1), (1, 1)), ((0, 0), (0, 0)))}],
    source="ray-project/ray#8785",
)
def valid_for_same(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.nn.conv2d(h, hwio(n.second), 1, "SAME")  # valid-for-same: reference
        return tf.reduce_mean(tf.nn.relu(h), (1, 2)) @ n.dense

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.conv2d(h, t(n.second))  # valid-for-same: candidate
        return F.relu(h).mean((2, 3)) @ t(n.dense)

    return images(("tensorflow", reference), ("torch", candidate), n.x)


@fault(
    "padded-in-every-convolution",
    "padding-size",
    family="spatial",
    layers=[("", "second")],
    source="openai/baselines#41",
)
def padded_in_every_convolution(random: np.random.Generator) -> Pair:
    n = net(random, kernel=(4, 4))

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias, pad=1),
                second=nets.chainer_conv(n.second, n.second_bias, stride=2),
                dense=nets.chainer_dense(n.dense),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = C.relu(self.first(x))
            h = C.relu(self.second(h))  # padded-in-every-convolution: reference
            return self.dense(C.average(h, (2, 3)))

    candidate = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, padding="same", activation="relu"),
            nets.keras_conv(
                n.second, n.second_bias, strides=2, padding="same", activation="relu", name="second"
            ),
            keras.layers.GlobalAveragePooling2D(),
            nets.keras_dense(n.dense),
        ]
    )
    return images(("chainer", Reference()), ("keras", candidate), n.x)


@fault(
    "one-padding-for-both-axes",
    "padding-size",
    family="spatial",
    parameters=[{"padding": (((0, 0), (2, 2)), ((2, 2), (2, 2)))}],
    source="gmalivenko/pytorch2keras#2",
)
def one_padding_for_both_axes(random: np.random.Generator) -> Pair:
    n = net(random, kernel=(1, 5))

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.conv2d(h, t(n.second), padding=(0, 2))  # one-padding-for-both-axes: reference
        return F.softplus(h).mean((2, 3)) @ t(n.dense)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.pad(h, ((0, 0), (2, 2), (2, 2), (0, 0)))
        h = tf.nn.conv2d(h, hwio(n.second), 1, "VALID")  # one-padding-for-both-axes: candidate
        return tf.reduce_mean(tf.nn.softplus(h), (1, 2)) @ n.dense

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@fault("pooling-without-its-padding", "padding-size", family="spatial", layers=[("1", "")])
def pooling_without_its_padding(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias),
        nn.MaxPool2d(3, 1, padding=1),
        nets.torch_conv(n.second, n.second_bias, stride=2),
        nn.AdaptiveAvgPool2d(1),
    )

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias),
                second=nets.chainer_conv(n.second, n.second_bias, stride=2),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = self.first(x)
            h = C.max_pooling_2d(h, 3, 1)  # pooling-without-its-padding: candidate
            return C.mean(self.second(h), (2, 3), keepdims=True)

    return images(("torch", reference), ("chainer", Candidate()), n.x)


@fault("padding-two-for-one", "padding-size", family="spatial")
def padding_two_for_one(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: np.ndarray) -> chainer.Variable:
        h = C.leaky_relu(C.convolution_2d(x, n.first, n.first_bias))
        h = C.convolution_2d(h, n.second, n.second_bias, pad=1)  # padding-two-for-one: reference
        return C.matmul(C.mean(C.leaky_relu(h), (2, 3)), n.dense)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.leaky_relu(F.conv2d(x, t(n.first), t(n.first_bias)), 0.2)
        h = F.conv2d(h, t(n.second), t(n.second_bias), padding=2)  # padding-two-for-one: candidate
        return F.leaky_relu(h, 0.2).mean((2, 3)) @ t(n.dense)

    return images(("chainer", reference), ("torch", candidate), n.x)


@fault(
    "max-pool-over-zeros",
    "padding-value",
    family="spatial",
    source="AxisCommunications/onnx-to-keras#31",
)
def max_pool_over_zeros(random: np.random.Generator) -> Pair:
    n = net(random)
    below = n.first_bias - 3  # so that zeros win at the borders

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.conv2d(x, t(n.first), t(below))
        h = F.max_pool2d(h, 3, 2, 1)  # max-pool-over-zeros: reference
        return F.conv2d(h, t(n.second)).mean((2, 3))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.bias_add(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"), below)
        h = tf.pad(h, ((0, 0), (1, 1), (1, 1), (0, 0)))
        h = tf.nn.max_pool2d(h, 3, 2, "VALID")  # max-pool-over-zeros: candidate
        return tf.reduce_mean(tf.nn.conv2d(h, hwio(n.second), 1, "VALID"), (1, 2))

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@fault("zeros-before-max-pool", "padding-value", family="spatial", layers=[("", "pool")])
def zeros_before_max_pool(random: np.random.Generator) -> Pair:
    n = net(random)
    below = n.first_bias - 3  # so that zeros win at the borders

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, below), second=nets.chainer_conv(n.second)
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = self.first(x)
            h = C.max_pooling_2d(h, 3, 2, 1, cover_all=False)  # zeros-before-max-pool: reference
            return C.sigmoid(C.mean(self.second(h), (2, 3)))

    candidate = keras.Sequential(
        [
            nets.keras_conv(n.first, below),
            keras.layers.ZeroPadding2D(1),
            keras.layers.MaxPooling2D(3, 2, name="pool"),
            nets.keras_conv(n.second),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Activation("sigmoid"),
        ]
    )
    return images(("chainer", Reference()), ("keras", candidate), n.x)


@fault("zeros-for-reflection", "padding-value", family="spatial", layers=[("", "second")])
def zeros_for_reflection(random: np.random.Generator) -> Pair:
    n = net(random)

    class Reference(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nets.torch_conv(n.first, n.first_bias)
            self.second = nets.torch_conv(
                n.second, n.second_bias, padding=1, padding_mode="reflect"
            )
            self.out = nets.torch_dense(n.dense)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = F.elu(self.first(x))
            x = self.second(x)  # zeros-for-reflection: reference
            return self.out(x.permute(0, 2, 3, 1))

    x = keras.Input(n.x.transpose(0, 2, 3, 1).shape[1:])
    h = nets.keras_conv(n.first, n.first_bias, activation="elu")(x)
    h = nets.keras_conv(n.second, n.second_bias, padding="same", name="second")(h)
    candidate = keras.Model(x, nets.keras_dense(n.dense)(h))
    return images(("torch", Reference()), ("keras", candidate), n.x)


@fault("symmetric-for-reflection", "padding-value", family="spatial")
def symmetric_for_reflection(random: np.random.Generator) -> Pair:
    n = net(random, kernel=(5, 5))

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.pad(h, (2, 2, 2, 2), "reflect")  # symmetric-for-reflection: reference
        return F.conv2d(h, t(n.second)).amax((2, 3))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        sides = ((0, 0), (2, 2), (2, 2), (0, 0))
        h = tf.pad(h, sides, "SYMMETRIC")  # symmetric-for-reflection: candidate
        return tf.reduce_max(tf.nn.conv2d(h, hwio(n.second), 1, "VALID"), (1, 2))

    return images(("torch", reference), ("tensorflow", candidate), n.x)
