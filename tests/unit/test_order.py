"""Axis orders: found where an array is another with axes permuted, merged or split, else not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.errors import ReplayError
from parity.matching import axis_order as order_module
from parity.matching.axis_order import Order, find_order, orders
from parity.matching.fingerprint import fingerprint
from parity.matching.limits import NEAR, SAME
from parity.numerics.difference import residual

draw = np.random.default_rng(5)


def distinct(*shape: int) -> np.ndarray:
    return draw.standard_normal(shape)


def found(reference: np.ndarray, candidate: np.ndarray, tolerance: float = SAME) -> Order | None:
    order = find_order(reference, candidate, tolerance, fingerprint(reference))
    return order[0] if order else None


@pytest.mark.parametrize("axes", list(itertools.permutations(range(4))))
def test_every_permutation_is_found(axes: tuple[int, ...]) -> None:
    reference = distinct(2, 3, 4, 5)
    order = found(reference, reference.transpose(axes))
    assert order is not None and order.axes == axes
    np.testing.assert_array_equal(order.apply(reference), reference.transpose(axes))


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
def test_axes_of_one_length_are_distinguished_by_the_values(axes: tuple[int, ...]) -> None:
    cube = distinct(4, 4, 4)
    order = found(cube, cube.transpose(axes))
    assert order is not None and order.axes == axes
    assert order.stable == (axes == (0, 1, 2))


@pytest.mark.parametrize("axes", list(itertools.permutations(range(4))))
def test_a_flatten_after_any_permutation_is_found(axes: tuple[int, ...]) -> None:
    reference = distinct(2, 3, 4, 5)
    flat = reference.transpose(axes).reshape(reference.shape[axes[0]], -1)
    order = found(reference, flat)
    assert order is not None and not order.split
    np.testing.assert_array_equal(order.apply(reference), flat)


def test_a_split_of_a_merged_axis_is_found() -> None:
    fine = distinct(3, 4, 5)
    order = found(fine.reshape(3, 20), fine.transpose(0, 2, 1))
    assert order is not None and order.split
    np.testing.assert_array_equal(order.apply(fine.reshape(3, 20)), fine.transpose(0, 2, 1))


@pytest.mark.parametrize("shape", [(2, 1, 3, 1, 5), (1, 30), (30,), (30, 1, 1), (6, 1, 5)])
def test_axes_of_length_one_are_of_no_account(shape: tuple[int, ...]) -> None:
    reference = distinct(2, 3, 5)
    order = found(reference, reference.reshape(shape))
    assert order is not None
    np.testing.assert_array_equal(order.apply(reference), reference.reshape(shape))


def test_length_one_merges_nothing() -> None:
    reference = distinct(3, 4, 5)
    orders_ = [found(reference, reference.reshape(shape)) for shape in ((3, 20), (3, 1, 20))]
    assert all(orders_)
    assert orders_[0].groups == orders_[1].groups == {frozenset({0}), frozenset({1, 2})}


def test_an_arrangement_that_is_no_axis_order_is_refused() -> None:
    """(actions, atoms) read as (atoms, actions): the values are the same, their places are not."""
    reference = distinct(2, 3, 5)
    assert fingerprint(reference).agrees(fingerprint(reference.reshape(2, 5, 3)), SAME)
    assert found(reference, reference.reshape(2, 5, 3)) is None
    assert found(reference, reference.reshape(5, 1, 6)) is None
    assert found(reference, reference[:, ::-1]) is None
    shuffled = draw.permutation(reference.ravel()).reshape(reference.shape)
    assert found(reference, shuffled) is None


def test_shapes_that_no_merge_explains_are_refused() -> None:
    reference = distinct(4, 9)
    assert found(reference, reference.reshape(6, 6)) is None
    assert not list(orders((4, 9), (6, 6)))
    assert not list(orders((2, 3), (7,)))


def test_scalars_and_nothing() -> None:
    scalar = np.array(1.5)
    for other in (scalar, np.array([1.5]), np.array([[1.5]])):
        order = found(scalar, other)
        assert order is not None and order.apply(scalar).shape == other.shape
    assert found(scalar, np.array([2.5])) is None
    empty = np.empty((0, 3))
    order = found(empty, empty.T)
    assert order is not None and order.apply(empty).shape == (3, 0)


def test_nan_and_infinity_have_their_places_too() -> None:
    reference = distinct(4, 7)
    reference[1, 2], reference[3, 6], reference[0, 0] = np.nan, np.inf, -np.inf
    order = found(reference, reference.T)
    assert order is not None and order.axes == (1, 0)
    moved = reference.T.copy()
    moved[2, 1], moved[0, 1] = moved[0, 1], np.nan
    assert found(reference, moved) is None
    turned = reference.T.copy()
    turned[6, 3] = -np.inf
    assert found(reference, turned) is None


def test_a_difference_beyond_the_sample_is_seen() -> None:
    """Some elements are looked at first, but an order is an order only in full."""
    reference = distinct(40, 50, 60)
    other = reference.transpose(2, 0, 1).copy()
    assert found(reference, other) is not None
    other.ravel()[1::7] += 1e-3
    assert found(reference, other) is None


def test_few_orders_are_compared_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 24 permutations that fit, a sample of elements rules out all but the right one."""
    compared = []

    def counted(*arrays: np.ndarray) -> float:
        compared.append(arrays)
        return residual(*arrays)

    monkeypatch.setattr(order_module, "residual", counted)
    hypercube = distinct(9, 9, 9, 9)
    assert found(hypercube, hypercube.transpose(3, 1, 0, 2)) is not None
    assert len(compared) == 1


