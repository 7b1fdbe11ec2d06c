"""Clean pairs of feed-forward layers, one or a few at a time, in torch, Keras and Chainer."""

from __future__ import annotations

from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf
import torch
from keras import layers
from torch import nn
from torch.nn import functional as torch_f

from benchmarks.corpus.scenarios.decompositions import normal
from benchmarks.corpus.scenarios.pair import Side, chainer, image_side

from .subject import Clean, Forms, pairs_of

F, L = chainer.functions, chainer.links
AROUND = (("torch", "keras"), ("keras", "chainer"), ("chainer", "torch"))
AROUND_TF = (("torch", "tensorflow"), ("tensorflow", "chainer"), ("chainer", "torch"))


def t(array):
    return torch.from_numpy(np.ascontiguousarray(array))


def loaded(module: nn.Module, *arrays) -> nn.Module:
    """A torch module with its parameters and floating buffers set, in the order they are listed."""
    state = [tensor for tensor in module.state_dict().values() if tensor.is_floating_point()]
    with torch.no_grad():
        for tensor, array in zip(state, arrays, strict=True):
            tensor.copy_(t(array))
    return module.eval()


def keras_model(shape, stack, *arrays) -> keras.Model:
    model = keras.Sequential([layers.Input(shape), *stack])
    model.set_weights(list(arrays))
    return model


class Composed(chainer.Chain):
    """Links by name, and what to do with them and the input."""

    def __init__(self, call, **links):
        super().__init__()
        with self.init_scope():
            for name, link in links.items():
                setattr(self, name, link)
        self.call = call

    def forward(self, *inputs):
        return self.call(self, *inputs)


def dense_layers(rng) -> Forms:
    kernels = [normal(rng, 13, 11, scale=0.3), normal(rng, 9, 13, scale=0.3), normal(rng, 6, 9)]
    biases = [normal(rng, len(kernel), scale=0.5) for kernel in kernels]
    both = [array for pair in zip(kernels, biases, strict=True) for array in pair]
    torch_net = nn.Sequential(
        nn.Linear(11, 13), nn.Tanh(), nn.Linear(13, 9), nn.ELU(), nn.Linear(9, 6)
    )
    keras_net = keras_model(
        (11,),
        [layers.Dense(13, "tanh"), layers.Dense(9, "elu"), layers.Dense(6)],
        *[array.T for array in both],
    )
    a, b, c = (
        L.Linear(None, len(k), initialW=k, initial_bias=bias)
        for k, bias in zip(kernels, biases, strict=True)
    )
    chainer_net = Composed(lambda s, x: s.c(F.elu(s.b(F.tanh(s.a(x))))), a=a, b=b, c=c)
    forms = {
        "torch": Side("torch", loaded(torch_net, *both)),
        "keras": Side("keras", keras_net),
        "chainer": Side("chainer", chainer_net),
    }
    return forms, (normal(rng, 5, 11),)


def convolutions_and_pooling(rng) -> Forms:
    first, second = normal(rng, 7, 3, 3, 2, scale=0.3), normal(rng, 5, 7, 2, 2, scale=0.3)
    biases = normal(rng, 7), normal(rng, 5)
    torch_net = nn.Sequential(
        nn.Conv2d(3, 7, (3, 2)), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(7, 5, 2),
        nn.LeakyReLU(0.2), nn.AvgPool2d(2), nn.Flatten(2), nn.Softmax(1),
    )  # fmt: skip
    keras_net = keras_model(
        (14, 12, 3),
        [
            layers.Conv2D(7, (3, 2), activation="relu"), layers.MaxPool2D(2), layers.Conv2D(5, 2),
            layers.LeakyReLU(negative_slope=0.2), layers.AveragePooling2D(2),
            layers.Reshape((-1, 5)), layers.Permute((2, 1)), layers.Softmax(1),
        ],
        first.transpose(2, 3, 1, 0), biases[0], second.transpose(2, 3, 1, 0), biases[1],
    )  # fmt: skip

    def call(self, x):
        h = F.max_pooling_2d(F.relu(self.first(x)), 2, cover_all=False)
        h = F.average_pooling_2d(F.leaky_relu(self.second(h), 0.2), 2)
        return F.softmax(F.reshape(h, (*h.shape[:2], -1)), axis=1)

    chainer_net = Composed(
        call,
        first=L.Convolution2D(3, 7, (3, 2), initialW=first, initial_bias=biases[0]),
        second=L.Convolution2D(7, 5, 2, initialW=second, initial_bias=biases[1]),
    )
    forms = {
        "torch": image_side("torch", loaded(torch_net, first, biases[0], second, biases[1])),
        "keras": image_side("keras", keras_net),
        "chainer": image_side("chainer", chainer_net),
    }
    return forms, (normal(rng, 4, 3, 14, 12),)


