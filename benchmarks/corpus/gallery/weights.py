"""Weights of other values or scales, biases left out or added twice, layers' weights swapped."""

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


def _dense(random: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Inputs, and two dense layers' weights (in, out) and biases."""
    batch, features, hidden, out = sizes(random, 4)
    return (
        normal(random, batch, features),
        normal(random, features, hidden, scale=0.6),
        normal(random, hidden),
        normal(random, hidden, out, scale=0.6),
        normal(random, out),
    )


@fault("a-row-left-as-initialised", "weight-values", family="weights", layers=[("", "second")])
def a_row_left_as_initialised(random: np.random.Generator) -> Pair:
    x, first, first_bias, second, second_bias = _dense(random)
    other = second.copy()
    other[2] = normal(random, second.shape[1])

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(x @ first + first_bias) + 1.0
        h = tf.linalg.matmul(h, second)  # a-row-left-as-initialised: reference
        return tf.nn.softmax(h + second_bias)

    candidate = keras.Sequential(
        [
            nets.keras_dense(first, first_bias, activation="relu"),
            keras.layers.Rescaling(1.0, offset=1.0),
            nets.keras_dense(other, second_bias, activation="softmax", name="second"),
        ]
    )
    return Pair(Side("tensorflow", reference), Side("keras", candidate), (x,))


@fault("convolution-of-an-older-checkpoint", "weight-values", family="weights", layers=[("2", "")])
def convolution_of_an_older_checkpoint(random: np.random.Generator) -> Pair:
    n = net(random)
    older = n.second + normal(random, *n.second.shape, scale=0.05)
    reference = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias),
        nn.ReLU(),
        nets.torch_conv(n.second, n.second_bias),
        nn.Flatten(2),
        nn.AdaptiveMaxPool1d(1),
    )

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias),
                second=nets.chainer_conv(older, n.second_bias),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = C.relu(self.first(x))
            h = self.second(h)  # convolution-of-an-older-checkpoint: candidate
            return C.reshape(C.max(h, (2, 3)), (*h.shape[:2], 1))

    return images(("torch", reference), ("chainer", Candidate()), n.x)


@fault("embedding-table-of-another-run", "weight-values", family="weights", layers=[("", "embed")])
def embedding_table_of_another_run(random: np.random.Generator) -> Pair:
    batch, steps, words, width = sizes(random, 4)
    table, other = normal(random, words, width), normal(random, words, width)
    dense = normal(random, width, 5)

    def reference(ids: torch.Tensor) -> torch.Tensor:
        h = F.embedding(ids, t(table))  # embedding-table-of-another-run: reference
        return torch.tanh(h).sum(1) @ t(dense)

    ids = keras.Input((steps,), dtype="int64")
    embed = nets.filled(keras.layers.Embedding(words, width, name="embed"), (None, steps), other)
    h = keras.ops.sum(keras.ops.tanh(embed(ids)), 1)
    candidate = keras.Model(ids, nets.keras_dense(dense)(h))
    x = random.integers(0, words, (batch, steps))
    return Pair(Side("torch", reference), Side("keras", candidate), (x,))


@fault("equalised-not-scaled", "weight-scale", family="weights")
def equalised_not_scaled(random: np.random.Generator) -> Pair:
    n = net(random)
    gain = (2 / n.second[0].size) ** 0.5

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.leaky_relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.nn.conv2d(h, hwio(n.second) * gain, 1, "VALID")  # equalised-not-scaled: reference
        return tf.nn.bias_add(h, n.second_bias)

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.leaky_relu(C.convolution_2d(x, n.first), 0.2)
        h = C.convolution_2d(h, n.second)  # equalised-not-scaled: candidate
        return C.bias(h, n.second_bias, 1)

    return images(("tensorflow", reference), ("chainer", candidate), n.x)


@fault("dense-weight-twice-as-large", "weight-scale", family="weights", layers=[("hidden", "")])
def dense_weight_twice_as_large(random: np.random.Generator) -> Pair:
    x, first, first_bias, second, second_bias = _dense(random)
    reference = keras.Sequential(
        [
            nets.keras_dense(first, first_bias, activation="sigmoid"),
            nets.keras_dense(second, second_bias, activation="relu", name="hidden"),
        ]
    )

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.sigmoid(x @ first + first_bias)
        h = h @ (2 * second)  # dense-weight-twice-as-large: candidate
        return tf.nn.relu(h + second_bias)

    return Pair(Side("keras", reference), Side("tensorflow", candidate), (x,))


