"""An input that one model alone reads: the models agree on the values that were given there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from parity.report.report import Report

draw = np.random.default_rng(4)
STEPS = draw.normal(size=(5, 7, 3)).astype("f")
ONES = np.ones((5, 7), "f")
WEIGHT = draw.normal(size=(3, 4)).astype("f")

Model = Callable[..., Any]


def masked(x: Any, mask: Any) -> Any:
    kept = mask[..., None]
    return torch.tanh((x * kept).sum(1) / kept.sum(1) @ torch.from_numpy(WEIGHT))


def masked_too(x: Any, mask: Any) -> Any:
    kept = mask[..., None]
    return tf.tanh(tf.matmul(tf.reduce_sum(x * kept, 1) / tf.reduce_sum(kept, 1), WEIGHT))


def averaged(x: Any, mask: Any) -> Any:
    return tf.tanh(tf.matmul(tf.reduce_mean(x, 1), WEIGHT))


def read_by_the_host(x: Any, mask: Any) -> Any:
    count = int(mask.numpy().sum(1).min())  # no operation reads it
    return tf.tanh(tf.matmul(tf.reduce_mean(x[:, :count], 1), WEIGHT))


def in_numpy(x: Any, mask: Any) -> Any:
    kept = mask[..., None]
    return np.tanh((x * kept).sum(1) / kept.sum(1) @ WEIGHT)


def averaged_in_numpy(x: Any, mask: Any) -> Any:
    return np.tanh(x.mean(1) @ WEIGHT)


def compared(candidate: Model, framework: str = "tensorflow", mask: Any = ONES) -> Report:
    return parity.compare(
        parity.wrap(masked, framework="torch", name="net"),
        parity.wrap(candidate, framework=framework, name="port"),
        inputs={"x": STEPS, "mask": mask},
    )


def said(report: Report) -> str:
    return " ".join(str(report).split())


@pytest.mark.parametrize(
    ("candidate", "framework"), [(averaged, "tensorflow"), (averaged_in_numpy, "numpy")]
)
def test_a_mask_of_ones_that_is_never_read_is_not_verified(
    candidate: Model, framework: str
) -> None:
    report = compared(candidate, framework)
    assert report.verdict == "unverified"
    assert "input 'mask' changes the outputs of net, and not those of port" in said(report)


@pytest.mark.parametrize(
    ("candidate", "framework"),
    [(masked_too, "tensorflow"), (in_numpy, "numpy"), (read_by_the_host, "tensorflow")],
)
def test_what_is_read_in_any_way_is_no_doubt(candidate: Model, framework: str) -> None:
    assert compared(candidate, framework).verdict == "parity"


def test_where_it_shows_it_is_a_divergence() -> None:
    mask = (np.arange(7) < np.array([7, 3, 5, 2, 6])[:, None]).astype("f")
    assert compared(averaged, mask=mask).verdict == "diverged"
    assert compared(masked_too, mask=mask).verdict == "parity"


@pytest.mark.parametrize("lengths", [[7, 3, 5, 2, 6], [7, 7, 7, 7, 7]])
@pytest.mark.parametrize("both", [True, False])
def test_lengths_in_one_and_a_mask_in_the_other_say_the_same(lengths: Any, both: bool) -> None:
    def by_lengths(x: Any, lengths: Any, mask: Any) -> Any:
        found = masked(x, (torch.arange(7) < lengths[:, None]).float())
        return found + mask.mean() if both else found

    def by_mask(x: Any, lengths: Any, mask: Any) -> Any:
        return masked_too(x, mask) + (tf.reduce_mean(mask) if both else 0.0)

    report = parity.compare(
        parity.wrap(by_lengths, framework="torch", name="net"),
        parity.wrap(by_mask, framework="tensorflow", name="port"),
        inputs={
            "x": STEPS,
            "lengths": np.array(lengths),
            "mask": (np.arange(7) < np.array(lengths)[:, None]).astype("f"),
        },
    )
    assert report.verdict == "parity"


def test_an_input_that_neither_reads_is_none() -> None:
    report = parity.compare(
        parity.wrap(lambda x, step: torch.tanh(x @ torch.from_numpy(WEIGHT)), framework="torch"),
        parity.wrap(lambda x, step: tf.tanh(tf.matmul(x, WEIGHT)), framework="tensorflow"),
        inputs=(STEPS[:, 0], np.float32(3.0)),
    )
    assert report.verdict == "parity"


def test_what_is_read_and_changes_nothing_is_not_read() -> None:
    report = parity.compare(
        parity.wrap(
            lambda x, bias: torch.tanh(x @ torch.from_numpy(WEIGHT) + 0 * bias), framework="torch"
        ),
        parity.wrap(lambda x, bias: tf.tanh(tf.matmul(x, WEIGHT)), framework="tensorflow"),
        inputs=(STEPS[:, 0], np.float32(3.0)),
    )
    assert report.verdict == "parity"


def test_a_number_that_a_port_holds_is_not_verified() -> None:
    weight, folded = torch.from_numpy(WEIGHT), np.float32(0.7) * WEIGHT
    report = parity.compare(
        parity.wrap(lambda x, beta: torch.softmax(beta * (x @ weight), 1), framework="torch"),
        parity.wrap(lambda x, beta: tf.nn.softmax(tf.matmul(x, folded)), framework="tensorflow"),
        inputs={"x": STEPS[:, 0], "beta": np.float32(0.7)},
    )
    assert report.verdict == "unverified"
    assert "input 'beta' changes" in said(report)
