"""The measures of difference, compared with plain NumPy formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from parity.numerics.difference import (
    count_mask_differences,
    measure,
    relative_difference,
    residual,
    squared_distance,
    squared_norm,
)

draw = np.random.default_rng(8)
SHAPES = [(), (1,), (7,), (3, 5), (2, 3, 4, 5), (130, 140)]


def pair(shape: tuple[int, ...], gap: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    reference = draw.standard_normal(shape)
    return np.asarray(reference), np.asarray(reference + gap * draw.standard_normal(shape))


# --- residual ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gap", [1e-12, 1e-3, 2.0])
def test_residual_is_the_relative_root_mean_square(shape: tuple[int, ...], gap: float) -> None:
    a, b = pair(shape, gap)
    expected = np.sqrt(np.mean((a - b) ** 2) / np.mean(a**2))
    assert residual(a, b) == pytest.approx(expected, rel=1e-9)
    assert residual(a, a.copy()) == 0.0


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_memory_layout_makes_no_difference(axes: tuple[int, ...]) -> None:
    """Large arrays, one or both of them views: every element is compared with its own partner."""
    a, b = pair((31, 53, 67))
    expected = residual(a, b)
    laid_out = np.ascontiguousarray(b.transpose(axes)).transpose(np.argsort(axes))
    assert laid_out.shape == b.shape
    assert residual(a, laid_out) == pytest.approx(expected, rel=1e-9)
    assert residual(a[::-1, ::2], laid_out[::-1, ::2]) == pytest.approx(
        residual(a[::-1, ::2].copy(), b[::-1, ::2].copy()), rel=1e-9
    )
    one, other = measure(a, b), measure(a, laid_out)
    assert (one.largest, one.index, one.unequal) == (other.largest, other.index, other.unequal)


def test_numbers_whose_squares_underflow_have_no_size():
    reference = np.zeros(12)
    reference[:3] = 1.2e-256, 1.2e-256, 7e-249
    assert residual(reference, np.ones(12)) == np.inf


@given(
    arrays.arrays(np.float64, (4, 3), elements=st.floats(-100, 100)),
    arrays.arrays(np.float64, (4, 3), elements=st.floats(-100, 100)),
)
def test_residual_is_zero_for_equal_arrays_alone(a: np.ndarray, b: np.ndarray) -> None:
    assume(np.abs(a - b)[a != b].min(initial=1) > 1e-100)  # squares that do not underflow
    assert (residual(a, b) == 0.0) == np.array_equal(a, b)
    assert residual(a, b) >= 0.0


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_masks_come_first(wrong: float) -> None:
    a, b = pair((6, 7))
    b[2, 3] = wrong
    assert residual(a, b) == residual(b, a) == float("inf")
    a[2, 3] = wrong
    rest = ~np.eye(1, 42, 17, dtype=bool).reshape(6, 7)
    assert residual(a, b) == pytest.approx(residual(a[rest], b[rest]))
    b[2, 3], b[4, 4] = b[4, 4], wrong
    assert residual(a, b) == float("inf")


def test_infinities_of_two_signs_are_not_the_same() -> None:
    a, b = pair((5, 3), 0.0)
    a[1, 1], b[1, 1] = np.inf, -np.inf
    assert residual(a, b) == float("inf")
    assert count_mask_differences(a, b) == 1


@pytest.mark.parametrize("large", [-1e9, float(np.finfo("f").min)])
def test_a_mask_constant_hides_no_difference_elsewhere(large: float) -> None:
    a, b = pair((8, 9), 1e-3)
    expected = residual(a[1:], b[1:])
    a[0], b[0] = large, large
    assert residual(a, b) == pytest.approx(expected, rel=1e-6)
    b[0, 0] = 0.5
    assert not residual(a, b) < 0.1


def test_integers_and_booleans_are_equal_or_not() -> None:
    integers = draw.integers(-9, 9, (4, 6))
    assert residual(integers, integers.astype("int32")) == 0.0
    other = integers.copy()
    other[3, 5] += 1
    assert residual(integers, other) == float("inf")
    booleans = integers > 0
    assert residual(booleans, booleans.copy()) == 0.0
    assert residual(booleans, ~booleans) == float("inf")


def test_a_reference_of_zeros() -> None:
    zeros = np.zeros((3, 4))
    assert residual(zeros, zeros.copy()) == 0.0
    assert residual(zeros, zeros + 1e-30) == float("inf")


def test_empty_arrays_do_not_differ() -> None:
    empty = np.empty((0, 3))
    assert residual(empty, empty.copy()) == 0.0
    assert measure(empty, empty.copy()).size == 0


@pytest.mark.parametrize("measured", [measure, residual])
@pytest.mark.parametrize("shapes", [((3, 4), (4,)), ((3, 4), (3, 1)), ((4,), ()), ((2, 6), (3, 4))])
def test_nothing_is_broadcast(measured: object, shapes: tuple[tuple[int, ...], ...]) -> None:
    for one, other in (shapes, shapes[::-1]):
        with pytest.raises(ValueError, match="shapes differ"):
            measured(np.ones(one), np.ones(other))  # type: ignore[operator]


def test_sums_of_squares() -> None:
    a, b = pair((41, 43))
    assert squared_norm(a.T) == pytest.approx(np.sum(a**2))
    assert squared_distance(a.T, b.T) == pytest.approx(np.sum((a - b) ** 2))


# --- measure -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_measure_is_what_numpy_says(shape: tuple[int, ...]) -> None:
    a, b = pair(shape)
    b = np.where(draw.random(shape) < 0.3, a, b)
    found = measure(a, b)
    gap = np.abs(a - b)
    assert found.largest == gap.max() and found.relative == gap.max() / np.abs(a).max()
    assert gap[found.index] == gap.max()
    assert (found.reference, found.candidate) == (a[found.index], b[found.index])
    assert found.unequal == np.count_nonzero(a != b) and found.size == a.size
    assert found.nonfinite_differ == 0
    cosine = np.sum(a * b) / np.sqrt(np.sum(a**2) * np.sum(b**2))
    assert found.cosine == pytest.approx(cosine)


@pytest.mark.parametrize("odd", [None, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("scale", [0.0, 1e-30, 1.0, 1e30])
def test_the_relative_difference_alone_is_that_of_measure(
    odd: float | None, both: bool, scale: float
) -> None:
    rng = np.random.default_rng(4)
    a = scale * rng.standard_normal((3, 20_000, 2))
    b = a.astype(np.float32)
    if odd is not None:
        b[2, 19_000, 1] = odd
        if both:
            a[2, 19_000, 1] = odd
    for x, y in ((a, b), (a.transpose(2, 0, 1), b.transpose(2, 0, 1)), (b, a)):
        assert relative_difference(x, y) == pytest.approx(measure(x, y).relative, nan_ok=True)
    assert relative_difference(a[:0], b[:0]) == 0.0 == relative_difference(b[0, 0, 0], b[0, 0, 0])


def test_measure_counts_masks_and_measures_the_rest() -> None:
    a, b = pair((6, 5))
    a[0, 0] = b[0, 0] = np.nan
    a[1, 1] = b[1, 1] = -np.inf
    a[2, 2], b[3, 3], a[4, 4], b[4, 4] = np.nan, np.inf, np.inf, -np.inf
    found = measure(a, b)
    finite = np.isfinite(a) & np.isfinite(b)
    assert found.nonfinite_differ == 3
    assert found.unequal == finite.sum() + 3
    assert found.largest == np.abs(a[finite] - b[finite]).max()


def test_measure_of_float32_large_enough_to_overflow_a_square() -> None:
    a = np.array([1e30, -2e30, 3e29], "f")
    found = measure(a, np.array([1e30, -2.5e30, 3e29], "f"))
    assert found.index == (1,) and found.relative == pytest.approx(0.25)
    assert 0.9 < found.cosine < 1


def test_measure_of_integers_booleans_and_zeros() -> None:
    found = measure(np.array([[1, 2], [3, 4]]), np.array([[1, 2], [7, 4]]))
    assert (found.largest, found.index, found.unequal) == (4.0, (1, 0), 1)
    found = measure(np.array([True, False]), np.array([True, True]))
    assert (found.largest, found.reference, found.candidate) == (1.0, 0.0, 1.0)
    zeros = measure(np.zeros(3), np.zeros(3))
    assert zeros.largest == zeros.relative == 0.0 and np.isnan(zeros.cosine)
    assert measure(np.zeros(3), np.array([0, 0, 1e-9])).relative == float("inf")


def test_complex_numbers_are_measured_in_both_parts() -> None:
    a = draw.standard_normal((4, 3)) + 1j * draw.standard_normal((4, 3))
    b = a.copy()
    b[2, 1] += 0.5j
    found = measure(a, b)
    assert found.index == (2, 1) and found.largest == pytest.approx(0.5)
    assert found.reference == a[2, 1].imag and found.candidate == b[2, 1].imag
    assert residual(a, b) == pytest.approx(0.5 / np.linalg.norm(a))
    assert residual(a, a.copy()) == 0.0 and residual(a.real, a) > 0
    b[0, 0] = complex(np.nan, 1)
    assert residual(a, b) == float("inf") and count_mask_differences(a, b) == 1
