"""Cases of action distributions: what they hold, what they shrink to, and how special they get."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings

from parity import rl
from parity.model import flatten_inputs
from parity.observations import distributions

KINDS = [
    (rl.Categorical, (4,)),
    (rl.Bernoulli, (3,)),
    (rl.DiagonalGaussian, (3,)),
    (rl.SquashedGaussian, (3,)),
    (rl.Beta, (2,)),
    (rl.GaussianMixture, (3, 2)),
]


@pytest.mark.parametrize(("kind", "size"), KINDS, ids=lambda one: getattr(one, "__name__", None))
def test_the_reference_distribution_takes_every_case(kind, size):
    @settings(max_examples=30)
    @given(case=distributions(kind, *size))
    def check(case):
        one, other = kind(**case["parameters"]), kind(**case["other"])
        (batch,) = one.batch_shape
        assert batch not in size
        assert other.batch_shape == (batch,)
        assert one.log_prob(case["action"]).shape == (batch,)
        assert one.sample(case["noise"]).shape == case["action"].shape
        for path, array in flatten_inputs(case).items():
            assert array.dtype == (np.int64 if array.dtype.kind == "i" else np.float32), path

    check()


QUICKLY = settings(phases=[Phase.generate, Phase.shrink], database=None, max_examples=500)


def squashed(**more):
    return distributions(rl.SquashedGaussian, 3, **more)


ONE = np.float32(1)
BESIDE = np.nextafter(ONE, np.float32(0))


@pytest.mark.parametrize("value", [ONE, -ONE, BESIDE, -BESIDE])
def test_actions_lie_on_the_bounds_and_beside_them(value):
    drawn = settings(QUICKLY, phases=[Phase.generate])
    assert find(squashed(), lambda case: (case["action"] == value).any(), settings=drawn)


def test_bounds_are_those_that_are_given():
    low = find(
        distributions(rl.Beta, 2, low=-2, high=3),
        lambda case: case["action"].min() == -2,
        settings=QUICKLY,
    )
    assert (low["action"] < 3).all()


def test_it_shrinks_to_nothing_special():
    case = find(squashed(), lambda case: True, settings=QUICKLY)
    assert (abs(case["action"]) < BESIDE).all()
    assert len(np.unique(case["parameters"]["std"])) == 3
    assert case["parameters"]["mean"].tolist() == [[0, 1, -1]]


def test_what_is_left_out_is_left_out():
    case = find(squashed(other=False, noise=False, batch=5), lambda case: True, settings=QUICKLY)
    assert set(case) == {"parameters", "action"}
    assert case["action"].shape == (5, 3)


def test_without_special_values_nothing_is_saturated():
    @settings(max_examples=100)
    @given(case=squashed(special=False))
    def check(case):
        assert abs(case["action"]).max() < BESIDE
        assert abs(case["parameters"]["mean"]).max() <= 2

    check()
