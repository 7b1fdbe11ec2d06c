"""Activations that are missing, too many, of another kind, or with other constants."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from keras import activations, layers
from torch import nn
from torch.nn import functional as torch_f

from benchmarks.corpus.gallery._between import F, convolved, dense, tensor
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer

MIDDLE = ("middle", "middle")


@fault(
    "keras-dense-without-relu", "activation-missing", family="activation", layers=[("1", "second")]
)
def keras_dense_without_relu(random: np.random.Generator) -> Pair:
    batch, features, width, outputs = sizes(random, 4)
    first, second = normal(random, features, width, scale=0.6), normal(random, width, outputs)
    biases = normal(random, width), normal(random, outputs)
    reference = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, outputs))
    arrays = zip(("0.weight", "2.weight"), (first.T, second.T), strict=True)
    state = dict(arrays) | dict(zip(("0.bias", "2.bias"), biases, strict=True))
    reference.load_state_dict({name: tensor(array) for name, array in state.items()})
    stack = [layers.Dense(width, name="first"), layers.Dense(outputs, name="second")]
    candidate = keras_sequential(features, stack)
    candidate.set_weights([first, biases[0], second, biases[1]])
    x = normal(random, batch, features)
    return Pair(Side("torch", reference), Side("keras", candidate), (x,))


def keras_sequential(features: int, stack: list[layers.Layer]) -> keras.Sequential:
    return keras.Sequential([layers.Input((features,)), *stack])


@fault(
    "convolution-without-relu", "activation-missing", family="activation", layers=[("middle.0", "")]
)
def convolution_without_relu(random: np.random.Generator) -> Pair:
    """A pooling reads what the activation should have seen."""
    between = convolved(random)
    reference = nn.Sequential(nn.ReLU(), nn.AvgPool2d(2, 1))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.avg_pool2d(x, 2, 1, "VALID")  # convolution-without-relu: candidate

    return between.pair("torch", reference, "tensorflow", candidate)


@fault("mean-without-tanh", "activation-missing", family="activation")
def mean_without_tanh(random: np.random.Generator) -> Pair:
    """A bounded action, scaled to its range."""
    between = dense(random)
    limit = np.float32(random.uniform(1.5, 3))

    def reference(x: chainer.Variable) -> chainer.Variable:
        bounded = F.tanh(x)  # mean-without-tanh: reference
        return limit * bounded

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return float(limit) * x  # mean-without-tanh: candidate

    return between.pair("chainer", reference, "torch", candidate)


@fault("gate-without-sigmoid", "activation-missing", family="activation")
def gate_without_sigmoid(random: np.random.Generator) -> Pair:
    """A squeeze-and-excitation gate."""
    between = convolved(random)
    kernel = normal(random, between.width, between.width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        gate = tf.reduce_mean(x, [1, 2], keepdims=True) @ kernel
        return x * tf.sigmoid(gate)  # gate-without-sigmoid: reference

    def candidate(x: torch.Tensor) -> torch.Tensor:
        gate = x.mean((2, 3)) @ tensor(kernel)
        return x * gate[:, :, None, None]  # gate-without-sigmoid: candidate

    return between.pair("tensorflow", reference, "torch", candidate)


@fault("tanh-before-the-last-layer", "activation-extra", family="activation")
def tanh_before_the_last_layer(random: np.random.Generator) -> Pair:
    between = dense(random)
    kernel = normal(random, between.width, between.width, scale=0.5)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) @ tensor(kernel)  # tanh-before-the-last-layer: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(tf.nn.relu(x)) @ kernel  # tanh-before-the-last-layer: candidate

    return between.pair("torch", reference, "tensorflow", candidate)


@fault("relu-on-the-advantages", "activation-extra", family="activation")
def relu_on_the_advantages(random: np.random.Generator) -> Pair:
    """The heads' last layers have none."""
    between = dense(random)
    value = normal(random, between.width, 1)
    advantage = normal(random, between.width, between.width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        a = x @ advantage
        mean = tf.reduce_mean(a, -1, keepdims=True)  # relu-on-the-advantages: reference
        return x @ value + a - mean  # relu-on-the-advantages: reference

    def candidate(x: chainer.Variable) -> chainer.Variable:
        a = F.relu(F.matmul(x, advantage))  # relu-on-the-advantages: candidate
        v = F.broadcast_to(F.matmul(x, value), a.shape)
        return v + a - F.broadcast_to(F.mean(a, axis=1, keepdims=True), a.shape)

    return between.pair("tensorflow", reference, "chainer", candidate)


@fault(
    "keras-dense-with-relu", "activation-extra", family="activation", layers=[("last", "middle")]
)
def keras_dense_with_relu(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    candidate = layers.ReLU(name="middle")
    return between.pair("torch", nn.Identity(), "keras", candidate)


@fault(
    "elu-for-relu",
    "activation-kind",
    family="activation",
    layers=[MIDDLE],
    parameters=[{"kind": ("relu", "elu")}],
)
def elu_for_relu(random: np.random.Generator) -> Pair:
    return dense(random).pair("torch", nn.ReLU(), "keras", layers.ELU(name="middle"))


@fault(
    "sigmoid-for-tanh",
    "activation-kind",
    family="activation",
    parameters=[{"kind": ("tanh", "sigmoid")}],
)
def sigmoid_for_tanh(random: np.random.Generator) -> Pair:
    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x)  # sigmoid-for-tanh: reference

    def candidate(x: chainer.Variable) -> chainer.Variable:
        return F.sigmoid(x)  # sigmoid-for-tanh: candidate

    return dense(random).pair("tensorflow", reference, "chainer", candidate)


@fault(
    "softplus-for-exponential",
    "activation-kind",
    family="activation",
    parameters=[{"kind": ("exp", "softplus")}],
)
def softplus_for_exponential(random: np.random.Generator) -> Pair:
    def reference(x: chainer.Variable) -> chainer.Variable:
        return F.exp(x)  # softplus-for-exponential: reference

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return torch_f.softplus(x)  # softplus-for-exponential: candidate

    return dense(random).pair("chainer", reference, "torch", candidate)


@fault(
    "relu-for-silu",
    "activation-kind",
    family="activation",
    layers=[MIDDLE],
    parameters=[{"kind": ("silu", "relu")}],
)
def relu_for_silu(random: np.random.Generator) -> Pair:
    reference = layers.Activation("silu", name="middle")
    return convolved(random).pair("keras", reference, "torch", nn.ReLU())


@fault(
    "unbounded-relu",
    "activation-kind",
    family="activation",
    layers=[("middle", "")],
    parameters=[{"kind": ("relu6", "relu")}],
)
def unbounded_relu(random: np.random.Generator) -> Pair:
    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x)  # unbounded-relu: candidate

    return convolved(random, scale=6).pair("torch", nn.ReLU6(), "tensorflow", candidate)