def strided_padded_convolution(rng) -> Forms:
    """Zeros at the borders, a stride, and in torch and Chainer the uneven padding by hand."""
    kernel, bias = normal(rng, 6, 3, 4, 4, scale=0.2), normal(rng, 6)
    hwio = kernel.transpose(2, 3, 1, 0).copy()

    def torch_form(x):
        return torch_f.conv2d(torch_f.pad(x, (1, 1, 1, 1)), t(kernel), t(bias), 2).mean((2, 3))

    def tensorflow_form(x):
        return tf.reduce_mean(tf.nn.conv2d(x, hwio, 2, "SAME") + bias, (1, 2))

    def chainer_form(x):
        return F.mean(F.convolution_2d(x, kernel, bias, 2, 1), axis=(2, 3))

    forms = {
        "torch": image_side("torch", torch_form),
        "tensorflow": image_side("tensorflow", tensorflow_form),
        "chainer": image_side("chainer", chainer_form),
    }
    return forms, (normal(rng, 5, 3, 10, 8),)


def depthwise_dilated_convolution(rng) -> Forms:
    kernel = normal(rng, 5, 1, 3, 2, scale=0.4)
    hwcm = kernel.transpose(2, 3, 0, 1).copy()

    def torch_form(x):
        return torch_f.conv2d(x, t(kernel), dilation=2, groups=5).amax((2, 3))

    def tensorflow_form(x):
        y = tf.nn.depthwise_conv2d(x, hwcm, (1, 1, 1, 1), "VALID", dilations=(2, 2))
        return tf.reduce_max(y, (1, 2))

    def chainer_form(x):
        return F.max(F.convolution_2d(x, kernel, dilate=2, groups=5), axis=(2, 3))

    forms = {
        "torch": image_side("torch", torch_form),
        "tensorflow": image_side("tensorflow", tensorflow_form),
        "chainer": image_side("chainer", chainer_form),
    }
    return forms, (normal(rng, 4, 5, 9, 8),)


def transposed_convolution(rng) -> Forms:
    kernel, bias = normal(rng, 3, 6, 4, 4, scale=0.3), normal(rng, 6)  # (in, out, height, width)
    hwoi = kernel.transpose(2, 3, 1, 0).copy()

    def torch_form(x):
        return torch_f.conv_transpose2d(x, t(kernel), t(bias), 2).sum((2, 3))

    def tensorflow_form(x):
        y = tf.nn.conv2d_transpose(x, hwoi, (len(x), 12, 16, 6), 2, "VALID")
        return tf.reduce_sum(y + bias, (1, 2))

    def chainer_form(x):
        return F.sum(F.deconvolution_2d(x, kernel, bias, 2), axis=(2, 3))

    forms = {
        "torch": image_side("torch", torch_form),
        "tensorflow": image_side("tensorflow", tensorflow_form),
        "chainer": image_side("chainer", chainer_form),
    }
    return forms, (normal(rng, 4, 3, 5, 7),)


def activations(rng) -> Forms:
    """Every activation of the three frameworks, each an output of its own."""

    def torch_form(x):
        return {
            "gelu": torch_f.gelu(x),
            "gelu_tanh": torch_f.gelu(x, approximate="tanh"),
            "silu": torch_f.silu(x),
            "elu": torch_f.elu(x),
            "selu": torch_f.selu(x),
            "softplus": torch_f.softplus(x),
            "leaky_relu": torch_f.leaky_relu(x, 0.01),
            "sigmoid": torch.sigmoid(x),
            "softsign": torch_f.softsign(x),
            "log_sigmoid": torch_f.logsigmoid(x),
            "relu6": torch_f.relu6(x),
        }

    def tensorflow_form(x):
        return {
            "gelu": tf.nn.gelu(x),
            "gelu_tanh": tf.nn.gelu(x, approximate=True),
            "silu": tf.nn.silu(x),
            "elu": tf.nn.elu(x),
            "selu": tf.nn.selu(x),
            "softplus": tf.nn.softplus(x),
            "leaky_relu": tf.nn.leaky_relu(x, 0.01),
            "sigmoid": tf.sigmoid(x),
            "softsign": tf.nn.softsign(x),
            "log_sigmoid": tf.math.log_sigmoid(x),
            "relu6": tf.nn.relu6(x),
        }

    def chainer_form(x):
        x = chainer.as_variable(x)
        inner = (2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)
        return {
            "gelu": 0.5 * x * (1 + F.erf(x / 2**0.5)),
            "gelu_tanh": 0.5 * x * (1 + F.tanh(inner)),
            "silu": x * F.sigmoid(x),
            "elu": F.elu(x),
            "selu": F.selu(x),
            "softplus": F.softplus(x),
            "leaky_relu": F.leaky_relu(x, 0.01),
            "sigmoid": F.sigmoid(x),
            "softsign": x / (1 + F.absolute(x)),
            "log_sigmoid": -F.softplus(-x),
            "relu6": F.clip(x, 0.0, 6.0),
        }

    forms = {
        "torch": Side("torch", torch_form),
        "tensorflow": Side("tensorflow", tensorflow_form),
        "chainer": Side("chainer", chainer_form),
    }
    return forms, (normal(rng, 7, 9),)


