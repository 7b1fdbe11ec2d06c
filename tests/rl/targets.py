"""Returns, advantages and V-trace: recursions in the formulas, written-out sums here."""

from __future__ import annotations

from typing import Any

import numpy as np

import parity

from .checking import Case, Mutant, same


def trajectory(case: Case) -> tuple[Any, Any, Any]:
    """Rewards, discounts with ends of episodes, the values of all states, and that of the last."""
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
        if rho_clip == c_clip == 1.0:
            same(book.vtrace(logs, r, gamma, v)["targets"], targets)
        after = [*targets[1:], v[-1]]
        expected = [rho[t] * (r[t] + gamma[t] * after[t] - v[t]) for t in range(case.m)]
        same(found["advantages"], expected)


CHECKS = [
    check_one_step,
    check_n_step,
    check_lambda_returns,
    check_gae,
    check_vtrace,
]
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