@fault(
    "selu-for-elu",
    "activation-kind",
    family="activation",
    parameters=[{"kind": ("elu", "selu")}],
)
def selu_for_elu(random: np.random.Generator) -> Pair:
    def reference(x: chainer.Variable) -> chainer.Variable:
        return F.elu(x)  # selu-for-elu: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.selu(x)  # selu-for-elu: candidate

    return convolved(random).pair("chainer", reference, "tensorflow", candidate)


@fault(
    "softsign-for-tanh",
    "activation-kind",
    family="activation",
    parameters=[{"kind": ("tanh", "softsign")}],
)
def softsign_for_tanh(random: np.random.Generator) -> Pair:
    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x)  # softsign-for-tanh: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return x / (1 + tf.abs(x))  # softsign-for-tanh: candidate

    return dense(random, steps=True).pair("torch", reference, "keras", candidate)


@fault(
    "keras-exact-gelu",
    "gelu-variant",
    family="activation",
    layers=[MIDDLE],
    parameters=[{"kind": ("tanh", "erf")}],
    source="tinygrad/tinygrad#16162",
)
def keras_exact_gelu(random: np.random.Generator) -> Pair:
    candidate = layers.Activation("gelu", name="middle")
    return dense(random).pair("torch", nn.GELU(approximate="tanh"), "keras", candidate)


@fault("tensorflow-gelu-by-tanh", "gelu-variant", family="activation", layers=[("middle", "")])
def tensorflow_gelu_by_tanh(random: np.random.Generator) -> Pair:
    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.gelu(x, approximate=True)  # tensorflow-gelu-by-tanh: candidate

    return dense(random, steps=True).pair("torch", nn.GELU(), "tensorflow", candidate)


