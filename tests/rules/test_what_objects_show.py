"""What containers, tensors and objects show beside their items counts as any other output."""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import types
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from parity.outputs.objects import shown_beside
from tests.rules.test_outputs_are_all_compared import (
    CROSS,
    Build,
    compared,
    in_tensorflow,
    in_torch,
)


class Pair(NamedTuple):
    q: Any
    factor: Any

    @property
    def best(self) -> Any:
        return self.factor * self.q


class Named(dict[str, Any]):
    def __init__(self, q: Any, factor: float) -> None:
        super().__init__(q=q)
        self.best = factor * q
        self.q = q  # as an item and as an attribute: one output


class Listed(list[Any]):
    def __init__(self, q: Any, factor: float) -> None:
        super().__init__([q])
        self._factor = factor

    @property
    def best(self) -> Any:
        return self._factor * self[0]


class Cached:
    def __init__(self, q: Any, factor: float) -> None:
        self.q, self._factor = q, factor

    @functools.cached_property
    def best(self) -> Any:
        return self._factor * self.q


@dataclasses.dataclass
class Undeclared:
    q: Any
    factor: dataclasses.InitVar[float]

    def __post_init__(self, factor: float) -> None:
        self.best = factor * self.q


class Mirrored:
    """A property makes another object of the class, which has the property too."""

    def __init__(self, q: Any, factor: float) -> None:
        self.q, self._factor = q, factor

    @property
    def mirrored(self) -> Any:
        return Mirrored(self._factor * self.q, self._factor)


class Tree:
    """An object that holds others of its class, and asks of each."""

    def __init__(self, q: Any, factor: float, depth: int = 2) -> None:
        self.q, self._factor = q, factor if depth == 0 else 1.0
        self.below = Tree(q, factor, depth - 1) if depth else None

    @property
    def scaled(self) -> Any:
        return self._factor * self.q


@pytest.mark.parametrize("kind", [Pair, Named, Listed, Cached, Undeclared, Mirrored, Tree])
def test_what_is_shown_counts(kind: Any) -> None:
    reference = in_torch(lambda h: kind(h, 1.0))
    assert compared(reference, in_tensorflow(lambda h: kind(h, 1.0))).verdict == "parity"
    assert compared(reference, in_tensorflow(lambda h: kind(h, 1.01))).verdict == "diverged"


def test_a_container_shows_nothing_twice_and_a_librarys_no_more_than_its_items() -> None:
    q = np.zeros(3)
    assert list(shown_beside(Named(q, 2.0), [q])) == ["best"]
    assert shown_beside(torch.nn.ParameterDict({"q": torch.zeros(3)}), []) == {}


def test_a_tensor_shows_the_tensors_that_hang_on_it() -> None:
    def hung(factor: float) -> Build:
        def build(h: Any) -> Any:
            h = 2 * h
            h.attention, h.source = {"first": factor * h}, "here"
            return h

        return build

    assert compared(in_torch(hung(1.0)), in_torch(hung(1.0))).verdict == "parity"
    assert compared(in_torch(hung(1.0)), in_torch(hung(1.01))).verdict == "diverged"
    assert compared(in_torch(hung(1.0)), in_tensorflow(lambda h: 2 * h)).verdict == "unverified"


def test_a_function_of_an_object_counts_by_what_it_was_made_with() -> None:
    def held(decay: float) -> Build:
        return lambda h: types.SimpleNamespace(q=h, rate=lambda step: decay**step)

    def other(h: Any) -> Any:
        return types.SimpleNamespace(q=h, rate=lambda step, decay=0.9: decay**step)

    assert compared(in_torch(held(0.9)), in_tensorflow(held(0.9))).verdict == "parity"
    for build in (held(0.99), other):
        found = compared(in_torch(held(0.9)), in_tensorflow(build))
        assert found.verdict == "unverified"
        assert "rate" in found.reasons[0] and "is not compared" in found.reasons[0]


