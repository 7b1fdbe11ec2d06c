"""Fingerprints: no permutation changes them, no difference escapes, few values prove nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from parity.matching.fingerprint import Index, fingerprint
from parity.matching.limits import NEAR, SAME

draw = np.random.default_rng(6)
floats = arrays.arrays(
    np.float64,
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    elements=st.floats(-1000, 1000, width=32) | st.sampled_from([np.nan, np.inf, -np.inf]),
)


@given(floats, st.randoms(use_true_random=False))
def test_no_permutation_changes_it(array: np.ndarray, random: object) -> None:
    order = list(range(array.size))
    random.shuffle(order)  # type: ignore[attr-defined]
    one, other = fingerprint(array), fingerprint(array.ravel()[order])
    assert one.agrees(other, SAME) and one.masks == other.masks
    assert one.informative == other.informative
    transposed = fingerprint(array.T)
    assert transposed.agrees(one, SAME)


@pytest.mark.parametrize("layout", ["C", "F"])
def test_it_reads_any_memory_layout_alike(layout: str) -> None:
    array = draw.standard_normal((7, 8, 9))
    other = np.asarray(array, order=layout)[:, ::-1][::1]
    assert fingerprint(array).agrees(fingerprint(other), SAME)
    every_second = np.repeat(array, 2, axis=2)[..., ::2]
    assert fingerprint(array).agrees(fingerprint(every_second), SAME)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_a_difference_beyond_the_tolerance_disagrees(gap: float) -> None:
    array = draw.standard_normal((30, 20))
    assert fingerprint(array).agrees(fingerprint(array * (1 + gap / 3)), gap)
    assert not fingerprint(array).agrees(fingerprint(array * (1 + 3 * gap)), gap)
    shifted = array + 3 * gap * np.sqrt(np.mean(array**2))
    assert not fingerprint(array).agrees(fingerprint(shifted), gap)


def test_size_masks_and_kind_must_be_the_same() -> None:
    array = draw.integers(-9, 9, 40).astype(float)
    with_nan, with_infinity = array.copy(), array.copy()
    with_nan[3], with_infinity[3] = np.nan, np.inf
    prints = [
        fingerprint(one)
        for one in (array, array[1:], with_nan, with_infinity, -with_infinity, array.astype(int))
    ]
    for i, one in enumerate(prints):
        for j, other in enumerate(prints):
            assert one.agrees(other, NEAR) == (i == j), (i, j)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.zeros(50), False),
        (np.full((3, 4), 0.7), False),
        (np.eye(9), False),  # a one-hot
        (draw.integers(0, 2, (8, 9)).astype(bool), False),
        (np.tile([0.0, 1.0, 2.0], 30), False),
        (np.tile([0.0, 1.0, 2.0, 3.0], 30), True),
        (draw.standard_normal((4, 5)), True),
        (np.array(3.0), False),  # a step, a number of heads: it stands in many places
        (np.array(0.37), True),
        (np.array([0.37, -1.2]), True),
        (np.array([0.37, 0.37]), False),
        (np.full(6, np.nan), False),
        (np.empty((0, 4)), False),
    ],
)
def test_few_distinct_values_are_no_evidence(array: np.ndarray, expected: bool) -> None:
    assert fingerprint(array).informative is expected


def test_rare_values_in_a_large_array_count() -> None:
    array = np.zeros(100_000)
    array[[3, 50_001, 70_003, 99_999]] = 1.5, -2.25, 3.125, 4.75
    assert fingerprint(array).informative


def test_a_complex_number_is_all_of_itself() -> None:
    array = draw.standard_normal(20) + 1j * draw.standard_normal(20)
    assert fingerprint(array).agrees(fingerprint(draw.permutation(array)), SAME)
    assert not fingerprint(array).agrees(fingerprint(array.conj()), SAME)
    assert not fingerprint(array).agrees(fingerprint(array.real.astype(complex)), SAME)


def look_alikes(number: int) -> list[np.ndarray]:
    """Layers of a normalised network: same shape, much the same norm."""
    made = draw.standard_normal((number, 24))
    return list(made / np.linalg.norm(made, axis=1, keepdims=True))


@pytest.mark.parametrize("gap", [0.0, 1e-12])
def test_a_planted_value_is_found_among_look_alikes(gap: float) -> None:
    values = look_alikes(10_000)
    index, _ = index_of(values)
    for planted in (0, 4_321, 9_999):
        wanted = draw.permutation(values[planted]) * (1 + gap)
        assert next(index.look_up(fingerprint(wanted), SAME)) == planted
    assert not list(index.look_up(fingerprint(look_alikes(1)[0]), SAME))


def test_a_look_up_reads_few_values_of_many() -> None:
    """Cost in calls, not seconds: each value is read once, each look-up compares a handful."""
    compared = []
    for number in (1_000, 10_000):
        values = [one * draw.uniform(0.5, 2) for one in look_alikes(number)]
        index, read = index_of(values)
        seen = [len(list(index.look_up(fingerprint(one), SAME))) for one in values[::100]]
        assert read() == number
        compared.append(max(seen))
    assert max(compared) <= 2


def test_values_of_other_sizes_are_never_read() -> None:
    values = [draw.standard_normal(size) for size in (5, 6, 6, 7, 1_000_000)]
    index, read = index_of(values)
    assert list(index.look_up(fingerprint(values[1]), SAME)) == [1]
    assert read() == 2
    assert not list(index.look_up(fingerprint(draw.standard_normal(8)), SAME)) and read() == 2


def test_the_closest_norm_comes_first() -> None:
    base = draw.standard_normal(30)
    factors = [1 + 4e-5, 1 - 1e-5, 1.0, 1 - 3e-5, 1 + 2e-5, 2.0]
    index, _ = index_of([base * factor for factor in factors])
    assert list(index.look_up(fingerprint(base), NEAR)) == [2, 1, 4, 3, 0]


def index_of(values: list[np.ndarray]) -> tuple[Index, Callable[[], int]]:
    """An index over values, and how many of them it has read."""
    read = []

    def print_of(value: int) -> object:
        read.append(value)
        return fingerprint(values[value])

    index = Index(print_of)  # type: ignore[arg-type]
    for number, value in enumerate(values):
        index.add(number, value.size)
    return index, lambda: len(read)