@fault("quick-gelu", "gelu-variant", family="activation")
def quick_gelu(random: np.random.Generator) -> Pair:
    def reference(x: tf.Tensor) -> tf.Tensor:
        return activations.gelu(x)  # quick-gelu: reference

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(1.702 * x)  # quick-gelu: candidate

    return dense(random).pair("keras", reference, "torch", candidate)


@fault("gelu-by-hand", "gelu-variant", family="activation", layers=[("", "middle")])
def gelu_by_hand(random: np.random.Generator) -> Pair:
    def reference(x: chainer.Variable) -> chainer.Variable:
        inner = x + np.float32(0.044715) * x**3  # gelu-by-hand: reference
        inner *= np.float32(np.sqrt(2 / np.pi))
        return np.float32(0.5) * x * (1 + F.tanh(inner))  # gelu-by-hand: reference

    return dense(random).pair("chainer", reference, "torch", nn.GELU())


@fault(
    "keras-default-leaky-slope",
    "leaky-slope",
    family="activation",
    layers=[MIDDLE],
    parameters=[{"slope": (0.01, 0.3)}],
    source="jinyu121/DW2TF#2",
)
def keras_default_leaky_slope(random: np.random.Generator) -> Pair:
    return convolved(random).pair("torch", nn.LeakyReLU(), "keras", layers.LeakyReLU(name="middle"))


@fault(
    "tensorflow-default-leaky-slope",
    "leaky-slope",
    family="activation",
    parameters=[{"slope": (0.01, 0.2)}],
)
def tensorflow_default_leaky_slope(random: np.random.Generator) -> Pair:
    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch_f.leaky_relu(x)  # tensorflow-default-leaky-slope: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.leaky_relu(x)  # tensorflow-default-leaky-slope: candidate

    return dense(random).pair("torch", reference, "tensorflow", candidate)


@fault(
    "darknet-leaky-slope", "leaky-slope", family="activation", parameters=[{"slope": (0.1, 0.2)}]
)
def darknet_leaky_slope(random: np.random.Generator) -> Pair:
    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.maximum(0.1 * x, x)  # darknet-leaky-slope: reference

    def candidate(x: chainer.Variable) -> chainer.Variable:
        return F.leaky_relu(x)  # darknet-leaky-slope: candidate

    return convolved(random).pair("tensorflow", reference, "chainer", candidate)


@fault(
    "prelu-read-as-leaky",
    "leaky-slope",
    family="activation",
    layers=[("", "middle")],
    parameters=[{"slope": (0.25, 0.01)}],
)
def prelu_read_as_leaky(random: np.random.Generator) -> Pair:
    def reference(x: chainer.Variable) -> chainer.Variable:
        return F.prelu(x, np.full(x.shape[1], 0.25, np.float32))  # prelu-read-as-leaky: reference

    return convolved(random).pair("chainer", reference, "torch", nn.LeakyReLU())


@fault(
    "chainer-hard-sigmoid",
    "hard-sigmoid-slope",
    family="activation",
    layers=[("middle", "")],
    parameters=[{"slope": (1 / 6, 0.2)}],
    source="llvm/torch-mlir#2682",
)
def chainer_hard_sigmoid(random: np.random.Generator) -> Pair:
    def candidate(x: chainer.Variable) -> chainer.Variable:
        return F.hard_sigmoid(x)  # chainer-hard-sigmoid: candidate

    return dense(random, scale=2).pair("torch", nn.Hardsigmoid(), "chainer", candidate)


@fault(
    "hard-sigmoid-clipped",
    "hard-sigmoid-slope",
    family="activation",
    parameters=[{"slope": (0.2, 1 / 6)}],
)
def hard_sigmoid_clipped(random: np.random.Generator) -> Pair:
    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.clip_by_value(0.2 * x + 0.5, 0, 1)  # hard-sigmoid-clipped: reference

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return torch_f.hardsigmoid(x)  # hard-sigmoid-clipped: candidate

    return dense(random, scale=2).pair("tensorflow", reference, "torch", candidate)


@fault("hard-swish-gate", "hard-sigmoid-slope", family="activation", layers=[("middle", "")])
def hard_swish_gate(random: np.random.Generator) -> Pair:
    def candidate(x: torch.Tensor) -> torch.Tensor:
        return x * torch.clamp(0.2 * x + 0.5, 0, 1)  # hard-swish-gate: candidate

    reference = layers.Activation("hard_silu", name="middle")
    return convolved(random, scale=2).pair("keras", reference, "torch", candidate)


