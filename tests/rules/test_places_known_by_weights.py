"""Places that the weights show: another value is read by the same layers, or other layers do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf
import torch
from torch.nn.functional import layer_norm

import parity
from parity.findings import Cause
from parity.report.report import Report

draw = np.random.default_rng(29)
X = draw.standard_normal((5, 4, 6)).astype("f")
FIRST, QUERY, KEY, VALUE, LAST = (draw.standard_normal((6, 6)).astype("f") / 2 for _ in range(5))
GAIN, SHIFT = draw.uniform(0.5, 1.5, 6).astype("f"), draw.standard_normal(6).astype("f")
BLOCKS = [
    [draw.standard_normal(shape).astype("f") / 2 for shape in ((6, 8), (8,), (8, 6), (6,))]
    for _ in range(3)
]


def compared(reference: Callable[..., object], candidate: Callable[..., object]) -> Report:
    return parity.compare(
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="tensorflow"),
        inputs=X,
    )


def causes(report: Report) -> list[Cause]:
    found = [one.cause for one in report.divergences]
    assert report.verdict == "diverged" and None not in found
    return [one for one in found if one is not None]


# --- the same layers read another value -----------------------------------------------------------


def attended(x: torch.Tensor) -> torch.Tensor:
    h = torch.relu(x @ torch.from_numpy(FIRST))
    q, k, v = (torch.tanh(h @ torch.from_numpy(one)) for one in (QUERY, KEY, VALUE))
    return torch.softmax(q @ k.transpose(1, 2), -1) @ v


def attended_in_tf(x: tf.Tensor, read: Callable[..., tf.Tensor]) -> tf.Tensor:
    h = read(x, tf.nn.relu(x @ FIRST))
    q, k, v = (tf.tanh(h @ one) for one in (QUERY, KEY, VALUE))
    return tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True)), v)


def test_layers_of_another_value_are_each_a_place() -> None:
    assert compared(attended, lambda x: attended_in_tf(x, lambda x, h: h)).verdict == "parity"
    found = causes(compared(attended, lambda x: attended_in_tf(x, lambda x, h: x)))
    assert {(one.kind, one.confirmed) for one in found} == {("wrong-source", True)}


# --- other layers ---------------------------------------------------------------------------------


def of_blocks(x: torch.Tensor) -> torch.Tensor:
    for a, b, c, d in BLOCKS:
        h = torch.relu(x @ torch.from_numpy(a) + torch.from_numpy(b))
        x = x + (h @ torch.from_numpy(c) + torch.from_numpy(d))
    return x


def of_these(x: tf.Tensor, blocks: list[list[np.ndarray]]) -> tf.Tensor:
    for a, b, c, d in blocks:
        x = x + (tf.nn.relu(x @ a + b) @ c + d)
    return x


def test_one_block_in_the_place_of_two() -> None:
    assert compared(of_blocks, lambda x: of_these(x, BLOCKS)).verdict == "parity"
    twice = [BLOCKS[1], BLOCKS[1], BLOCKS[2]]
    found = causes(compared(of_blocks, lambda x: of_these(x, twice)))
    assert {one.kind for one in found} == {"weight-swapped"}


def test_without_its_weights_a_block_seems_to_be_missing(monkeypatch) -> None:
    monkeypatch.setattr(
        "parity.diagnosis.cut_search.are_layers_of_other_weights", lambda *arguments: False
    )
    report = compared(of_blocks, lambda x: of_these(x, [BLOCKS[1], BLOCKS[1], BLOCKS[2]]))
    kinds = {one.cause and one.cause.kind for one in report.divergences}
    assert kinds != {"weight-swapped"}


# --- a norm before the block, or behind its sum --------------------------------------------------


def normed_in_tf(x: tf.Tensor) -> tf.Tensor:
    mean = tf.reduce_mean(x, -1, keepdims=True)
    squares = tf.math.squared_difference(x, mean)
    spread = tf.math.rsqrt(tf.reduce_mean(squares, -1, keepdims=True) + 1e-5)
    return x * (spread * GAIN) + (SHIFT - mean * (spread * GAIN))


def behind_the_sum(x: torch.Tensor) -> torch.Tensor:
    weights = torch.from_numpy(GAIN), torch.from_numpy(SHIFT)
    return layer_norm(
        x + torch.relu(x @ torch.from_numpy(FIRST)), (6,), *weights
    ) @ torch.from_numpy(LAST)


def test_a_norm_that_stands_before_its_block() -> None:
    right = compared(behind_the_sum, lambda x: normed_in_tf(x + tf.nn.relu(x @ FIRST)) @ LAST)
    assert right.verdict == "parity"
    (found,) = causes(
        compared(behind_the_sum, lambda x: (x + tf.nn.relu(normed_in_tf(x) @ FIRST)) @ LAST)
    )
    assert (found.kind, found.confirmed) == ("op-order", True)