def embedding(rng) -> Forms:
    table, kernel = normal(rng, 17, 6), normal(rng, 4, 6)

    def torch_form(ids):
        return torch_f.embedding(ids, t(table)).mean(1) @ t(kernel).T

    def tensorflow_form(ids):
        return tf.reduce_mean(tf.gather(table, ids), 1) @ kernel.T

    def chainer_form(ids):
        return F.linear(F.mean(F.embed_id(ids, table), axis=1), kernel)

    forms = {
        "torch": Side("torch", torch_form),
        "tensorflow": Side("tensorflow", tensorflow_form),
        "chainer": Side("chainer", chainer_form),
    }
    ids = rng.integers(0, 17, (5, 8))
    ids[0, :2] = 0, 16  # the range that other inputs keep to
    return forms, (ids,)


def quantile_head(rng) -> Forms:
    """Cosines of quantile fractions, weighed into the state: the head of an IQN."""
    cosine, value = normal(rng, 8, 16, scale=0.3), normal(rng, 3, 8, scale=0.5)
    indices = np.arange(1, 17, dtype=np.float32)

    def torch_form(state, fractions):
        phi = torch.cos(np.pi * t(indices) * fractions[..., None])
        joined = state[:, None] * torch_f.linear(phi, t(cosine)).relu()
        return torch_f.linear(joined, t(value)).mean(1)

    def tensorflow_form(state, fractions):
        phi = tf.cos(np.float32(np.pi) * indices * fractions[..., None])
        joined = state[:, None] * tf.nn.relu(phi @ cosine.T)
        return tf.reduce_mean(joined @ value.T, 1)

    def chainer_form(state, fractions):
        fractions = F.expand_dims(chainer.as_variable(fractions), 2)
        phi = F.cos(np.float32(np.pi) * F.broadcast_to(fractions, (5, 7, 16)) * indices)
        joined = F.expand_dims(chainer.as_variable(state), 1)
        joined = F.broadcast_to(joined, (5, 7, 8)) * F.relu(F.linear(phi, cosine, n_batch_axes=2))
        return F.mean(F.linear(joined, value, n_batch_axes=2), axis=1)

    forms = {
        "torch": Side("torch", torch_form),
        "tensorflow": Side("tensorflow", tensorflow_form),
        "chainer": Side("chainer", chainer_form),
    }
    return forms, (normal(rng, 5, 8), rng.random((5, 7)).astype(np.float32))


def gaussian_head(rng) -> Forms:
    """Means and log-probabilities of a policy whose deviation is a softplus."""
    mean, deviation = normal(rng, 3, 7), normal(rng, 3, 7, scale=0.3)
    action = normal(rng, 5, 3)
    half_log = float(0.5 * np.log(2 * np.pi))

    def torch_form(h):
        mu, sigma = h @ t(mean).T, torch_f.softplus(h @ t(deviation).T) + 0.1
        log_density = torch.distributions.Normal(mu, sigma).log_prob(t(action))
        return mu, log_density.sum(1)

    def tensorflow_form(h):
        mu, sigma = h @ mean.T, tf.math.softplus(h @ deviation.T) + 0.1
        scaled = (action - mu) / sigma
        return mu, tf.reduce_sum(-0.5 * scaled**2 - tf.math.log(sigma) - half_log, 1)

    def chainer_form(h):
        mu, sigma = F.linear(h, mean), F.softplus(F.linear(h, deviation)) + 0.1
        scaled = (action - mu) / sigma
        return mu, F.sum(-0.5 * scaled**2 - F.log(sigma) - half_log, axis=1)

    forms = {
        "torch": Side("torch", torch_form),
        "tensorflow": Side("tensorflow", tensorflow_form),
        "chainer": Side("chainer", chainer_form),
    }
    return forms, (normal(rng, 5, 7),)


def pairs() -> Iterator[Clean]:
    family = "layers and heads"
    yield from pairs_of(family, dense_layers, *AROUND)
    yield from pairs_of(family, convolutions_and_pooling, *AROUND)
    for subject in (
        strided_padded_convolution,
        depthwise_dilated_convolution,
        transposed_convolution,
        activations,
        embedding,
        quantile_head,
        gaussian_head,
    ):
        yield from pairs_of(family, subject, *AROUND_TF)