def test_the_residual_is_within_the_tolerance_asked_for() -> None:
    reference = distinct(6, 7)
    noise = distinct(6, 7)
    noise *= 1e-6 * np.linalg.norm(reference) / np.linalg.norm(noise)
    order = find_order(reference, (reference + noise).T, NEAR, fingerprint(reference))
    assert order is not None and order[1] == pytest.approx(1e-6, rel=1e-3)
    assert found(reference, (reference + noise).T, SAME) is None


@pytest.mark.parametrize("dtype", ["int64", "bool", "complex128"])
def test_other_numbers_than_floats(dtype: str) -> None:
    reference = draw.integers(0, 2 if dtype == "bool" else 1000, (5, 6, 7)).astype(dtype)
    if dtype == "complex128":
        reference = reference + 1j * distinct(5, 6, 7)
    order = found(reference, reference.transpose(2, 0, 1))
    assert order is not None and order.axes == (2, 0, 1)
    other = reference.transpose(2, 0, 1).copy()
    other[6, 4, 5] = ~other[6, 4, 5] if dtype == "bool" else -other[6, 4, 5] - 1
    assert found(reference, other) is None


def test_an_array_of_many_axes_is_no_search() -> None:
    reference = distinct(2, 3, 2, 2, 3, 2, 2, 2)
    assert len(list(orders(reference.shape, reference.shape))) < 10
    assert found(reference, reference) is not None


@st.composite
def laid_out(drawer: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """An array and the same values with axes permuted, then neighbours merged or ones added."""
    shape = drawer(st.lists(st.integers(1, 5), max_size=4))
    reference = np.random.default_rng(drawer(st.integers(0, 99))).standard_normal(shape)
    other = reference.transpose(drawer(st.permutations(range(len(shape)))))
    target: list[int] = []
    for length in other.shape:
        if target and drawer(st.booleans()):
            target[-1] *= length
        else:
            target.append(length)
    if drawer(st.booleans()):
        target.insert(drawer(st.integers(0, len(target))), 1)
    return reference, other.reshape(target)


@given(laid_out())
def test_the_order_found_reproduces_the_array_both_ways(
    arrays: tuple[np.ndarray, np.ndarray],
) -> None:
    for one, other in (arrays, arrays[::-1]):
        order = found(one, other)
        assert order is not None
        np.testing.assert_array_equal(order.apply(one), other)


@given(st.lists(st.integers(1, 4), max_size=4), st.lists(st.integers(1, 4), max_size=4))
def test_every_order_offered_fits(reference: list[int], candidate: list[int]) -> None:
    array = np.arange(np.prod(reference, dtype=int)).reshape(reference)
    for order in orders(tuple(reference), tuple(candidate)):
        applied = order.apply(array)
        assert applied.shape == tuple(candidate)
        assert sorted(applied.ravel()) == sorted(array.ravel())


def test_images_are_named_as_they_lie_in_the_candidate() -> None:
    first, last = (2, 3, 4, 5), (2, 4, 5, 3)
    images = distinct(*first)
    there = found(images, images.transpose(0, 2, 3, 1))
    back = found(images.transpose(0, 2, 3, 1), images)
    assert (str(there), str(back), there and there.shape) == ("NHWC", "NCHW", last)


def test_an_array_of_fewer_values_has_no_order():
    """As a selection has on other inputs; a cause that asks for it ends, and nothing else does."""
    order = Order((0,), (4,), False, (4,))
    assert order.apply(np.arange(4.0)).shape == (4,)
    with pytest.raises(ReplayError, match="other inputs"):
        order.apply(np.zeros(0))


# --- of many axes, those that the sums along each of them leave -----------------------------------


@pytest.mark.parametrize("axes", [(5, 1, 4, 0, 2, 3), (0, 1, 2, 3, 5, 4), (1, 0, 3, 2, 5, 4)])
def test_an_order_of_six_equal_axes_is_found(axes: tuple[int, ...]) -> None:
    array = distinct(2, 2, 2, 2, 2, 2)
    near = array.transpose(axes) * (1 + 1e-6 * distinct(2, 2, 2, 2, 2, 2))
    for candidate, tolerance in ((array.transpose(axes), SAME), (near, NEAR)):
        order = found(array, candidate, tolerance)
        assert order is not None and order.axes == axes


def test_look_alikes_are_not_tried_in_every_order() -> None:
    array = distinct(2, 2, 2, 2, 2, 2)
    shuffled = draw.permutation(array.ravel()).reshape(array.shape)
    tried = list(order_module._likely_orders(array, shuffled, SAME * float(np.sqrt(64))))
    assert len(tried) == 1  # of 720
    assert found(array, shuffled) is None


def test_sums_that_distinguish_no_axis_from_another_leave_all_orders() -> None:
    array = np.ones((2, 2, 2, 2, 2))
    tried = [one.axes for one in order_module._likely_orders(array, array, 0.0)]
    assert tried == [one.axes for one in orders(array.shape, array.shape)]
    array[0] = np.inf
    tried = [one.axes for one in order_module._likely_orders(array, array, 0.0)]
    assert tried == [one.axes for one in orders(array.shape, array.shape)]
