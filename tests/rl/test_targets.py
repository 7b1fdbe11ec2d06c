"""Returns, advantages and V-trace: recursions in the formulas, written-out sums here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import parity

from .checking import FIXED, Case, Mutant, cases, kills, same


def trajectory(case: Case) -> tuple[Any, Any, Any]:
    """Rewards, discounts with ends of episodes, and the values of all states and of the last."""
    draw = case.draws()
    shape = (case.m, *case.batch)
    rewards = case.scale * draw.normal(size=shape)
    discounts = np.where(draw.random(shape) < 0.2, 0.0, draw.uniform(0.5, 1.0, shape))
    return rewards, discounts, case.scale * draw.normal(size=(case.m + 1, *case.batch))


def n_step(r: Any, gamma: Any, v: Any, t: int, n: int) -> Any:
    """The written-out n-step return of step t; `v` are the values of the states after each step."""
    end = min(t + n, len(r))
    total, factor = np.zeros(r.shape[1:]), np.ones(r.shape[1:])
    for k in range(t, end):
        total, factor = total + factor * r[k], factor * gamma[k]
    return total + factor * v[end - 1]


def check_one_step(book: Any, case: Case) -> None:
    draw = case.draws()
    r, gamma = case.scale * draw.normal(size=case.batch), draw.random(case.batch)
    online, target = (case.scale * draw.normal(size=(*case.batch, case.n)) for _ in range(2))
    found, double = book.q_target(r, gamma, target), book.double_q_target(r, gamma, online, target)
    assert found.shape == double.shape == case.batch
    for i in np.ndindex(case.batch):
        same(found[i], r[i] + gamma[i] * max(target[i]))
        best = max(range(case.n), key=lambda action: online[i][action])  # noqa: B023
        same(double[i], r[i] + gamma[i] * target[i][best])


def check_n_step(book: Any, case: Case) -> None:
    r, gamma, v = trajectory(case)
    found = book.n_step_returns(r, gamma, v[1:], case.n)
    same(found, [n_step(r, gamma, v[1:], t, case.n) for t in range(case.m)])


def check_lambda_returns(book: Any, case: Case) -> None:
    r, gamma, v = trajectory(case)
    for lambda_ in (0.0, 0.7, 1.0):
        expected = []
        for t in range(case.m):
            left = case.m - t
            mixed = lambda_ ** (left - 1) * n_step(r, gamma, v[1:], t, left)
            for n in range(1, left):
                mixed += (1 - lambda_) * lambda_ ** (n - 1) * n_step(r, gamma, v[1:], t, n)
            expected.append(mixed)
        same(book.lambda_returns(r, gamma, v[1:], lambda_), expected)


def check_gae(book: Any, case: Case) -> None:
    r, gamma, v = trajectory(case)
    for lambda_ in (0.0, 0.7, 1.0):
        expected = []
        for t in range(case.m):
            total, factor = np.zeros(case.batch), np.ones(case.batch)
            for k in range(t, case.m):
                total = total + factor * (r[k] + gamma[k] * v[k + 1] - v[k])
                factor = factor * gamma[k] * lambda_
            expected.append(total)
        found = book.gae(r, gamma, v, lambda_)
        same(found, expected)
        # advantages are what lambda returns have above the values
        returns = parity.rl.lambda_returns(r, gamma, v[1:], lambda_)
        np.testing.assert_allclose(found + v[:-1], returns, atol=1e-9 * case.scale)


def check_vtrace(book: Any, case: Case) -> None:
    r, gamma, v = trajectory(case)
    logs = case.draws().normal(size=r.shape)
    for rho_clip, c_clip in ((1.0, 1.0), (2.0, 0.5)):
        rho, c = np.minimum(rho_clip, np.exp(logs)), np.minimum(c_clip, np.exp(logs))
        targets = []
        for s in range(case.m):
            total, factor = v[s].copy(), np.ones(case.batch)
            for t in range(s, case.m):
                total += factor * rho[t] * (r[t] + gamma[t] * v[t + 1] - v[t])
                factor = factor * gamma[t] * c[t]
            targets.append(total)
        found = book.vtrace(logs, r, gamma, v, rho_clip, c_clip)
        same(found["targets"], targets)
        after = [*targets[1:], v[-1]]
        expected = [rho[t] * (r[t] + gamma[t] * after[t] - v[t]) for t in range(case.m)]
        same(found["advantages"], expected)


CHECKS = [check_one_step, check_n_step, check_lambda_returns, check_gae, check_vtrace]
MUTANTS = [
    Mutant(check_one_step, "targets", "online.argmax(-1)", "target.argmax(-1)"),
    Mutant(check_one_step, "targets", "online.argmax(-1)", "online.argmin(-1)"),
    Mutant(check_one_step, "targets", "r + gamma * chosen", "r - gamma * chosen"),
    Mutant(check_n_step, "targets", "min(t + n, len(r)) - 1", "min(t + n + 1, len(r)) - 1"),
    Mutant(check_n_step, "targets", "found = r[k] + gamma[k] * found", "found = r[k] + found"),
    Mutant(check_lambda_returns, "targets", "(1 - lambda_) * v[t] + lambda_", "v[t] + lambda_"),
    Mutant(check_lambda_returns, "targets", "after = v[-1]", "after = 0 * v[-1]"),
    Mutant(check_gae, "targets", "deltas, gamma * lambda_", "deltas, gamma"),
    Mutant(check_gae, "targets", "r + gamma * after - v[:-1]\n", "r + gamma * after - v[1:]\n"),
    Mutant(check_gae, "targets", "after = found[t] = deltas[t]", "found[t] = deltas[t]"),
    Mutant(check_vtrace, "targets", "np.minimum(rho_clip, ratios)", "ratios"),
    Mutant(check_vtrace, "targets", "np.minimum(c_clip, ratios)", "np.minimum(rho_clip, ratios)"),
    Mutant(check_vtrace, "targets", "np.exp(logs)", "np.exp(-logs)"),
    Mutant(check_vtrace, "targets", "[targets[1:], v[-1:]]", "[v[1:-1], v[-1:]]"),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@settings(max_examples=25)
@given(cases)
def test_it_agrees_with_another_implementation(check: Any, case: Case) -> None:
    check(parity.rl, case)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_broken_formula_is_seen(mutant: Mutant) -> None:
    for case in FIXED:
        mutant.check(parity.rl, case)
    assert kills(mutant)


def test_every_check_sees_a_mutant() -> None:
    assert {mutant.check for mutant in MUTANTS} == set(CHECKS)


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


zeros = np.zeros
WRONG = [
    (lambda rl: rl.q_target(zeros((5, 1)), zeros(5), zeros((5, 4))), r"expected \(5,\)"),
    (lambda rl: rl.double_q_target(zeros(5), zeros(5), zeros((5, 4)), zeros((5, 3))), "next_q_t"),
    (lambda rl: rl.n_step_returns(zeros((5, 2)), zeros(5), zeros((5, 2)), 3), "discounts has"),
    (lambda rl: rl.n_step_returns(zeros(5), zeros(5), zeros(5), 0), "n is 0"),
    (lambda rl: rl.lambda_returns(zeros(5), zeros(5), zeros(6), 0.9), "next_values has shape"),
    (lambda rl: rl.lambda_returns(zeros(5), zeros(5), zeros(5), 1.5), "lambda_ is 1.5"),
    (lambda rl: rl.gae(zeros(5), zeros(5), zeros(5), 0.9), r"expected \(6,\).*time \+ 1"),
    (lambda rl: rl.vtrace(zeros(4), zeros(5), zeros(5), zeros(6)), "log_ratios has shape"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_shapes_say_what_is_expected(call: Any, message: str) -> None:
    with pytest.raises(parity.ParityError, match=message):
        call(parity.rl)