@fault("tied-weights-not-scaled", "weight-scale", family="weights")
def tied_weights_not_scaled(random: np.random.Generator) -> Pair:
    batch, steps, words, width = sizes(random, 4)
    table = normal(random, words, width)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x)
        h = h @ (t(table) / width**0.5).T  # tied-weights-not-scaled: reference
        return torch.softmax(h, -1)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(x)
        h = tf.einsum("btw,vw->btv", h, table)  # tied-weights-not-scaled: candidate
        return tf.nn.softmax(h)

    x = normal(random, batch, steps, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault("dense-without-its-bias", "bias-missing", family="weights", layers=[("2", "head")])
def dense_without_its_bias(random: np.random.Generator) -> Pair:
    x, first, first_bias, second, second_bias = _dense(random)
    reference = nn.Sequential(
        nets.torch_dense(first, first_bias),
        nn.ReLU(),
        nets.torch_dense(second, second_bias),
        nn.Softmax(1),
    )
    candidate = keras.Sequential(
        [
            nets.keras_dense(first, first_bias, activation="relu"),
            nets.keras_dense(second, activation="softmax", name="head"),
        ]
    )
    return Pair(Side("torch", reference), Side("keras", candidate), (x,))


@fault("convolution-without-its-bias", "bias-missing", family="weights")
def convolution_without_its_bias(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.nn.conv2d(h, hwio(n.second), 1, "VALID")
        h = tf.nn.bias_add(h, n.second_bias)  # convolution-without-its-bias: reference
        return tf.reduce_mean(tf.nn.relu(h), (1, 2)) @ n.dense

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.conv2d(h, t(n.second))
        h = F.relu(h)  # convolution-without-its-bias: candidate
        return h.mean((2, 3)) @ t(n.dense)

    return images(("tensorflow", reference), ("torch", candidate), n.x)


@fault("link-without-bias", "bias-missing", family="weights")
def link_without_bias(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(F.conv2d(x, t(n.first), t(n.first_bias)))
        h = F.conv2d(h, t(n.second), t(n.second_bias), stride=2)  # link-without-bias: reference
        return F.relu(h).mean((2, 3)) @ t(n.dense)

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first, n.first_bias),
                second=nets.chainer_conv(n.second, stride=2),
                dense=nets.chainer_dense(n.dense),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = C.tanh(self.first(x))
            h = self.second(h)  # link-without-bias: candidate
            return self.dense(C.mean(C.relu(h), (2, 3)))

    return images(("torch", reference), ("chainer", Candidate()), n.x)


def _recurrent(random: np.random.Generator) -> tuple[np.ndarray, ...]:
    batch, features, hidden = sizes(random, 3)
    return (
        normal(random, batch, 2, features),
        normal(random, features, hidden, scale=0.5),
        normal(random, hidden, hidden, scale=0.5),
        normal(random, hidden),
        normal(random, hidden),
    )


@fault("second-bias-dropped", "bias-missing", family="weights", source="google/flax#3746")
def second_bias_dropped(random: np.random.Generator) -> Pair:
    x, inner, recurrent, bias, recurrent_bias = _recurrent(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.sigmoid(x[:, 0])
        h = F.linear(h, t(inner).T, t(bias)) + t(recurrent_bias)  # second-bias-dropped: reference
        h = torch.tanh(h)
        return torch.tanh(x[:, 1] @ t(inner) + h @ t(recurrent))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.sigmoid(x[:, 0])
        h = h @ inner + bias
        h = tf.tanh(h)  # second-bias-dropped: candidate
        return tf.tanh(x[:, 1] @ inner + h @ recurrent)

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault("bias-added-inside-and-after", "bias-doubled", family="weights")
def bias_added_inside_and_after(random: np.random.Generator) -> Pair:
    x, first, first_bias, second, second_bias = _dense(random)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_dense(first, first_bias),
                second=nets.chainer_dense(second, second_bias),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = C.relu(self.first(x))
            h = self.second(h)
            return C.softmax(h)  # bias-added-inside-and-after: reference

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.linear(x, t(first).T, t(first_bias)))
        h = F.linear(h, t(second).T, t(second_bias))
        h = h + t(second_bias)  # bias-added-inside-and-after: candidate
        return torch.softmax(h, 1)

    return Pair(Side("chainer", Reference()), Side("torch", candidate), (x,))


@fault("convolution-bias-twice", "bias-doubled", family="weights", layers=[("second", "")])
def convolution_bias_twice(random: np.random.Generator) -> Pair:
    n = net(random)
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="relu"),
            nets.keras_conv(n.second, n.second_bias, activation="relu", name="second"),
            keras.layers.GlobalAveragePooling2D(),
            nets.keras_dense(n.dense),
        ]
    )

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first), t(n.first_bias)))
        h = F.conv2d(h, t(n.second), t(2 * n.second_bias))  # convolution-bias-twice: candidate
        return F.relu(h).mean((2, 3)) @ t(n.dense)

    return images(("keras", reference), ("torch", candidate), n.x)


