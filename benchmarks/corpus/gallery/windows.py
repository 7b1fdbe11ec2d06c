"""Windows of pooling and of convolutions: rounding, what is counted, strides, dilations, groups."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.gallery import _nets as nets
from benchmarks.corpus.gallery._nets import L, hwio, images, net, t
from benchmarks.corpus.gallery.entry import fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer

C, F, nn = chainer.functions, torch.nn.functional, torch.nn


@fault("chainer-pools-cover-all", "pool-ceil", family="spatial", source="onnx/onnx#549")
def chainer_pools_cover_all(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first, n.first_bias))
        h = C.max_pooling_2d(h, 3, 2)  # chainer-pools-cover-all: reference
        return C.matmul(C.mean(C.convolution_2d(h, n.second), (2, 3)), n.dense)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first), t(n.first_bias)))
        h = F.max_pool2d(h, 3, 2)  # chainer-pools-cover-all: candidate
        return F.conv2d(h, t(n.second)).mean((2, 3)) @ t(n.dense)

    return images(("chainer", reference), ("torch", candidate), n.x)


@fault(
    "ceil-mode-lost-in-keras",
    "pool-ceil",
    family="spatial",
    layers=[("pool", "pool")],
    source="microsoft/onnxruntime#15446",
)
def ceil_mode_lost_in_keras(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = nn.Sequential()
    reference.add_module("conv", nets.torch_conv(n.first, n.first_bias))
    reference.add_module("pool", nn.MaxPool2d(3, 2, ceil_mode=True))
    reference.add_module("head", nets.torch_conv(n.second, n.second_bias))
    reference.add_module("mean", nn.AdaptiveAvgPool2d(1))
    reference.add_module("flat", nn.Flatten())
    candidate = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias),
            keras.layers.MaxPooling2D(3, 2, name="pool"),
            nets.keras_conv(n.second, n.second_bias),
            keras.layers.GlobalAveragePooling2D(),
        ]
    )
    return images(("torch", reference), ("keras", candidate), n.x)


@fault("floor-for-ceil-in-average", "pool-ceil", family="spatial")
def floor_for_ceil_in_average(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.tanh(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.nn.avg_pool2d(h, 3, 2, "VALID")  # floor-for-ceil-in-average: reference
        return tf.reduce_mean(tf.nn.relu(h), (1, 2)) * 3.0

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(F.conv2d(x, t(n.first)))
        h = F.avg_pool2d(h, 3, 2, ceil_mode=True)  # floor-for-ceil-in-average: candidate
        return F.relu(h).mean((2, 3)) * 3.0

    return images(("tensorflow", reference), ("torch", candidate), n.x)


@fault(
    "average-counts-beyond-the-image",
    "count-include-pad",
    family="spatial",
    source="microsoft/onnxruntime#16203",
)
def average_counts_beyond_the_image(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.avg_pool2d(h, 3, 2, ceil_mode=True)  # average-counts-beyond-the-image: reference
        return F.conv2d(h, t(n.second), t(n.second_bias)).flatten(2).sum(2)

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first))
        h = C.pad(h, ((0, 0), (0, 0), (0, 1), (0, 1)), "constant")
        h = C.average_pooling_2d(h, 3, 2)  # average-counts-beyond-the-image: candidate
        return C.sum(C.convolution_2d(h, n.second, n.second_bias), (2, 3))

    return images(("torch", reference), ("chainer", candidate), n.x)


@fault(
    "average-over-the-padding",
    "count-include-pad",
    family="spatial",
    source="apache/tvm#1144",
)
def average_over_the_padding(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.nn.avg_pool2d(h, 3, 1, "SAME")  # average-over-the-padding: reference
        return tf.reduce_max(tf.nn.conv2d(h, hwio(n.second), 1, "SAME"), (1, 2)) @ n.dense

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.avg_pool2d(h, 3, 1, 1)  # average-over-the-padding: candidate
        return F.conv2d(h, t(n.second), padding=1).amax((2, 3)) @ t(n.dense)

    return images(("tensorflow", reference), ("torch", candidate), n.x)


@fault(
    "count-include-pad-not-exported",
    "count-include-pad",
    family="spatial",
    layers=[("2", "average")],
    source="pytorch/pytorch#13934",
)
def count_include_pad_not_exported(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias),
        nn.ReLU(),
        nn.AvgPool2d(3, stride=1, padding=1),
        nets.torch_conv(n.second, n.second_bias),
    )
    x = keras.Input(n.x.transpose(0, 2, 3, 1).shape[1:])
    h = nets.keras_conv(n.first, n.first_bias, activation="relu")(x)
    h = keras.layers.AveragePooling2D(3, strides=1, padding="same", name="average")(h)
    candidate = keras.Model(x, nets.keras_conv(n.second, n.second_bias)(h))
    return images(("torch", reference), ("keras", candidate), n.x)


@fault("chainer-averages-padding", "count-include-pad", family="spatial")
def chainer_averages_padding(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.softplus(F.conv2d(x, t(n.first)))
        h = F.avg_pool2d(h, 3, 2, 1, count_include_pad=False)  # chainer-averages-padding: reference
        return torch.einsum("bchw,co->bohw", F.conv2d(h, t(n.second)), t(n.dense))

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(first=nets.chainer_conv(n.first), second=nets.chainer_conv(n.second))

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = C.softplus(self.first(x))
            h = C.average_pooling_nd(h, 3, 2, 1)  # chainer-averages-padding: candidate
            h = h[:, :, : (n.x.shape[2] - 2) // 2, : (n.x.shape[3] - 2) // 2]
            return C.einsum("bchw,co->bohw", self.second(h), n.dense)

    return images(("torch", reference), ("chainer", Candidate()), n.x)


@fault(
    "transposed-same-shifted-by-one",
    "transposed-conv-crop",
    family="spatial",
    layers=[("up", "")],
    source="keras-team/keras#22876",
)
def transposed_same_shifted_by_one(random: np.random.Generator) -> Pair:
    n = net(random)
    up = keras.layers.Conv2DTranspose(len(n.second), 3, 2, padding="same", name="up")
    kernel = n.second.transpose(2, 3, 0, 1)  # (height, width, out, in)
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="relu"),
            nets.filled(up, (None, None, None, len(n.first)), kernel, n.second_bias),
            nets.keras_dense(n.dense, activation="tanh"),
        ]
    )

    class Candidate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nets.torch_conv(n.first, n.first_bias)
            self.up = nn.ConvTranspose2d(
                len(n.first), len(n.second), 3, 2, padding=1, output_padding=1
            )
            self.up.load_state_dict(
                {"weight": t(n.second.swapaxes(0, 1).copy()), "bias": t(n.second_bias)}
            )
            self.out = nets.torch_dense(n.dense)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = F.relu(self.conv(x))
            x = self.up(x)  # transposed-same-shifted-by-one: candidate
            return torch.tanh(self.out(x.permute(0, 2, 3, 1)))

    return images(("keras", reference), ("torch", Candidate()), n.x)


@fault(
    "transposed-end-cut",
    "transposed-conv-crop",
    family="spatial",
    source="Samsung/TICO#420",
)
def transposed_end_cut(random: np.random.Generator) -> Pair:
    n = net(random, kernel=(4, 4))

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        kernel = t(n.second.swapaxes(0, 1).copy())
        h = F.conv_transpose2d(h, kernel, stride=2, padding=1)  # transposed-end-cut: reference
        return torch.sigmoid(h).permute(0, 2, 3, 1) @ t(n.dense)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        batch, high, wide, _ = h.shape
        kernel = n.second.transpose(2, 3, 0, 1)
        shape = (batch, 2 * high + 2, 2 * wide + 2, len(n.second))
        h = tf.nn.conv2d_transpose(h, kernel, shape, 2, "VALID")  # transposed-end-cut: candidate
        h = h[:, :-2, :-2]  # transposed-end-cut: candidate
        return tf.einsum("bhwc,co->bhwo", tf.sigmoid(h), n.dense)

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@fault("deconvolution-shifted", "transposed-conv-crop", family="spatial")
def deconvolution_shifted(random: np.random.Generator) -> Pair:
    n = net(random)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias),
                up=L.Deconvolution2D(
                    len(n.first), len(n.second), 3, 2, initialW=n.second.swapaxes(0, 1).copy(),
                    initial_bias=n.second_bias,
                ),
            )  # fmt: skip

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = C.tanh(self.first(x))
            h = self.up(h)  # deconvolution-shifted: reference
            h = h[:, :, :-1, :-1]  # deconvolution-shifted: reference
            return C.mean(C.relu(h), 1)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(tf.nn.bias_add(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"), n.first_bias))
        batch, high, wide, _ = h.shape
        kernel = n.second.transpose(2, 3, 0, 1)
        shape = (batch, 2 * high + 1, 2 * wide + 1, len(n.second))
        h = tf.nn.conv2d_transpose(h, kernel, shape, 2, "VALID")  # deconvolution-shifted: candidate
        h = h[:, 1:, 1:]  # deconvolution-shifted: candidate
        h = h + n.second_bias  # deconvolution-shifted: candidate
        return tf.reduce_mean(tf.nn.relu(h), 3)

    return images(("chainer", Reference()), ("tensorflow", candidate), n.x)


@fault(
    "stride-one-for-two",
    "stride",
    family="spatial",
    parameters=[{"stride": ((2, 2), (1, 1))}],
)
def stride_one_for_two(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.conv2d(h, t(n.second), stride=2)  # stride-one-for-two: reference
        return F.relu(h).mean((2, 3)) @ t(n.dense)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.nn.conv2d(h, hwio(n.second), 1, "VALID")  # stride-one-for-two: candidate
        return tf.reduce_mean(tf.nn.relu(h), (1, 2)) @ n.dense

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@fault(
    "strides-swapped-between-the-axes",
    "stride",
    family="spatial",
    layers=[("2", "")],
    parameters=[{"stride": ((2, 1), (1, 2))}],
)
def strides_swapped_between_the_axes(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias),
        nn.SiLU(),
        nets.torch_conv(n.second, n.second_bias, stride=(2, 1)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias),
                second=nets.chainer_conv(n.second, n.second_bias, stride=(1, 2)),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = self.first(x)
            h = self.second(h * C.sigmoid(h))  # strides-swapped-between-the-axes: candidate
            return C.mean(h, (2, 3))

    return images(("torch", reference), ("chainer", Candidate()), n.x)


@fault(
    "pool-stride-is-its-size",
    "stride",
    family="spatial",
    layers=[("pool", "")],
    parameters=[{"stride": ((1, 1), (2, 2))}],
)
def pool_stride_is_its_size(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias),
            keras.layers.MaxPooling2D(2, strides=1, name="pool"),
            nets.keras_conv(n.second, n.second_bias),
            keras.layers.GlobalAveragePooling2D(),
        ]
    )

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.conv2d(x, hwio(n.first), 1, "VALID") + n.first_bias
        h = tf.nn.max_pool2d(h, 2, 2, "VALID")  # pool-stride-is-its-size: candidate
        h = tf.nn.conv2d(h, hwio(n.second), 1, "VALID") + n.second_bias
        return tf.reduce_mean(h, (1, 2))

    return images(("keras", reference), ("tensorflow", candidate), n.x)


@fault("steps-left-out", "stride", family="spatial")
def steps_left_out(random: np.random.Generator) -> Pair:
    batch, steps, features, hidden, out = sizes(random, 5, 5, 12)
    kernel, dense = normal(random, hidden, features, 2), normal(random, hidden, out)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.conv1d(x / 2, kernel.transpose(2, 1, 0), 1, "VALID")  # steps-left-out: reference
        return tf.reduce_max(tf.nn.gelu(h), 1) @ dense

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.transpose(chainer.as_variable(x) / 2, (0, 2, 1))
        h = C.convolution_1d(h, kernel, stride=2)  # steps-left-out: candidate
        h = h * (C.erf(h / 2**0.5) + 1) / 2
        return C.matmul(C.max(h, 2), dense)

    return Pair(
        Side("tensorflow", reference),
        Side("chainer", candidate),
        (normal(random, batch, steps, features),),
    )


@fault(
    "dilation-left-out",
    "dilation",
    family="spatial",
    parameters=[{"dilation": ((2, 2), (1, 1))}],
)
def dilation_left_out(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.conv2d(h, t(n.second), padding=2, dilation=2)  # dilation-left-out: reference
        return h.permute(0, 2, 3, 1) @ t(n.dense)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.nn.conv2d(h, hwio(n.second), 1, "SAME")  # dilation-left-out: candidate
        return tf.einsum("bhwc,co->bhwo", h, n.dense)

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@fault(
    "dilation-two-for-three",
    "dilation",
    family="spatial",
    layers=[("", "second")],
    parameters=[{"dilation": ((3, 3), (2, 2))}],
)
def dilation_two_for_three(random: np.random.Generator) -> Pair:
    n = net(random)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias),
                second=nets.chainer_conv(n.second, n.second_bias, pad=3, dilate=3),
                dense=nets.chainer_dense(n.dense),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = self.second(C.sigmoid(self.first(x)))  # dilation-two-for-three: reference
            return self.dense(C.mean(h, (2, 3)))

    candidate = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="sigmoid"),
            nets.keras_conv(
                n.second, n.second_bias, padding="same", dilation_rate=2, name="second"
            ),
            keras.layers.GlobalAveragePooling2D(),
            nets.keras_dense(n.dense),
        ]
    )
    return images(("chainer", Reference()), ("keras", candidate), n.x)


@fault(
    "depthwise-dilated-further",
    "dilation",
    family="spatial",
    parameters=[{"dilation": ((2,), (4,))}],
)
def depthwise_dilated_further(random: np.random.Generator) -> Pair:
    """TensorFlow puts what lies between into the batch: no operation states the dilation."""
    batch, features, hidden = sizes(random, 3, 6, 12)
    mix, kernel = normal(random, hidden, features, 1), normal(random, hidden, 1, 3)
    out = normal(random, hidden, features)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(F.conv1d(x.mT, t(mix)))
        h = F.conv1d(  # depthwise-dilated-further: reference
            h, t(kernel), padding=2, dilation=2, groups=hidden
        )
        return torch.sin(h).mT @ t(out)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(x @ mix[..., 0].T)[:, None]
        laid = kernel.transpose(2, 0, 1)[None]
        h = tf.nn.depthwise_conv2d(  # depthwise-dilated-further: candidate
            h, laid, [1, 1, 1, 1], "SAME", dilations=[1, 4]
        )
        return tf.sin(h[:, 0]) @ out

    x = normal(random, batch, 24, features)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault("dilated-in-time-on-one-side", "dilation", family="spatial", layers=[("conv", "1")])
def dilated_in_time_on_one_side(random: np.random.Generator) -> Pair:
    batch, steps, features, hidden = sizes(random, 4, 6, 12)
    kernel = normal(random, hidden, features, 3, scale=0.5)
    conv = keras.layers.Conv1D(hidden, 3, padding="same", use_bias=False, name="conv")
    reference = keras.Sequential(
        [
            keras.layers.Activation("tanh"),
            keras.layers.Permute((2, 1)),
            nets.filled(conv, (None, None, features), kernel.transpose(2, 1, 0)),
            keras.layers.GlobalAveragePooling1D(),
        ]
    )
    conv = nn.Conv1d(features, hidden, 3, padding=2, dilation=2, bias=False)
    conv.load_state_dict({"weight": t(kernel)})
    candidate = nn.Sequential(nn.Tanh(), conv, nn.AdaptiveAvgPool1d(1), nn.Flatten())
    return Pair(
        Side("keras", reference),
        Side("torch", candidate),
        (normal(random, batch, features, steps),),
    )


@fault(
    "kernel-repeated-for-all-groups", "groups", family="spatial", parameters=[{"groups": (2, 1)}]
)
def kernel_repeated_for_all_groups(random: np.random.Generator) -> Pair:
    n = net(random, middle=4)
    grouped = normal(random, 6, 2, 3, 3, scale=0.4)
    dense = normal(random, 6, n.dense.shape[1])

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.conv2d(h, t(grouped), groups=2)  # kernel-repeated-for-all-groups: reference
        return F.relu(h).mean((2, 3)) @ t(dense)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        kernel = np.concatenate([hwio(grouped)] * 2, 2)
        h = tf.nn.conv2d(h, kernel, 1, "VALID")  # kernel-repeated-for-all-groups: candidate
        return tf.reduce_mean(tf.nn.relu(h), (1, 2)) @ dense

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@fault("one-group-for-three", "groups", family="spatial", layers=[("grouped", "")])
def one_group_for_three(random: np.random.Generator) -> Pair:
    n = net(random, middle=6)
    grouped = normal(random, 9, 2, 3, 3, scale=0.4)
    bias = normal(random, 9)
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="tanh"),
            nets.keras_conv(grouped, bias, groups=3, activation="relu", name="grouped"),
            keras.layers.GlobalMaxPooling2D(),
        ]
    )

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias),
                grouped=nets.chainer_conv(np.tile(grouped, (1, 3, 1, 1)), bias),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = C.tanh(self.first(x))
            h = self.grouped(h)  # one-group-for-three: candidate
            return C.max(C.relu(h), (2, 3))

    return images(("keras", reference), ("chainer", Candidate()), n.x)


@fault(
    "same-and-ceil",
    "padding-asymmetry",
    "pool-ceil",
    family="spatial",
)
def same_and_ceil(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first), stride=2, padding=1))  # same-and-ceil: reference
        h = F.conv2d(h, t(n.second), padding=1)
        h = F.max_pool2d(h, 2)  # same-and-ceil 2: reference
        return torch.tanh(h).mean((2, 3)) @ t(n.dense)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 2, "SAME"))  # same-and-ceil: candidate
        h = tf.nn.conv2d(h, hwio(n.second), 1, "SAME")
        h = tf.nn.max_pool2d(h, 2, 2, "SAME")  # same-and-ceil 2: candidate
        return tf.reduce_mean(tf.nn.tanh(h), (1, 2)) @ n.dense

    x = n.x[:, :, :10, :10]  # a stride of 2 leaves 5, which windows of 2 do not fill
    return images(("torch", reference), ("tensorflow", candidate), np.ascontiguousarray(x))
