"""Where formulas have an edge: bounds of actions, certainty, ends of episodes, NaN."""

from __future__ import annotations

import math

import numpy as np

import parity

from .checking import same


def test_algorithm_1_as_printed_loses_the_mass_of_atoms_on_atoms() -> None:
    """Why the projection is equation 7's: its mass is 1 also where an atom falls on another."""
    z = np.array([-1.0, 0.0, 1.0])
    found = parity.rl.c51_projection([[0.2, 0.3, 0.5]], [0.0], [1.0], z)
    same(found, [[0.2, 0.3, 0.5]])


def test_nothing_leaks_over_the_end_of_an_episode() -> None:
    draw = np.random.default_rng(0)
    r, v, logs = draw.normal(size=6), draw.normal(size=7), draw.normal(size=6)
    gamma = np.array([0.9, 0.9, 0.0, 0.9, 0.9, 0.9])
    later = np.arange(6) > 2
    changed, values = np.where(later, 50.0, r), np.where(np.append(later, True), 50.0, v)
    rl = parity.rl
    for one, other in (
        (rl.n_step_returns(r, gamma, v[1:], 3), rl.n_step_returns(changed, gamma, values[1:], 3)),
        (
            rl.lambda_returns(r, gamma, v[1:], 0.9),
            rl.lambda_returns(changed, gamma, values[1:], 0.9),
        ),
        (rl.gae(r, gamma, v, 0.9), rl.gae(changed, gamma, values, 0.9)),
        (
            rl.vtrace(logs, r, gamma, v)["targets"],
            rl.vtrace(logs, changed, gamma, values)["targets"],
        ),
    ):
        same(one[:3], other[:3])
        assert not np.allclose(one[3:], other[3:])


def test_what_is_nearly_certain_keeps_its_digits() -> None:
    """A probability of 1 - 1e-22 has a logarithm, which x - logsumexp(x) rounds to 0."""
    expected = [-math.log1p(math.exp(-50)), -50 - math.log1p(math.exp(-50))]
    found = parity.rl.Categorical([[0.0, -50.0]] * 2).log_prob([0, 1])
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_bounds_of_squashed_actions() -> None:
    """The density is 0 on the bounds; close to them an action does not show what it came from."""
    squashed_ = parity.rl.SquashedGaussian([[0.0], [0.0], [0.0]], [[1.0]] * 3)
    same(squashed_.log_prob([[1.0], [-1.0], [1.5]]), [-np.inf] * 3)
    assert np.isfinite(squashed_.log_prob_before([[20.0], [-40.0], [300.0]])).all()
    # atanh(0.5) = log(3) / 2, and the slope there is 1 - 0.5^2
    expected = -0.5 * (math.log(3) / 2) ** 2 - 0.5 * math.log(2 * math.pi) - math.log(0.75)
    same(squashed_.log_prob([[0.5], [-0.5], [0.5]]), [expected] * 3)


def test_bounds_of_beta_actions() -> None:
    found = parity.rl.Beta([[2.0], [1.0], [0.5], [2.0]], [[3.0], [1.0], [0.5], [3.0]])
    same(found.log_prob([[0.0], [0.0], [0.0], [-0.1]]), [-np.inf, 0.0, np.inf, -np.inf])


def test_the_modes_of_beta_on_its_bounds() -> None:
    cases_ = {(1.0, 1.0): 0.5, (0.5, 0.5): 0.0, (3.0, 1.0): 1.0, (1.0, 3.0): 0.0, (2.0, 2.0): 0.5}
    for (alpha, beta), mode in cases_.items():
        same(parity.rl.Beta([[alpha]], [[beta]]).mode(), [[mode]])


def test_nan_stays_nan() -> None:
    nan = np.array([[np.nan, 0.0]])
    for found in (
        parity.rl.Categorical(nan).log_prob([1]),
        parity.rl.Bernoulli(nan).entropy(),
        parity.rl.DiagonalGaussian(nan, np.ones((1, 2))).log_prob(nan),
        parity.rl.SquashedGaussian(0 * nan, 0 * nan + 1).log_prob(nan),
        parity.rl.Beta([[1.0, 2.0]], [[1.0, 2.0]]).log_prob(nan),
    ):
        assert np.isnan(found).all()


def test_nothing_is_lost_to_an_atom_that_has_no_chance() -> None:
    """0 log 0 is 0 in the cross-entropy."""
    found = parity.rl.c51_loss([[0.0, 0.0, -np.inf]], [[0.25, 0.75, 0.0]])
    same(found, [math.log(2)])
