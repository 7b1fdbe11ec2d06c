"""What is concluded without an array of an output's size is what the whole arrays show."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from parity.diagnosis import regimes
from parity.numerics import limits, slices
from parity.numerics.accounting import allowance, excess, is_accounted, share_beyond
from parity.rl.decisions import _best
from parity.tape import Array

SHAPES = [(), (1,), (7,), (40, 3), (2, 5, 4), (300, 130)]
Output = tuple[Array, Array]


def outputs(random: np.random.Generator) -> Iterator[tuple[Output, Output]]:
    """Two outputs as they ran and in float64, which differ by more or less than their rounding."""
    for shape in SHAPES:
        for distance in (0.0, 1e-8, 3e-8, 1e-7, 3e-7, 1e-6, 1e-3, 0.1):
            exact = random.normal(size=shape) * 10.0 ** random.integers(-6, 6)
            other = exact * (1 + distance * random.normal(size=shape))
            rounded = (exact * (1 + 1e-7 * random.normal(size=shape))).astype("f")
            yield (rounded, exact), (other.astype("f"), other)


def strange(random: np.random.Generator) -> Iterator[tuple[Output, Output]]:
    """The same, with values that are not finite, or may be a mask's."""
    for number in (np.nan, np.inf, -np.inf, -1e9, np.finfo("f").min, 1e9):
        for at in range(4):
            sides = [random.normal(size=(6, 5)) for _ in range(2)]
            sides = [sides[0].astype("f"), sides[0], sides[0].astype("f"), sides[0].copy()]
            sides[at][2, 3] = number
            yield (sides[0], sides[1]), (sides[2], sides[3])


@pytest.mark.parametrize("limit", [1.0, 3.0, 8.0])
@pytest.mark.parametrize("made", [outputs, strange])
def test_what_is_accounted_for_at_once_is_so_by_all_that_is_allowed(made, limit):
    seen = []
    for reference, candidate in made(np.random.default_rng(0)):
        at_once = is_accounted(reference, candidate, limit)
        seen.append(at_once)
        for moved in (None, (np.zeros(reference[1].shape),) * 2):
            for measured in (True, False):
                allowed = allowance(reference, candidate, measured, moved)
                whole = excess(reference[1], candidate[1], allowed).ratio <= limit
                assert whole or not at_once
    assert made is strange or {True, False} == set(seen)


@pytest.mark.parametrize("limit", [1.0, 8.0, 1000.0])
@pytest.mark.parametrize("made", [outputs, strange])
def test_what_is_beyond_at_once_is_so_by_all_that_is_allowed(made, limit):
    seen = []
    for reference, candidate in made(np.random.default_rng(5)):
        share = share_beyond(reference, candidate, limit)
        seen.append(share > 0)
        over = excess(reference[1], candidate[1], allowance(reference, candidate), limit=limit)
        assert share * over.size <= over.count + 1e-9
    assert made is strange or {True, False} == set(seen)


def test_what_is_no_float32_is_not_judged_at_once():
    one = np.ones((3, 4))
    assert is_accounted((one.astype("f"), one), (one.astype("f"), one), 3.0)
    assert not is_accounted((one, one), (one, one), 3.0)  # no replay measures rounding there
    whole = one.astype(int)
    assert not is_accounted((whole, whole), (whole, whole), 3.0)


def test_what_is_too_small_to_look_at_is_so_of_whole_arrays():
    seen = []
    for (ran, _), (other, _) in (
        *outputs(np.random.default_rng(1)),
        *strange(np.random.default_rng(2)),
    ):
        if ran.dtype != other.dtype:
            continue
        small = regimes._is_small(ran, other)
        gap, large = regimes._gap(*regimes._comparable(ran, other), 0.0)
        seen.append(small)
        assert not small or not (gap > large).any()
    assert {True, False} == set(seen)


def test_of_whole_numbers_every_unit_is_looked_at():
    steps = np.full((4, 3), 4_000_000.0, "f")
    other = steps + np.float32(1)
    assert regimes._is_small(steps, steps.copy())
    assert not regimes._is_small(steps, other)
    half = steps.copy()
    half[0, 0] = 0.5
    other[0, 0] = 0.5
    assert regimes._is_small(half, other)  # these are floating numbers, and a unit is rounding


@pytest.mark.parametrize("shape", [(9,), (7, 5), (6, 4, 3)])
def test_slices_in_parts_are_those_of_the_whole(monkeypatch, shape):
    random = np.random.default_rng(3)
    a, b = (random.normal(size=shape).astype("f") for _ in range(2))
    a[1], b[1] = np.nan, np.nan
    a[2], b[3] = np.inf, -np.inf
    whole = slices.by_slice(a, b)
    monkeypatch.setattr(limits, "SLICE_BLOCK", 8)
    parts = slices.by_slice(a, b)
    assert [one.shape for one in parts] == [(1,), *((size,) for size in shape)]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_best_are_those_of_a_stable_sort(count):
    random = np.random.default_rng(4)
    rows = np.round(random.normal(size=(500, 5)), 1)
    rows[random.random(rows.shape) < 0.3] = -np.inf
    sorted_ = np.argsort(-rows, axis=-1, kind="stable")[:, :count]
    np.testing.assert_array_equal(_best(rows, count), sorted_)
