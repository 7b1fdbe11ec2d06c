"""Which order the same values are in: at the size of real layers some are equal by chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from parity.diagnosis.causes._arrange import Arrangement, AxisOrder, arrangement
from tests.unit.causes.compared_pairs import Values, kind, tensor

values = Values()

RANDOM = np.random.default_rng(8)


@given(st.data())
def test_splits_and_permutations_are_found_where_values_repeat(data):
    fine = data.draw(st.lists(st.integers(2, 5), min_size=2, max_size=4), label="fine")
    axes = data.draw(st.permutations(range(len(fine))), label="axes")
    array = np.random.default_rng(data.draw(st.integers(0, 99))).standard_normal(fine)
    flat = array.reshape(-1)
    for _ in range(data.draw(st.integers(0, flat.size // 8), label="repeats")):
        pair = data.draw(st.tuples(*[st.integers(0, flat.size - 1)] * 2))
        flat[pair[0]] = flat[pair[1]]
    target = array.transpose(axes).reshape(fine)
    found = arrangement(array, target)
    if np.array_equal(array, target):
        assert found is None
    elif found is not None:  # few values that are mostly equal prove nothing
        assert np.array_equal(found(array), target)
    else:
        assert flat.size < 64 or np.unique(flat).size < 0.9 * flat.size


@pytest.mark.parametrize("share", [0.0, 0.01])
def test_of_a_real_kernel(share):
    kernel = RANDOM.standard_normal((64, 32, 4, 4)).astype("f").astype("d")
    assert np.unique(kernel).size < kernel.size  # some float32 values are equal by chance
    reshaped = kernel.reshape(4, 4, 32, 64).transpose(3, 2, 0, 1).copy()
    reshaped.flat[: int(share * kernel.size)] += 1.0
    found = arrangement(kernel, reshaped)
    assert isinstance(found, Arrangement) if not share else found is None


def test_of_the_features_of_a_real_dense_layer():
    kernel = RANDOM.standard_normal((64 * 7 * 7, 64)).astype("f").astype("d")
    permuted = kernel.reshape(64, 49, 64).transpose(1, 0, 2).reshape(kernel.shape)
    found = arrangement(kernel, permuted)
    assert isinstance(found, AxisOrder) and found.interleaves == (64, 49)
    assert arrangement(kernel, RANDOM.permutation(kernel.ravel()).reshape(kernel.shape)) is None
    assert arrangement(kernel, kernel) is None


def test_a_real_kernel_that_was_reshaped_is_reported():
    kernel = values(24, 16, 8, 8)
    kernel.flat[:40] = kernel.flat[40:80]
    wrong = kernel.reshape(8, 8, 16, 24).transpose(3, 2, 0, 1)

    def convolution(weight):
        held = tensor(weight)
        return lambda x: F.conv2d(x, held).tanh()

    assert kind(convolution(kernel), convolution(wrong), values(2, 16, 9, 11)) == "weight-reshaped"


def test_the_end_of_a_row_at_a_value_that_is_there_twice():
    array = np.random.default_rng(14).standard_normal((2, 4, 4, 2))
    array.flat[1] = array.flat[9]
    target = array.transpose(3, 0, 1, 2).reshape(2, 4, 4, 2)
    found = arrangement(array, target)
    assert found is not None and np.array_equal(found(array), target)


def test_an_order_of_a_part_of_an_axis_is_said_of_that_part() -> None:
    block = np.arange(12).reshape(3, 4).T.ravel() + 5
    order = AxisOrder(1, (*range(5), *block.tolist(), *range(17, 20)))
    assert str(order) == "axis 1 from 5 to 16 in another order: (3, 4) read as (4, 3), axes (1, 0)"
    other = AxisOrder(0, (0, 1, 2, 5, 4, 7, 3, 6, 8))
    assert str(other) == "axis 0 in the order 5, 4, 7, 3, 6, 8 from 3 on"
