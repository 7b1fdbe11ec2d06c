"""Every kernel is one word, whatever its framework calls it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch
from torch.nn import functional

import parity
from parity.frameworks.chainer_numpy import import_chainer
from parity.inputs.preprocessing import record
from parity.operations import WORDS, table

chainer = import_chainer()
F = chainer.functions
X = np.random.default_rng(0).standard_normal((3, 4)).astype("f")
SAME: dict[str, tuple[Any, Any, Any]] = {
    "add": (lambda x: x + x, lambda x: x + x, lambda x: x + x),
    "multiply": (lambda x: x * 2.5, lambda x: x * 2.5, lambda x: x * 2.5),
    "divide": (lambda x: x / x, lambda x: x / x, lambda x: x / x),
    "relu": (torch.relu, tf.nn.relu, F.relu),
    "softmax": (
        lambda x: torch.softmax(x, -1),
        tf.nn.softmax,
        lambda x: F.softmax(x, axis=-1),
    ),
    "leaky_relu": (functional.leaky_relu, tf.nn.leaky_relu, F.leaky_relu),
    "abs": (torch.abs, tf.abs, F.absolute),
    "sum": (
        lambda x: x.sum(1),
        lambda x: tf.reduce_sum(x, 1),
        lambda x: F.sum(x, axis=1),
    ),
    "mean": (
        lambda x: x.mean(1),
        lambda x: tf.reduce_mean(x, 1),
        lambda x: F.mean(x, axis=1),
    ),
    "max": (
        lambda x: x.amax(1),
        lambda x: tf.reduce_max(x, 1),
        lambda x: F.max(x, axis=1),
    ),
    "matmul": (
        lambda x: x @ x.T,
        lambda x: x @ tf.transpose(x),
        lambda x: F.matmul(x, x, transb=True),
    ),
    "transpose": (lambda x: x.T, tf.transpose, F.transpose),
}


@pytest.mark.parametrize("word", SAME)
def test_three_frameworks_have_one_word(word: str) -> None:
    frameworks = ("torch", "tensorflow", "chainer")
    for function, framework in zip(SAME[word], frameworks, strict=True):
        model = parity.wrap(function, framework=framework)
        assert word in {op.word for op in record(model, X).ops}, framework


def test_what_is_none_of_the_words_keeps_its_own() -> None:
    tape = record(parity.wrap(torch.atanh, framework="torch"), X / 10)
    assert [op.word for op in tape.ops] == ["atanh"] and "atanh" not in WORDS


def test_a_word_that_is_none_or_a_kernel_under_two_words_is_refused() -> None:
    with pytest.raises(ValueError, match="'adds' is no word"):
        table({"adds": "add"})
    with pytest.raises(ValueError, match="'add' is both 'add' and 'multiply'"):
        table({"add": "add", "multiply": "add"})
