"""A convolution, a pool, a padding and a product read the same in every framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch
from torch.nn import functional

import parity
from parity.frameworks.chainer_numpy import import_chainer
from parity.inputs.preprocessing import record
from parity.tape import Op, Tape

chainer = import_chainer()
F = chainer.functions
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 4, 9, 8)).astype("f")
KERNEL = RANDOM.standard_normal((6, 4, 3, 3)).astype("f")
BACK = RANDOM.standard_normal((4, 6, 3, 3)).astype("f")
DEPTHWISE = RANDOM.standard_normal((8, 1, 3, 3)).astype("f")


def keras(kernel: Any) -> Any:
    return tf.constant(kernel.transpose(2, 3, 1, 0))


CONVOLUTIONS: dict[str, tuple[Any, tuple[Callable[[Any], Any], ...]]] = {
    "strides and padding": (
        KERNEL,
        (
            lambda x: functional.conv2d(x, torch.tensor(KERNEL), stride=2, padding=1),
            lambda x: tf.nn.conv2d(x, keras(KERNEL), 2, [[0, 0], [1, 1], [1, 1], [0, 0]]),
            lambda x: F.convolution_2d(x, KERNEL, stride=2, pad=1),
        ),
    ),
    "dilated": (
        KERNEL,
        (
            lambda x: functional.conv2d(x, torch.tensor(KERNEL), dilation=2),
            lambda x: tf.nn.conv2d(x, keras(KERNEL), 1, "VALID", dilations=2),
            lambda x: F.convolution_2d(x, KERNEL, dilate=2),
        ),
    ),
    "transposed": (
        BACK,
        (
            lambda x: functional.conv_transpose2d(x, torch.tensor(BACK), stride=2),
            lambda x: tf.nn.conv2d_transpose(x, keras(BACK), (2, 19, 17, 6), 2, "VALID"),
            lambda x: F.deconvolution_2d(x, BACK, stride=2),
        ),
    ),
    "depthwise": (
        DEPTHWISE,
        (
            lambda x: functional.conv2d(x, torch.tensor(DEPTHWISE), groups=4),
            lambda x: tf.nn.depthwise_conv2d(
                x,
                tf.constant(DEPTHWISE.reshape(4, 2, 3, 3).transpose(2, 3, 0, 1)),
                (1, 1, 1, 1),
                "VALID",
            ),
            lambda x: F.convolution_2d(x, DEPTHWISE, groups=4),
        ),
    ),
}
POOL = (
    lambda x: functional.max_pool2d(x, (3, 2), stride=2),
    lambda x: tf.nn.max_pool2d(x, (3, 2), 2, "VALID"),
    lambda x: F.max_pooling_2d(x, (3, 2), stride=2, cover_all=False),
)
PADDING = (
    lambda x: functional.pad(x, (1, 2, 0, 3)),
    lambda x: tf.pad(x, ((0, 0), (0, 3), (1, 2), (0, 0))),
    lambda x: F.pad(x, ((0, 0), (0, 0), (0, 3), (1, 2)), "constant"),
)


def recorded(functions: Any) -> list[Tape]:
    frameworks = ("torch", "tensorflow", "chainer")
    inputs = (X, X.transpose(0, 2, 3, 1).copy(), X)
    return [
        record(parity.wrap(function, framework=framework), own)
        for function, framework, own in zip(functions, frameworks, inputs, strict=True)
    ]


def last(tape: Tape, *words: str) -> Op:
    return [op for op in tape.ops if op.word in words][-1]


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_read_alike(name: str) -> None:
    kernel, functions = CONVOLUTIONS[name]
    found = []
    for tape in recorded(functions):
        op = last(tape, "convolution", "depthwise_convolution", "transposed_convolution")
        window = tape.window(op)
        assert window is not None and window.weight is not None
        held = tape.adapter.to_numpy(tape.replay().get(window.weight))
        np.testing.assert_array_equal(window.arranged(held), kernel)
        found.append((window.geometry, window.groups, window.transposed))
    assert found[0] == found[1] == found[2]


def test_pools_and_paddings_read_alike() -> None:
    geometries, pads = [], []
    for tape in recorded(POOL):
        window = tape.window(last(tape, "max_pool"))
        assert window is not None
        geometries.append(window.geometry)
    assert geometries[0] == geometries[1] == geometries[2]
    for tape in recorded(PADDING):
        op = last(tape, "pad")
        padding = tape.padding(op)
        assert padding is not None and padding.mode == "zeros"
        channel = tape.adapter.TRAITS.channel_axis(op, 4)
        pads.append([pad for axis, pad in enumerate(padding.pads) if axis not in (0, channel)])
    assert pads[0] == pads[1] == pads[2] == [(0, 3), (1, 2)]


def test_products_read_alike() -> None:
    weight = RANDOM.standard_normal((5, 8)).astype("f")
    bias = np.ones(5, "f")
    for tape in recorded(
        (
            lambda x: functional.linear(x[0, 0], torch.tensor(weight), torch.tensor(bias)),
            lambda x: tf.matmul(x[0, :, :, 0], tf.constant(weight), transpose_b=True),
            lambda x: F.matmul(x[0, 0], chainer.Variable(weight), transb=True),
        )
    ):
        product = tape.product(last(tape, "dense", "matmul"))
        assert product is not None
        run = tape.replay()
        one, other = (
            array.T if swapped else array
            for array, swapped in zip(map(run.array, product.factors), product.transposed,
                                      strict=True)
        )  # fmt: skip
        np.testing.assert_allclose(other, weight.T)
        whole = one @ other + (0 if product.bias is None else run.array(product.bias))
        np.testing.assert_allclose(whole, run.array(tape.ops[-1].outputs[0]), rtol=1e-5)
