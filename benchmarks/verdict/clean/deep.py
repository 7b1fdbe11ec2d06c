"""Clean pairs in which rounding grows or adds up: chaotic nets, long sums, fast convolutions."""

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

from .layers import AROUND, AROUND_TF, loaded, t
from .subject import Clean, Forms, pairs_of

F, L = chainer.functions, chainer.links
DEPTH, WIDTH = 40, 24


def chaotic_weights(rng, gain: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
    kernels = [normal(rng, WIDTH, WIDTH, scale=gain / WIDTH**0.5) for _ in range(DEPTH)]
    return kernels, [normal(rng, WIDTH, scale=0.1) for _ in range(DEPTH)]


def stacked(framework: str, kernels, biases) -> Side:
    """Dense tanh layers one after the other: `layer_0`, `layer_1` and so on in every framework."""
    sizes = [(kernel.shape[1], len(kernel)) for kernel in kernels]
    if framework == "torch":
        net = nn.Sequential()
        for number, (size, kernel, bias) in enumerate(zip(sizes, kernels, biases, strict=True)):
            net.add_module(f"layer_{number}", loaded(nn.Linear(*size), kernel, bias))
            net.add_module(f"tanh_{number}", nn.Tanh())
        return Side("torch", net.eval())
    if framework == "keras":
        net = keras.Sequential([layers.Input((sizes[0][0],))])
        for number, (_, size) in enumerate(sizes):
            net.add(layers.Dense(size, "tanh", name=f"layer_{number}"))
        net.set_weights([a.T for two in zip(kernels, biases, strict=True) for a in two])
        return Side("keras", net)

    class ChainerNet(chainer.Chain):
        def forward(self, x):
            for number in range(len(kernels)):
                x = F.tanh(self[f"layer_{number}"](x))
            return x

    net = ChainerNet()
    for number, (size, kernel, bias) in enumerate(zip(sizes, kernels, biases, strict=True)):
        net.add_link(f"layer_{number}", L.Linear(*size, initialW=kernel, initial_bias=bias))
    return Side("chainer", net)


def chaotic(rng, gain: float) -> Forms:
    """40 tanh layers; of gain 2 to 3 each makes a difference larger, up to the signal's size."""
    weights = chaotic_weights(rng, gain)
    forms = {framework: stacked(framework, *weights) for framework in ("torch", "keras", "chainer")}
    return forms, (normal(rng, 3, WIDTH),)


def chaotic_net_of_gain_2(rng) -> Forms:
    return chaotic(rng, 2.0)


def chaotic_net_of_gain_3(rng) -> Forms:
    return chaotic(rng, 3.0)


def residual_net(rng) -> Forms:
    """24 residual layers, normalized."""
    kernels = [normal(rng, 10, 10, scale=0.5) for _ in range(24)]

    def torch_form(x):
        for kernel in kernels:
            x = x + torch_f.gelu(torch_f.layer_norm(x, (10,)) @ t(kernel).T)
        return x

    def tensorflow_form(x):
        for kernel in kernels:
            mean, variance = tf.nn.moments(x, 1, keepdims=True)
            x = x + tf.nn.gelu((x - mean) / tf.sqrt(variance + 1e-5) @ kernel.T)
        return x

    def chainer_form(x):
        one, zero = np.ones(10, np.float32), np.zeros(10, np.float32)
        for kernel in kernels:
            h = F.linear(F.layer_normalization(x, one, zero, 1e-5), kernel)
            x = x + 0.5 * h * (1 + F.erf(h / 2**0.5))
        return x

    forms = {
        "torch": Side("torch", torch_form),
        "tensorflow": Side("tensorflow", tensorflow_form),
        "chainer": Side("chainer", chainer_form),
    }
    return forms, (normal(rng, 4, 10),)


LONG = 8192


def long_reduction(rng) -> Forms:
    """Products over 8,192 features: by a library, in pieces, and one after the other."""
    kernel, bias = normal(rng, 5, LONG, scale=LONG**-0.5), normal(rng, 5)
    keras_net = keras.Sequential([layers.Input((LONG,)), layers.Dense(5)])
    keras_net.set_weights([kernel.T, bias])

    def tensorflow_pieces(x):
        pieces = zip(tf.split(x, 64, 1), np.split(kernel.T, 64), strict=True)
        return tf.add_n([piece @ part for piece, part in pieces]) + bias

    def torch_in_a_row(x):
        products = x[:, None] * t(kernel)
        return products.cumsum(2)[..., -1] + t(bias)

    forms = {
        "torch": Side("torch", loaded(nn.Linear(LONG, 5), kernel, bias)),
        "keras": Side("keras", keras_net),
        "chainer": Side("chainer", L.Linear(LONG, 5, initialW=kernel, initial_bias=bias)),
        "tensorflow in pieces": Side("tensorflow", tensorflow_pieces),
        "torch in a row": Side("torch", torch_in_a_row),
    }
    return forms, (normal(rng, 3, LONG),)


def long_softmax(rng) -> Forms:
    """Softmax, mean and variance over 8,192 values."""

    def torch_form(x):
        return torch.softmax(x, 1) @ x.T, x.mean(1), x.var(1, correction=0)

    def tensorflow_form(x):
        variance = tf.math.reduce_variance(x, 1)
        return tf.matmul(tf.nn.softmax(x), x, transpose_b=True), tf.reduce_mean(x, 1), variance

    def chainer_form(x):
        x = chainer.as_variable(x)
        mean = F.mean(x, axis=1, keepdims=True)
        variance = F.mean((x - F.broadcast_to(mean, x.shape)) ** 2, axis=1)
        return F.matmul(F.softmax(x), x, transb=True), F.mean(x, axis=1), variance

    forms = {
        "torch": Side("torch", torch_form),
        "tensorflow": Side("tensorflow", tensorflow_form),
        "chainer": Side("chainer", chainer_form),
    }
    return forms, (normal(rng, 3, LONG),)


def fourier_convolution(rng) -> Forms:
    """A convolution, against a product of Fourier transforms."""
    kernel = normal(rng, 4, 3, 3, 3, scale=0.3)
    size = (12, 10)
    padded = np.zeros((4, 3, *size), np.float32)
    padded[:, :, :3, :3] = kernel

    def torch_form(x):
        return torch_f.conv2d(x, t(kernel)).relu().mean((2, 3))

    def torch_fourier(x):
        product = torch.fft.rfft2(x)[:, None] * torch.fft.rfft2(t(padded)).conj()
        y = torch.fft.irfft2(product.sum(2), s=size)[:, :, :10, :8]
        return y.relu().mean((2, 3))

    def tensorflow_fourier(x):
        x = tf.signal.rfft2d(tf.transpose(x, (0, 3, 1, 2)))
        product = x[:, None] * tf.math.conj(tf.signal.rfft2d(padded))
        y = tf.signal.irfft2d(tf.reduce_sum(product, 2), size)[:, :, :10, :8]
        return tf.reduce_mean(tf.nn.relu(y), (2, 3))

    def chainer_form(x):
        return F.mean(F.relu(F.convolution_2d(x, kernel)), axis=(2, 3))

    forms = {
        "torch": image_side("torch", torch_form),
        "torch by Fourier": image_side("torch", torch_fourier),
        "tensorflow by Fourier": image_side("tensorflow", tensorflow_fourier),
        "chainer": image_side("chainer", chainer_form),
    }
    return forms, (normal(rng, 3, 3, *size),)


def winograd_convolution(rng) -> Forms:
    """A convolution, against Winograd's F(2x2, 3x3) (Lavin and Gray 2016, section 4.1)."""
    kernel = normal(rng, 5, 3, 3, 3, scale=0.3)
    data = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], np.float32)
    filters = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float32)
    back = np.array([[1, 1, 1, 0], [0, 1, -1, -1]], np.float32)
    turned = np.einsum("ia,ocab,jb->ocij", filters, kernel, filters)

    def torch_form(x):
        return torch_f.conv2d(x, t(kernel)).relu().mean((2, 3))

    def torch_winograd(x):
        tiles = x.unfold(2, 4, 2).unfold(3, 4, 2)  # (batch, channel, row, column, 4, 4)
        tiles = t(data) @ tiles @ t(data).T
        product = torch.einsum("bcxyij,ocij->boxyij", tiles, t(turned))
        return (t(back) @ product @ t(back).T).relu().mean((2, 3, 4, 5))

    def chainer_winograd(x):
        x = chainer.as_variable(x)
        tiles = F.stack(
            [
                F.stack([x[:, :, i : i + 4, j : j + 4] for j in range(0, 8, 2)], axis=2)
                for i in range(0, 10, 2)
            ],
            axis=2,
        )
        tiles = F.einsum("ia,bcxyad,jd->bcxyij", data, tiles, data)
        product = F.einsum("bcxyij,ocij->boxyij", tiles, turned)
        y = F.einsum("ia,boxyad,jd->boxyij", back, product, back)
        return F.mean(F.relu(y), axis=(2, 3, 4, 5))

    def tensorflow_form(x):
        y = tf.nn.conv2d(x, kernel.transpose(2, 3, 1, 0).copy(), 1, "VALID")
        return tf.reduce_mean(tf.nn.relu(y), (1, 2))

    forms = {
        "torch": image_side("torch", torch_form),
        "torch by Winograd": image_side("torch", torch_winograd),
        "chainer by Winograd": image_side("chainer", chainer_winograd),
        "tensorflow": image_side("tensorflow", tensorflow_form),
    }
    return forms, (normal(rng, 3, 3, 12, 10),)


def pairs() -> Iterator[Clean]:
    for subject in (chaotic_net_of_gain_2, chaotic_net_of_gain_3):
        yield from pairs_of("chaotic, 40 layers", subject, *AROUND)
    yield from pairs_of("residual, 24 layers", residual_net, *AROUND_TF)
    yield from pairs_of(
        "long sums",
        long_reduction,
        *AROUND,
        ("torch", "tensorflow in pieces"),
        ("chainer", "torch in a row"),
    )
    yield from pairs_of("long sums", long_softmax, *AROUND_TF)
    yield from pairs_of(
        "fast convolutions",
        fourier_convolution,
        ("torch", "torch by Fourier"),
        ("torch", "tensorflow by Fourier"),
        ("chainer", "tensorflow by Fourier"),
    )
    yield from pairs_of(
        "fast convolutions",
        winograd_convolution,
        ("torch", "torch by Winograd"),
        ("tensorflow", "chainer by Winograd"),
        ("tensorflow", "torch by Winograd"),
    )