@fault(
    "leaky-slope-and-gelu",
    "leaky-slope",
    "gelu-variant",
    family="activation",
    parameters=[{"slope": (0.01, 0.2)}],
)
def leaky_slope_and_gelu(random: np.random.Generator) -> Pair:
    between = dense(random)
    kernel = normal(random, between.width, between.width, scale=0.6)

    def reference(x: torch.Tensor) -> torch.Tensor:
        y = torch_f.leaky_relu(x)  # leaky-slope-and-gelu: reference
        return torch_f.gelu(y @ tensor(kernel))  # leaky-slope-and-gelu 2: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        y = tf.nn.leaky_relu(x)  # leaky-slope-and-gelu: candidate
        return tf.nn.gelu(y @ kernel, approximate=True)  # leaky-slope-and-gelu 2: candidate

    return between.pair("torch", reference, "tensorflow", candidate)


@fault(
    "activation-kind-and-missing", "activation-kind", "activation-missing", family="activation",
    parameters=[{"kind": ("relu", "elu")}],
)  # fmt: skip
def activation_kind_and_missing(random: np.random.Generator) -> Pair:
    between = convolved(random)
    scale = random.uniform(0.5, 1.5, between.width).astype(np.float32)

    def reference(x: tf.Tensor) -> tf.Tensor:
        y = tf.nn.relu(x)  # activation-kind-and-missing: reference
        gate = tf.tanh(scale * y)  # activation-kind-and-missing 2: reference
        return y * gate

    def candidate(x: chainer.Variable) -> chainer.Variable:
        y = F.elu(x)  # activation-kind-and-missing: candidate
        gate = F.scale(y, scale)
        return y * gate  # activation-kind-and-missing 2: candidate

    return between.pair("tensorflow", reference, "chainer", candidate)


@clean("gelu-tanh-written-out", family="activation")
def gelu_tanh_written_out(random: np.random.Generator) -> Pair:
    def candidate(x: tf.Tensor) -> tf.Tensor:
        return 0.5 * x * (1 + tf.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))

    return dense(random).pair("torch", nn.GELU("tanh"), "tensorflow", candidate)


@clean("gelu-by-the-error-function", family="activation")
def gelu_by_the_error_function(random: np.random.Generator) -> Pair:
    def candidate(x: chainer.Variable) -> chainer.Variable:
        return x * np.float32(0.5) * (1 + F.erf(x / np.float32(2**0.5)))

    reference = layers.Activation("gelu", name="middle")
    return dense(random, steps=True).pair("keras", reference, "chainer", candidate)


@clean("leaky-as-a-maximum", family="activation")
def leaky_as_a_maximum(random: np.random.Generator) -> Pair:
    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.maximum(x, 0.01 * x)

    return convolved(random).pair("torch", nn.LeakyReLU(), "tensorflow", candidate)


@clean("leaky-as-two-relus", family="activation")
def leaky_as_two_relus(random: np.random.Generator) -> Pair:
    def candidate(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) - 0.25 * torch.relu(-x)

    reference = layers.LeakyReLU(negative_slope=0.25, name="middle")
    return convolved(random).pair("keras", reference, "torch", candidate)


@clean("prelu-of-one-slope", family="activation")
def prelu_of_one_slope(random: np.random.Generator) -> Pair:
    def candidate(x: chainer.Variable) -> chainer.Variable:
        return F.leaky_relu(x, 0.25)

    return convolved(random).pair("torch", nn.PReLU(), "chainer", candidate)


@clean("relu-by-absolute-value", family="activation")
def relu_by_absolute_value(random: np.random.Generator) -> Pair:
    def candidate(x: chainer.Variable) -> chainer.Variable:
        return (x + F.absolute(x)) / 2

    return dense(random).pair("torch", nn.ReLU(), "chainer", candidate)


@clean("relu-twice", family="activation")
def relu_twice(random: np.random.Generator) -> Pair:
    """The second one finds nothing to do."""

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(tf.where(x > 0, x, 0))

    return convolved(random).pair("torch", nn.ReLU(), "tensorflow", candidate)


