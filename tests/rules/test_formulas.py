"""What no narrower cause describes is stated as two formulas, each of which computes its side."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from parity.findings import Cause
from tests.rules.pairs import compare, kinds

draw = np.random.default_rng(54)
A, B = (draw.standard_normal((4, 5, 6)).astype("f") for _ in range(2))
WEIGHT = draw.standard_normal((6, 6)).astype("f")

# What the words of a formula mean to NumPy.
MEANT: dict[str, Any] = {
    **{name: getattr(np, name) for name in ("tanh", "exp", "sqrt")},
    **{name: getattr(np, name) for name in ("transpose", "reshape", "where", "abs", "maximum")},
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "concatenate": lambda *arrays, axis: np.concatenate(arrays, axis),
}
for reduction in (np.sum, np.mean, np.max, np.min):
    # frameworks keep the axis or drop it; what stays is broadcast alike
    MEANT[reduction.__name__] = partial(reduction, keepdims=True)


def stated(*models: Callable[..., Any], inputs: tuple[Any, ...] = (A, B)) -> Cause:
    """The one cause of two torch models, which is the two formulas."""
    report = compare(*models, inputs=inputs)
    assert kinds(report) == ["different-formula"], str(report)
    (found,) = report.divergences
    assert found.cause is not None
    return found.cause


def computed(text: str, cause: Cause, inputs: tuple[Any, ...] = (A, B)) -> Any:
    """A formula, read as Python, of the inputs that its letters stand for."""
    letters = dict(fact.split(": ", 1) for fact in cause.evidence)
    given = {
        letter: inputs[int(said.split("'")[1])]
        for letter, said in letters.items()
        if said.startswith("the input")
    }
    return eval(re.sub(r"(?<=[a-z])'", "", text), {**MEANT, **given})


PAIRS: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda a, b: a - b * torch.exp(a), lambda a, b: (a - b) ** 2 / (1 + b * b)),
    (lambda a, b: 2 * a / (3 + b * b), lambda a, b: -torch.tanh(a * b) - (b - a)),
    (lambda a, b: a * (b.sum(-1, keepdim=True) + 1), lambda a, b: a.mean(1, keepdim=True) - b),
    (lambda a, b: torch.where(a > b, a * b, b), lambda a, b: 1 - a / (2 - torch.sigmoid(b))),
    (lambda a, b: a[:, 1:3] * b[:, ::4], lambda a, b: (a * b)[:, 2:4] - 0.5),
    (lambda a, b: torch.maximum(a, b).amax(2), lambda a, b: (a.abs() + b).sum(2) / 7),
]


@pytest.mark.parametrize("reference, candidate", PAIRS)
def test_each_formula_computes_what_its_side_gives(reference, candidate) -> None:
    cause = stated(reference, candidate)
    for model, text in zip((reference, candidate), cause.parameters["formula"], strict=True):
        wanted = model(torch.from_numpy(A), torch.from_numpy(B)).numpy()
        np.testing.assert_allclose(np.squeeze(computed(text, cause)), wanted, 1e-4, 1e-5)


def test_only_what_differs_is_written_out() -> None:
    """What comes before and behind on both sides is none of it."""
    first = torch.from_numpy(WEIGHT)

    def model(a: torch.Tensor, b: torch.Tensor, wrong: bool) -> torch.Tensor:
        h, g = torch.tanh(a @ first), torch.sigmoid(b @ first)
        term = (h / (1 + g)).sum(-1, keepdim=True) if wrong else torch.exp(h * g).mean(-1, True)
        return torch.softmax((a + term) @ first, -1)

    cause = stated(lambda a, b: model(a, b, False), lambda a, b: model(a, b, True))
    assert cause.parameters["formula"] == (
        "mean(exp(a * b), axis=-1)",
        "sum(a / (b + 1), axis=-1)",
    )
    assert [fact.split(",")[0] for fact in cause.evidence] == [
        f"a: the result of tanh (test_formulas.py:{_line('torch.tanh(a @ first)')})",
        f"b: the result of sigmoid (test_formulas.py:{_line('torch.sigmoid(b @ first)')})",
    ]


def _line(code: str) -> int:
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if code in line)


def test_the_names_are_the_same_in_two_frameworks() -> None:
    report = parity.compare(
        parity.wrap(lambda a, b: a * torch.exp(b).sum(1, keepdim=True), framework="torch"),
        parity.wrap(lambda a, b: b * tf.exp(a) + a, framework="tensorflow"),
        inputs=(A, B),
    )
    assert kinds(report) == ["different-formula"]
    cause = report.divergences[0].cause
    assert cause is not None
    assert cause.parameters["formula"] == ("a * sum(exp(b), axis=1)", "b * exp(a) + a")


def test_nothing_is_stated_that_is_too_long_to_be_read() -> None:
    def long(x: torch.Tensor, of: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        for factor in range(2, 14):
            x = of(x * factor + 0.1) - 1 / (3 + x * x)
        return x

    report = compare(lambda x: long(x, torch.sin), lambda x: long(x, torch.cos), inputs=A)
    assert report.verdict == "diverged" and "different-formula" not in kinds(report)


def test_a_narrower_cause_comes_first() -> None:
    report = compare(
        lambda a: torch.relu(a @ torch.from_numpy(WEIGHT)).softmax(-1),
        lambda a: torch.relu(a @ torch.from_numpy(WEIGHT)).softmax(1),
        inputs=A,
    )
    assert kinds(report) == ["softmax-axis"]
