"""What values are trained towards: one-step, n-step and lambda returns, advantages, V-trace.

Trajectories have time first: step t of `rewards` is what followed the action at t, and the same
step of `discounts` is gamma, or 0 where the episode ended there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.errors import InputError
from parity.rl.arrays import expect_axes, expect_shape, floats
from parity.tape import Array


def q_target(rewards: Any, discounts: Any, next_q: Any) -> Array:
    """The one-step target of DQN, r + gamma max q.

    Mnih et al. 2015, "Human-level control through deep reinforcement learning", algorithm 1.

    Args:
        rewards, discounts: (batch...).
        next_q: of the target network in the next state, (batch..., actions).

    Returns:
        (batch...).
    """
    return double_q_target(rewards, discounts, next_q, next_q)


def double_q_target(rewards: Any, discounts: Any, next_q_online: Any, next_q_target: Any) -> Array:
    """The target of double DQN, r + gamma q_target(argmax q_online).

    van Hasselt et al. 2016, "Deep Reinforcement Learning with Double Q-learning"
    (arXiv:1509.06461), equation 4 with the target network's weights as the second set.

    Args:
        rewards, discounts: (batch...).
        next_q_online: chooses the action in the next state, (batch..., actions); of equals the
            first.
        next_q_target: gives its value, same shape.

    Returns:
        (batch...).
    """
    online = floats("next_q_online", next_q_online)
    target = floats("next_q_target", next_q_target)
    expect_axes("next_q_online", online, 1, "(batch..., actions)")
    expect_shape("next_q_target", target, online.shape, "(batch..., actions)")
    r, gamma = floats("rewards", rewards), floats("discounts", discounts)
    for name, array in (("rewards", r), ("discounts", gamma)):
        expect_shape(name, array, online.shape[:-1], f"(batch...) of next_q {online.shape}")
    chosen = np.take_along_axis(target, online.argmax(-1)[..., None], -1)[..., 0]
    found: Array = r + gamma * chosen
    return found


def n_step_returns(rewards: Any, discounts: Any, next_values: Any, n: int) -> Array:
    """The sum of `n` discounted rewards and the discounted value of the state after them.

    Sutton and Barto 2018, "Reinforcement Learning", equation 7.1. Near the end, where fewer steps
    are left, the return bootstraps from the last state.

    Args:
        rewards, discounts: (time, batch...).
        next_values: the value of the state after each step, (time, batch...).
        n: how many rewards, 1 or more.

    Returns:
        (time, batch...).
    """
    r, gamma, v = _trajectory(rewards, discounts, next_values)
    if n < 1:
        raise InputError(f"n is {n}; it must be 1 or more.")
    returns = np.empty_like(r)
    for t in range(len(r)):
        last = min(t + n, len(r)) - 1
        found = v[last]
        for k in range(last, t - 1, -1):
            found = r[k] + gamma[k] * found
        returns[t] = found
    return returns


def lambda_returns(rewards: Any, discounts: Any, next_values: Any, lambda_: float) -> Array:
    """G_t = r_t + gamma_t ((1 - lambda) v_{t+1} + lambda G_{t+1}), with the last value at the end.

    Sutton and Barto 2018, "Reinforcement Learning", equation 12.18 with state values alone.

    Args:
        rewards, discounts: (time, batch...).
        next_values: the value of the state after each step, (time, batch...).
        lambda_: in [0, 1]; 0 gives one-step returns, 1 Monte Carlo returns.

    Returns:
        (time, batch...).
    """
    r, gamma, v = _trajectory(rewards, discounts, next_values)
    _expect_lambda(lambda_)
    returns = np.empty_like(r)
    after = v[-1]
    for t in reversed(range(len(r))):
        after = returns[t] = r[t] + gamma[t] * ((1 - lambda_) * v[t] + lambda_ * after)
    return returns


def gae(rewards: Any, discounts: Any, values: Any, lambda_: float) -> Array:
    """Generalised advantages: the sum of (gamma lambda)^l delta_{t+l}.

    Schulman et al. 2016, "High-Dimensional Continuous Control Using Generalized Advantage
    Estimation" (arXiv:1506.02438), equation 16; delta_t = r_t + gamma v_{t+1} - v_t.

    Args:
        rewards, discounts: (time, batch...).
        values: of every state and of the one after the last step, (time + 1, batch...).
        lambda_: in [0, 1].

    Returns:
        (time, batch...).
    """
    v = _values_and_last(rewards, values)
    r, gamma, after = _trajectory(rewards, discounts, v[1:])
    _expect_lambda(lambda_)
    deltas = r + gamma * after - v[:-1]
    return _accumulate(deltas, gamma * lambda_)


def vtrace(
    log_ratios: Any,
    rewards: Any,
    discounts: Any,
    values: Any,
    rho_clip: float = 1.0,
    c_clip: float = 1.0,
) -> dict[str, Array]:
    """V-trace targets and advantages of trajectories that another policy made.

    Espeholt et al. 2018, "IMPALA" (arXiv:1802.01561): equation 1 for the targets in the recursive
    form of remark 1; section 4.2 for the advantages, rho_t (r_t + gamma v_{t+1} - V(x_t)).

    Args:
        log_ratios: log pi(a|x) - log mu(a|x) of target and behaviour policy, (time, batch...).
        rewards, discounts: (time, batch...).
        values: V of every state and of the one after the last step, (time + 1, batch...).
        rho_clip, c_clip: the paper's rho-bar and c-bar.

    Returns:
        `targets` and `advantages`, both (time, batch...).
    """
    v = _values_and_last(rewards, values)
    r, gamma, after = _trajectory(rewards, discounts, v[1:])
    logs = floats("log_ratios", log_ratios)
    expect_shape("log_ratios", logs, r.shape, "(time, batch...)")
    ratios = np.exp(logs)
    rho, c = np.minimum(rho_clip, ratios), np.minimum(c_clip, ratios)
    targets = v[:-1] + _accumulate(rho * (r + gamma * after - v[:-1]), gamma * c)
    following = np.concatenate([targets[1:], v[-1:]])
    return {"targets": targets, "advantages": rho * (r + gamma * following - v[:-1])}


def _accumulate(deltas: Array, factors: Array) -> Array:
    """x_t = delta_t + factor_t x_{t+1}, from the end on."""
    found = np.empty_like(deltas)
    after = np.zeros_like(deltas[0])
    for t in reversed(range(len(deltas))):
        after = found[t] = deltas[t] + factors[t] * after
    return found


def _trajectory(rewards: Any, discounts: Any, next_values: Any) -> tuple[Array, Array, Array]:
    r, gamma = floats("rewards", rewards), floats("discounts", discounts)
    v = floats("next_values", next_values)
    expect_axes("rewards", r, 1, "(time, batch...)")
    expect_shape("discounts", gamma, r.shape, "(time, batch...) of rewards")
    expect_shape("next_values", v, r.shape, "(time, batch...) of rewards")
    return r, gamma, v


def _values_and_last(rewards: Any, values: Any) -> Array:
    r, v = floats("rewards", rewards), floats("values", values)
    expect_axes("rewards", r, 1, "(time, batch...)")
    expect_shape("values", v, (r.shape[0] + 1, *r.shape[1:]), "(time + 1, batch...) of rewards")
    return v


def _expect_lambda(lambda_: float) -> None:
    if not 0 <= lambda_ <= 1:
        raise InputError(f"lambda_ is {lambda_}; it must be in [0, 1].")
