"""The null distribution, where there is no float64."""

import numpy as np

from parity.numerics.null import DRAWS, null_test

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
    assert null_test(product, summed_otherwise, inputs(), weights) > (1 / (DRAWS + 1)) ** 3


def test_a_factor_of_one_in_a_thousand_is():
    found = null_test(
        product, lambda arrays: product(arrays) * np.float32(1.001), inputs(), weights
    )
    assert found == (1 / (DRAWS + 1)) ** 3


def test_nan_is_no_agreement():
    found = null_test(
        product, lambda arrays: product(arrays) * np.float32(np.nan), inputs(), weights
    )
    assert found == (1 / (DRAWS + 1)) ** 3