@fault("weights-kept-in-half-precision", "weight-precision", family="weights")
def weights_kept_in_half_precision(random: np.random.Generator) -> Pair:
    x, first, first_bias, second, second_bias = _dense(random)
    half = t(second).half().float()

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(x @ first + first_bias) + 0.5
        h = tf.matmul(h, second)  # weights-kept-in-half-precision: reference
        return tf.nn.softplus(h + second_bias)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(x @ t(first) + t(first_bias)) + 0.5
        h = torch.mm(h, half)  # weights-kept-in-half-precision: candidate
        return F.softplus(h + t(second_bias))

    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault("kernel-kept-in-bfloat16", "weight-precision", family="weights", layers=[("2", "second")])
def kernel_kept_in_bfloat16(random: np.random.Generator) -> Pair:
    n = net(random)
    rounded = t(n.second).bfloat16().float().numpy()
    reference = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias),
        nn.Tanh(),
        nets.torch_conv(n.second, n.second_bias),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )
    candidate = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="tanh"),
            nets.keras_conv(rounded, n.second_bias, activation="relu", name="second"),
            keras.layers.GlobalAveragePooling2D(),
        ]
    )
    return images(("torch", reference), ("keras", candidate), n.x)


@fault("query-and-key-swapped", "weight-swapped", family="weights")
def query_and_key_swapped(random: np.random.Generator) -> Pair:
    batch, steps, width, out = sizes(random, 4)
    query, key, value = (normal(random, width, size, scale=0.5) for size in (out, out, width))

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x)
        q, k = h @ t(query), h @ t(key)
        scores = q @ k.transpose(1, 2)  # query-and-key-swapped: reference
        return torch.softmax(scores, -1) @ (h @ t(value))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(x)
        q, k = h @ key, h @ query
        scores = tf.matmul(q, k, transpose_b=True)  # query-and-key-swapped: candidate
        return tf.matmul(tf.nn.softmax(scores), h @ value)

    x = normal(random, batch, steps, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault("gate-and-up-swapped", "weight-swapped", family="weights")
def gate_and_up_swapped(random: np.random.Generator) -> Pair:
    batch, width, hidden = sizes(random, 3)
    gate, up = normal(random, width, hidden), normal(random, width, hidden)
    down = normal(random, hidden, width)

    class Reference(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.up, self.down = (
                nets.torch_dense(gate),
                nets.torch_dense(up),
                nets.torch_dense(down),
            )

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            opened = F.silu(self.gate(x))  # gate-and-up-swapped: reference
            return self.down(opened * self.up(x))

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                gate=nets.chainer_dense(up),
                up=nets.chainer_dense(gate),
                down=nets.chainer_dense(down),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = self.gate(x)
            opened = h * C.sigmoid(h)  # gate-and-up-swapped: candidate
            return self.down(opened * self.up(x))

    x = normal(random, batch, width)
    return Pair(Side("torch", Reference()), Side("chainer", Candidate()), (x,))


@fault(
    "two-square-layers-swapped",
    "weight-swapped",
    "weight-swapped",
    family="weights",
    layers=[("one", ""), ("two", "")],
)
def two_square_layers_swapped(random: np.random.Generator) -> Pair:
    batch, width = sizes(random, 2)
    one, two = (normal(random, width, width, scale=0.5) for _ in range(2))
    bias, more = normal(random, width), normal(random, width)
    reference = keras.Sequential(
        [
            keras.layers.Activation("tanh"),
            nets.keras_dense(one, bias, activation="sigmoid", name="one"),
            nets.keras_dense(two, more, activation="softmax", name="two"),
        ]
    )

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                one=L.Linear(width, width, initialW=two.T.copy(), initial_bias=bias),
                two=L.Linear(width, width, initialW=one.T.copy(), initial_bias=more),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = self.one(C.tanh(x))  # two-square-layers-swapped: candidate
            h = C.sigmoid(h)
            h = self.two(h)  # two-square-layers-swapped 2: candidate
            return C.softmax(h)

    x = normal(random, batch, width)
    return Pair(Side("keras", reference), Side("chainer", Candidate()), (x,))


@fault("no-bias-another-scale", "bias-missing", "weight-scale", family="weights")
def no_bias_another_scale(random: np.random.Generator) -> Pair:
    x, first, first_bias, second, second_bias = _dense(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.linear(torch.tanh(x), t(first).T, t(first_bias))  # no-bias-another-scale: reference
        h = F.elu(h)
        h = F.linear(h, t(second).T)  # no-bias-another-scale 2: reference
        return torch.softmax(h + t(second_bias), 1)

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(first=nets.chainer_dense(first), second=nets.chainer_dense(second / 3))

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = self.first(C.tanh(x))  # no-bias-another-scale: candidate
            h = C.elu(h)
            h = self.second(h)  # no-bias-another-scale 2: candidate
            return C.softmax(C.bias(h, second_bias, 1))

    return Pair(Side("torch", reference), Side("chainer", Candidate()), (x,))
