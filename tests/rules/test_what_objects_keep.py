"""Values that an object keeps to itself, and data that is no leaf: keys, units, sparse entries."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch

import parity
from parity.outputs import flatten as outputs
from parity.outputs import tensors
from tests.rules.test_outputs_are_all_compared import Build, X, compared, in_tensorflow, in_torch


class Getter:
    """A value behind a method."""

    def __init__(self, q: Any, value: Any) -> None:
        self.q, self._value = q, value

    def value(self) -> Any:
        return self._value


class Store:
    """Asked for like a dict, and none."""

    def __init__(self, **items: Any) -> None:
        self._items = items

    def __getitem__(self, key: str) -> Any:
        return self._items[key]


class Slot:
    __slots__ = ("__value", "q")

    def __init__(self, q: Any, value: Any) -> None:
        self.q, self.__value = q, value

    def value(self) -> Any:
        return self.__value


class Lazily:
    def __init__(self, q: Any, factor: float) -> None:
        self.q, self.__factor = q, factor

    def __getattr__(self, name: str) -> Any:
        if name == "best":
            return self.__factor * self.q
        raise AttributeError(name)


class Shape:
    """A property that reads the attribute, and does not show it."""

    def __init__(self, q: Any, value: Any) -> None:
        self.q, self._value = q, value

    @property
    def shape(self) -> Any:
        return self._value.shape


@pytest.mark.parametrize(
    "build",
    [
        lambda h, k: Getter(h, k * h),
        lambda h, k: {"stored": Store(best=k * h), "h": h},
        lambda h, k: Slot(h, k * h),
        lambda h, k: Getter(h, [{"deep": types.SimpleNamespace(value=k * h)}]),
        lambda h, k: Getter(h, np.asarray(k * h)),
        lambda h, k: Shape(h, k * h),
        Lazily,
        lambda h, k: Getter(h, k),
        lambda h, k: Getter(h, {"steps": int(k * 100)}),
    ],
    ids="getter dict slots deep array shape on-demand float int".split(),
)
def test_numbers_that_nothing_public_shows_are_not_compared(build: Any) -> None:
    found = compared(in_torch(lambda h: build(h, 1.0)), in_tensorflow(lambda h: build(h, 1.1)))
    assert found.verdict == "unverified"
    assert "which is not compared" in found.reasons[0]


class Shown:
    """Keeps its tensors privately, and shows each."""

    def __init__(self, logits: Any, scale: float) -> None:
        self._logits, self._scale, self._name = logits, scale, type(logits).__name__
        self._all = {"logits": logits}
        self.same = logits

    @property
    def odds(self) -> Any:
        return [self._scale * one for one in (self._logits,)]


class Batch(Mapping[str, Any]):
    def __init__(self, **items: Any) -> None:
        self._items = items

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Any:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


class OwnNormal(torch.distributions.MultivariateNormal):
    """What a library's class keeps for itself is the library's."""


class Counts:
    def __init__(self, q: Any, **private: Any) -> None:
        self.q = q
        vars(self).update(private)


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (lambda h: Shown(h, 2.0), lambda h: Shown(h, 2.0)),
        (lambda h: Batch(h=h, k=0.5), lambda h: Batch(h=h, k=0.5)),
        (lambda h: Batch(h=h.numpy()), lambda h: Batch(h=torch.from_numpy(h.numpy()))),
        (lambda h: OwnNormal(h, torch.eye(3)).loc, lambda h: h),
        (lambda h: Counts(h, _steps=3), lambda h: Counts(h)),
        (lambda h: Counts(h, _eps=1e-6), lambda h: Counts(h, _eps=1e-6)),
        (lambda h: Counts(h, _name="torch"), lambda h: Counts(h, _name="tf")),
    ],
    ids="properties mapping foreign library count equal text".split(),
)
def test_what_is_shown_or_equal_is_no_hindrance(reference: Build, candidate: Build) -> None:
    assert compared(in_torch(reference), in_tensorflow(candidate)).verdict == "parity"


def test_a_class_derived_from_a_librarys_keeps_what_the_library_keeps() -> None:
    found = outputs.flatten(OwnNormal(torch.zeros(3), torch.eye(3)), torch.is_tensor)
    assert "loc" in found and not found.others.keys() & {"_unbroadcasted_scale_tril"}


@pytest.mark.parametrize(
    ("reference", "candidate", "verdict"),
    [
        (lambda h: {10: h, 20: 2 * h}, lambda h: {20: 2 * h, 10: h}, "parity"),
        (lambda h: {10: h, 20: 2 * h}, lambda h: {11: h, 21: 2 * h}, "unverified"),
        (lambda h: {"10": h, "20": 2 * h}, lambda h: {"11": h, "21": 2 * h}, "unverified"),
        (lambda h: {(1, 2): h}, lambda h: {(2, 1): h}, "unverified"),
        (lambda h: {0.5: "a"}, lambda h: {0.9: "a"}, "unverified"),
        (lambda h: [h, 2 * h], lambda h: {0: h, 1: 2 * h}, "parity"),
    ],
    ids=["order", "ids", "ids as text", "places", "of texts", "as a list"],
)
def test_a_number_as_a_key_is_data(reference: Build, candidate: Build, verdict: str) -> None:
    assert compared(in_torch(reference), in_tensorflow(candidate)).verdict == verdict


@pytest.mark.parametrize(("first", "verdict"), [(10, "parity"), (11, "unverified")])
def test_outputs_without_a_common_name_are_paired_in_order(first: int, verdict: str) -> None:
    def model(names: tuple[str, str], first: int) -> Any:
        return lambda x: {names[0]: {first: 3 * x, 20: 2 * x}, names[1]: [x]}

    reference = parity.wrap(model(("hidden", "rest"), 10), framework="torch")
    candidate = parity.wrap(model(("h", "others"), first), framework="tensorflow")
    assert parity.compare(reference, candidate, inputs=X).verdict == verdict


class Quantity(float):
    unit = ""


class Label(str):
    score = 0.0


def quantity(kind: Any, value: Any, **attributes: Any) -> Build:
    def build(h: Any) -> Any:
        found = kind(value)
        vars(found).update(attributes)
        return found

    return build


@pytest.mark.parametrize(
    ("right", "faulty"),
    [
        (quantity(Quantity, 3.5, unit="m/s"), quantity(Quantity, 3.5, unit="km/h")),
        (quantity(Quantity, 3.5, error=0.1), quantity(Quantity, 3.5, error=0.2)),
        (quantity(Label, "left", score=0.5), quantity(Label, "left", score=0.7)),
    ],
    ids=["unit", "error", "label"],
)
def test_a_number_or_a_text_shows_its_attributes(right: Build, faulty: Build) -> None:
    assert compared(in_torch(right), in_tensorflow(right)).verdict == "parity"
    assert compared(in_torch(right), in_tensorflow(faulty)).verdict == "diverged"


def sparse(kind: Any, order: list[int], factor: float = 1.0) -> Build:
    entries, rows, columns = np.array([0.5, 1, 1.5, 2]), np.array([0, 1, 2, 2]), np.arange(4)

    def build(h: Any) -> Any:
        entry = entries * [1, 1, 1, factor]
        made = scipy.sparse.coo_array((entry[order], (rows[order], columns[order])), (3, 4))
        return kind(made)

    return build


@pytest.mark.parametrize("dense", [1 << 24, 0])
def test_a_sparse_array_of_scipy_is_what_it_stands_for(
    dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tensors, "DENSE", dense)
    kinds = scipy.sparse.coo_array, scipy.sparse.csr_matrix, scipy.sparse.lil_array
    reference = in_torch(sparse(kinds[0], [0, 1, 2, 3]))
    for kind in kinds:
        right, faulty = (sparse(kind, [3, 1, 0, 2], factor) for factor in (1, 1.1))
        assert compared(reference, in_tensorflow(right)).verdict == "parity"
        assert compared(reference, in_tensorflow(faulty)).verdict == "diverged"