@clean("relu-after-sigmoid", family="activation")
def relu_after_sigmoid(random: np.random.Generator) -> Pair:
    """No sigmoid is below 0 or above 6."""

    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu6(tf.sigmoid(x))

    return dense(random).pair("tensorflow", reference, "torch", nn.Sigmoid())


@clean("relu6-where-nothing-is-large", family="activation")
def relu6_where_nothing_is_large(random: np.random.Generator) -> Pair:
    def candidate(x: chainer.Variable) -> chainer.Variable:
        return F.relu(F.tanh(x))

    reference = nn.Sequential(nn.Tanh(), nn.ReLU6())
    return dense(random).pair("torch", reference, "chainer", candidate)


@clean("silu-written-out", family="activation")
def silu_written_out(random: np.random.Generator) -> Pair:
    def candidate(x: torch.Tensor) -> torch.Tensor:
        return x / (1 + torch.exp(-x))

    return dense(random).pair("keras", layers.Activation("silu", name="middle"), "torch", candidate)


@clean("softplus-written-out", family="activation")
def softplus_written_out(random: np.random.Generator) -> Pair:
    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.maximum(x, 0) + tf.math.log1p(tf.exp(-tf.abs(x)))

    def reference(x: chainer.Variable) -> chainer.Variable:
        return F.softplus(x)

    return dense(random).pair("chainer", reference, "tensorflow", candidate)


@clean("sigmoid-by-tanh", family="activation")
def sigmoid_by_tanh(random: np.random.Generator) -> Pair:
    def candidate(x: torch.Tensor) -> torch.Tensor:
        return 0.5 * torch.tanh(x / 2) + 0.5

    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.sigmoid(x)

    return dense(random, steps=True).pair("tensorflow", reference, "torch", candidate)


@clean("tanh-by-sigmoid", family="activation")
def tanh_by_sigmoid(random: np.random.Generator) -> Pair:
    def candidate(x: chainer.Variable) -> chainer.Variable:
        return 2 * F.sigmoid(2 * x) - 1

    return dense(random).pair("torch", nn.Tanh(), "chainer", candidate)


@clean("elu-by-parts", family="activation")
def elu_by_parts(random: np.random.Generator) -> Pair:
    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x) + tf.math.expm1(tf.minimum(x, 0))

    return convolved(random).pair("torch", nn.ELU(), "tensorflow", candidate)


@clean("selu-as-a-scaled-elu", family="activation")
def selu_as_a_scaled_elu(random: np.random.Generator) -> Pair:
    alpha, scale = 1.6732632423543772, 1.0507009873554805

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return scale * torch_f.elu(x, alpha)

    return dense(random).pair("keras", layers.Activation("selu", name="middle"), "torch", candidate)


@clean("hard-sigmoids-of-one-slope", family="activation")
def hard_sigmoids_of_one_slope(random: np.random.Generator) -> Pair:
    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu6(x + 3) / 6

    return dense(random, scale=2).pair("torch", nn.Hardsigmoid(), "tensorflow", candidate)


@clean("chainer-hard-sigmoid-clipped", family="activation")
def chainer_hard_sigmoid_clipped(random: np.random.Generator) -> Pair:
    def reference(x: chainer.Variable) -> chainer.Variable:
        return F.hard_sigmoid(x)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return torch.clamp(x / 5 + 0.5, 0, 1)

    return dense(random, scale=2).pair("chainer", reference, "torch", candidate)


@clean("gated-linear-unit-split", family="activation")
def gated_linear_unit_split(random: np.random.Generator) -> Pair:
    """The second half is the gate; one multiplies by a sum in place of a sigmoid's quotient."""
    between = dense(random)
    kernel = normal(random, between.width, 2 * between.width)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch_f.glu(x @ tensor(kernel))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        value, gate = tf.split(x @ kernel, 2, -1)
        return value / (1 + tf.exp(-gate))

    return between.pair("torch", reference, "tensorflow", candidate)


@clean("relu-before-a-square", family="activation")
def relu_before_a_square(random: np.random.Generator) -> Pair:
    """A positive factor passes through a relu."""
    factor = np.float32(random.uniform(1.5, 3))

    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.square(tf.nn.relu(factor * x))

    def candidate(x: chainer.Variable) -> chainer.Variable:
        return factor * factor * F.relu(x) ** 2

    return dense(random).pair("tensorflow", reference, "chainer", candidate)
