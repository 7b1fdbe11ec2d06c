"""A caller's list is a list for each model, and names go to whatever takes any name."""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import chainer
import numpy as np
import pytest
import tensorflow as tf
import torch

import parity

X, Y = np.random.default_rng(5).normal(size=(2, 6, 3)).astype("f")
TANH = {
    "torch": torch.tanh, "tensorflow": tf.tanh, "chainer": chainer.functions.tanh, "numpy": np.tanh,
}  # fmt: skip
each_framework = pytest.mark.parametrize("framework", TANH)

ITEMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "arrays": (lambda one: one, lambda item: item),
    "dicts": (lambda one: {"x": one}, lambda item: item["x"]),
    "named tuples": (lambda one: Observed(one), lambda item: item.x),
    "tuples": (lambda one: (one, one + 1), lambda item: item[0]),
    "lists": (lambda one: [one, one + 1], lambda item: ([] + item)[0]),
}


class Observed(NamedTuple):
    x: Any


class Kind(enum.Enum):
    PLAIN, DOUBLED = 1, 2


def agents(framework: str, read: Callable[[Any], Any]) -> Any:
    """A model over a list of agents' observations, to which it adds another list."""
    tanh = TANH[framework]

    def model(seen: Any, goal: Any, names: Any, kind: Any, state: Any = None) -> Any:
        assert isinstance(seen, list) and state == [] and names == ["red", "blue"]
        factor = 2.0 if kind is Kind.DOUBLED else 1.0
        return {name: tanh(read(one)) * factor for name, one in zip(names, seen, strict=True)}, [
            tanh(one) for one in [goal, *map(read, seen)]
        ]

    return parity.wrap(model, framework=framework)


@each_framework
@pytest.mark.parametrize("items", ITEMS)
def test_a_list_stays_a_list(items: str, framework: str) -> None:
    make, read = ITEMS[items]
    given = {
        "seen": [make(X), make(Y)], "goal": X, "names": ["red", "blue"],
        "kind": Kind.DOUBLED, "state": [],
    }  # fmt: skip
    report = parity.compare(agents("torch", read), agents(framework, read), inputs=given)
    assert report.verdict == "parity", str(report)


@each_framework
@pytest.mark.parametrize("takes", ["**seen", "*args, **seen"])
def test_names_go_to_what_takes_any_name(takes: str, framework: str) -> None:
    tanh = TANH[framework]
    if takes == "**seen":

        def model(**seen: Any) -> Any:
            return tanh(seen["pos"]) * seen["vel"]
    else:

        def within(pos: Any, vel: Any) -> Any:
            return tanh(pos) * vel

        def model(*args: Any, **seen: Any) -> Any:
            return within(*args, **seen)

    def plain(pos: Any, vel: Any) -> Any:
        return torch.tanh(pos) * vel

    reference = parity.wrap(plain, framework="torch")
    candidate = parity.wrap(model, framework=framework)
    report = parity.compare(reference, candidate, inputs={"pos": X, "vel": Y})
    assert report.verdict == "parity", str(report)


@each_framework
def test_numbers_as_keys(framework: str) -> None:
    def model(tanh: Any, seen: Any) -> Any:
        return {agent: tanh(one) for agent, one in seen.items()}

    reference, candidate = (
        parity.wrap(partial(model, TANH[name]), framework=name) for name in ("torch", framework)
    )
    report = parity.compare(reference, candidate, inputs={0: X, 1: Y})
    assert report.verdict == "parity", str(report)
