"""The null distribution, where there is no float64."""

import numpy as np

from parity.numerics.limits import RANK_DRAWS
from parity.numerics.null_distribution import null_test

random = np.random.default_rng(0)


def inputs():
    return [{0: random.normal(size=(5, 64)).astype("float32")} for _ in range(3)]


weights = {1: random.normal(size=64).astype("float32")}


def product(arrays):
    return arrays[0] @ arrays.get(1, weights[1])


def summed_otherwise(arrays):
    terms = arrays[0] * weights[1]
    return terms[:, ::-1].cumsum(1)[:, -1]


def test_another_order_of_summation_is_no_larger_than_rounding():
    assert null_test(product, summed_otherwise, inputs(), weights) > (1 / (RANK_DRAWS + 1)) ** 3


def test_a_small_factor_is_on_all_inputs_together():
    found = null_test(
        product, lambda arrays: product(arrays) * np.float32(1 + 3e-5), inputs(), weights
    )
    assert found == (1 / (RANK_DRAWS + 1)) ** 3


def test_what_is_far_beyond_rounding_has_to_show_on_the_first_inputs_alone():
    first, *others = inputs()

    def masked(arrays):
        return product(arrays) * np.float32(1.001 if arrays[0] is first[0] else 1.0)

    assert null_test(product, masked, [first, *others], weights) == 0.0
    assert null_test(product, masked, [*others, first], weights) > (1 / (RANK_DRAWS + 1)) ** 3


def test_nan_is_no_agreement():
    found = null_test(
        product, lambda arrays: product(arrays) * np.float32(np.nan), inputs(), weights
    )
    assert found == 0.0