def test_a_function_without_values_is_compared_with_itself_alone() -> None:
    def held(function: Any) -> Build:
        return lambda h: types.SimpleNamespace(q=h, activation=function)

    def squashed(x: Any) -> Any:
        return np.tanh(x)

    assert compared(in_torch(held(squashed)), in_tensorflow(held(squashed))).verdict == "parity"
    assert compared(in_torch(held(torch.tanh)), in_torch(held(torch.tanh))).verdict == "parity"
    pair = in_torch(held(lambda x: torch.tanh(x))), in_tensorflow(held(lambda x: np.tanh(x)))
    assert compared(*pair).verdict == "unverified"


@pytest.mark.parametrize(
    ("reference", "candidate", "verdict"),
    [
        (enum.IntEnum("Action", {"LEFT": 0}), enum.IntEnum("Action", {"LEFT": 0}), "parity"),
        (enum.IntEnum("Action", {"LEFT": 0}), enum.IntEnum("Action", {"LEFT": 1}), "diverged"),
        (enum.Enum("Action", {"LEFT": 0}), enum.Enum("Action", {"LEFT": 1}), "diverged"),
        (enum.Enum("Action", {"LEFT": "l"}), enum.Enum("Action", {"LEFT": "left"}), "diverged"),
    ],
)
def test_members_of_two_enumerations_have_one_number(
    reference: Any, candidate: Any, verdict: str
) -> None:
    pair = in_torch(lambda h: reference.LEFT), in_tensorflow(lambda h: candidate.LEFT)
    assert compared(*pair).verdict == verdict


@pytest.mark.parametrize("text", ["left", "größer"])
def test_bytes_are_the_text_that_they_are(text: str) -> None:
    import tensorflow as tf

    reference = in_torch(lambda h: text)
    for build in (lambda h: tf.constant(text), lambda h: text.encode()):
        assert compared(reference, in_tensorflow(build)).verdict == "parity"
    wrong = in_tensorflow(lambda h: tf.constant(f"{text}s"))
    assert compared(reference, wrong).verdict == "diverged"
    no_text = in_tensorflow(lambda h: b"\xff")
    assert compared(in_torch(lambda h: b"\xff"), no_text).verdict == "parity"
    assert compared(reference, no_text).verdict == "diverged"


def test_an_output_that_changes_from_run_to_run_is_not_compared() -> None:
    ticks = itertools.count(1)

    def taken(h: Any) -> float:
        return float(next(ticks))

    assert compared(in_torch(taken), in_tensorflow(taken)).verdict == "unverified"
    constant = compared(in_torch(lambda h: 1.0), in_tensorflow(lambda h: 2.0))
    assert constant.verdict == "diverged"


@pytest.mark.parametrize("build", [in_torch, in_tensorflow])
def test_a_small_number_of_the_hosts_counts_beside_large_ones(build: Any) -> None:
    prices = np.array([2.0, 3.0, 5.0, 7.0, 11.0, 60000.0])

    def table(first: float) -> Build:
        return lambda h: prices * np.array([first, 1, 1, 1, 1, 1])

    assert compared(build(table(1.0)), build(table(1.0))).verdict == "parity"
    assert compared(build(table(1.0)), build(table(1 + 1e-12))).verdict == "parity"
    assert compared(build(table(1.0)), build(table(1.0005))).verdict == "unverified"
    assert compared(build(table(1.0)), build(lambda h: 1.1 * prices)).verdict == "diverged"


def test_what_is_all_rounding_beside_the_rest_is_rounding() -> None:
    def noise(size: float) -> Build:
        return lambda h: np.array([1.0, 2.0, 3.0, size])

    assert compared(in_torch(noise(1e-9)), in_tensorflow(noise(1e-9))).verdict == "parity"
    # a constant of the host's has no rounding that could be measured
    assert compared(in_torch(noise(1e-9)), in_tensorflow(noise(-3e-9))).verdict == "unverified"


def test_settings_are_as_they_were() -> None:
    assert "slots" in CROSS
    plain = in_torch(lambda h: types.SimpleNamespace(q=h, n_actions=3))
    without = in_tensorflow(lambda h: types.SimpleNamespace(q=h))
    assert compared(plain, without).verdict == "parity"
