"""Heads whose output is a distribution of returns: C51, QR-DQN and IQN, with their losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.errors import InputError
from parity.rl.arrays import expect_axes, expect_shape, floats, log_softmax
from parity.tape import Array

# --- C51: Bellemare et al. 2017, "A Distributional Perspective on Reinforcement Learning" --------
# arXiv:1707.06887


def c51_support(v_min: float, v_max: float, atoms: int) -> Array:
    """The returns that the atoms stand for, evenly spaced: (atoms,)."""
    if not v_min < v_max or atoms < 2:
        raise InputError(f"a support needs v_min < v_max and two atoms, not {v_min, v_max, atoms}.")
    return np.linspace(v_min, v_max, atoms)


def c51_q(logits: Any, support: Any) -> Array:
    """Expected returns: the sum of z_i p_i, where p is the softmax of the logits over the atoms.

    Bellemare et al. 2017, section 4 and algorithm 1.

    Args:
        logits: (..., atoms), in an agent (batch, actions, atoms).
        support: (atoms,).

    Returns:
        (...): action values.
    """
    logits, z = floats("logits", logits), floats("support", support)
    expect_axes("logits", logits, 1, "(..., atoms)")
    expect_shape("support", z, logits.shape[-1:], f"(atoms,) of logits {logits.shape}")
    found: Array = np.exp(log_softmax(logits)) @ z
    return found


def c51_projection(probabilities: Any, rewards: Any, discounts: Any, support: Any) -> Array:
    """The distribution of r + gamma Z, put back on the support.

    Bellemare et al. 2017, equation 7: the weight of atom j on atom i is
    1 - |clip(r + gamma z_j) - z_i| / dz, where that is above 0. Algorithm 1 of the paper says the
    same, but drops the mass of an atom that falls exactly on another (its lower and upper neighbour
    are then one, and both shares are 0); this does not.

    Args:
        probabilities: of the next state's greedy action, (batch..., atoms).
        rewards: (batch...).
        discounts: (batch...), 0 where the episode ended.
        support: (atoms,), evenly spaced and rising.

    Returns:
        (batch..., atoms).
    """
    p, z = floats("probabilities", probabilities), floats("support", support)
    expect_axes("probabilities", p, 1, "(batch..., atoms)")
    expect_shape("support", z, p.shape[-1:], f"(atoms,) of probabilities {p.shape}")
    r, gamma = floats("rewards", rewards), floats("discounts", discounts)
    for name, array in (("rewards", r), ("discounts", gamma)):
        expect_shape(name, array, p.shape[:-1], f"(batch...) of probabilities {p.shape}")
    steps = np.diff(z)
    # a support may come in float32, whose steps are even to its rounding
    if not z.size > 1 or not (steps > 0).all() or np.ptp(steps) > 1e-5 * np.abs(z).max():
        raise InputError("support must hold two atoms or more, evenly spaced and rising.")
    dz = (z[-1] - z[0]) / (z.size - 1)
    moved = np.clip(r[..., None] + gamma[..., None] * z, z[0], z[-1])
    distance = np.abs(moved[..., None, :] - z[:, None]) / dz  # (batch..., onto, from)
    found: Array = np.einsum("...ij,...j->...i", np.clip(1 - distance, 0.0, 1.0), p)
    return found


def c51_loss(logits: Any, target: Any) -> Array:
    """The cross-entropy of the projected target and the prediction, over the atoms.

    Bellemare et al. 2017, algorithm 1.

    Args:
        logits: of the action taken, (batch..., atoms).
        target: probabilities of `c51_projection`, of the same shape.

    Returns:
        (batch...), before any mean over the batch.
    """
    logits, target = floats("logits", logits), floats("target", target)
    expect_axes("logits", logits, 1, "(batch..., atoms)")
    expect_shape("target", target, logits.shape, "(batch..., atoms)")
    with np.errstate(invalid="ignore"):  # 0 * -inf is 0 here
        found: Array = -np.where(target == 0, 0.0, target * log_softmax(logits)).sum(-1)
    return found


# --- QR-DQN: Dabney et al. 2018, "Distributional Reinforcement Learning with Quantile Regression" -
# arXiv:1710.10044


def quantile_midpoints(quantiles: int) -> Array:
    """The probabilities that QR-DQN's quantiles stand for: (2i - 1) / 2N for i = 1 .. N (lemma 2).

    Returns:
        (quantiles,).
    """
    if quantiles < 1:
        raise InputError(f"there must be one quantile or more, not {quantiles}.")
    return (2 * np.arange(quantiles) + 1) / (2 * quantiles)


def quantile_q(quantiles: Any) -> Array:
    """Expected returns: the mean over the quantiles.

    Dabney et al. 2018, section "Quantile Regression DQN"; IQN's too, over sampled probabilities.

    Args:
        quantiles: (..., quantiles), in an agent (batch, actions, quantiles).

    Returns:
        (...): action values.
    """
    array = floats("quantiles", quantiles)
    expect_axes("quantiles", array, 1, "(..., quantiles)")
    found: Array = array.mean(-1)
    return found


def quantile_huber_loss(quantiles: Any, targets: Any, kappa: float = 1.0) -> Array:
    """QR-DQN's loss: over the quantiles the sum, over the targets the mean, of rho(target - theta).

    Dabney et al. 2018, equations 9 and 10 and algorithm 1: rho(u) = |tau - 1{u < 0}| L_kappa(u),
    where L is Huber's loss, u^2 / 2 up to kappa and kappa (|u| - kappa / 2) beyond; with `kappa=0`
    the absolute value.

    Args:
        quantiles: predictions at the midpoints, (batch..., quantiles).
        targets: (batch..., targets), as many or as few as there are.
        kappa: where the loss turns linear.

    Returns:
        (batch...), before any mean over the batch.
    """
    theta = floats("quantiles", quantiles)
    expect_axes("quantiles", theta, 1, "(batch..., quantiles)")
    taus = np.broadcast_to(quantile_midpoints(theta.shape[-1]), theta.shape)
    return _quantile_loss(theta, targets, taus, kappa)


def _quantile_loss(theta: Array, targets: Any, taus: Array, kappa: float) -> Array:
    targets = floats("targets", targets)
    expect_axes("targets", targets, 1, "(batch..., targets)")
    expect_shape(
        "targets",
        targets,
        (*theta.shape[:-1], targets.shape[-1]),
        f"(batch..., targets) of quantiles {theta.shape}",
    )
    if not kappa >= 0:
        raise InputError(f"kappa is {kappa}; it must be 0 or more.")
    u = targets[..., None, :] - theta[..., :, None]  # (batch..., quantiles, targets)
    size = np.abs(u)
    linear = kappa * (size - kappa / 2) if kappa else size
    huber = np.where(size <= kappa, u**2 / 2, linear)
    found: Array = (np.abs(taus[..., None] - (u < 0)) * huber).mean(-1).sum(-1)
    return found


# --- IQN: Dabney et al. 2018, "Implicit Quantile Networks for Distributional RL" -----------------
# arXiv:1806.06923


def cosine_basis(taus: Any, count: int = 64, first: int = 0) -> Array:
    """cos(pi i tau) for `count` values of i.

    Dabney et al. 2018 (IQN), equation 4 has i = 0 .. n-1, so that the first feature is always 1.
    ChainerRL and PFRL take i = 1 .. n, and say that their authors were told that this was meant:
    `first=1`.

    Args:
        taus: (...), in [0, 1].
        count: n.
        first: the smallest i.

    Returns:
        (..., count).
    """
    found: Array = np.cos(np.pi * np.arange(first, first + count) * floats("taus", taus)[..., None])
    return found


def iqn_embedding(taus: Any, weight: Any, bias: Any, first: int = 0) -> Array:
    """The embedding of probabilities: the ReLU of a linear layer over `cosine_basis`.

    Dabney et al. 2018 (IQN), equation 4.

    Args:
        taus: (...).
        weight: (features, n), as torch and Chainer keep it.
        bias: (features,).
        first: see `cosine_basis`.

    Returns:
        (..., features), to be multiplied with the state's features.
    """
    w, b = floats("weight", weight), floats("bias", bias)
    expect_axes("weight", w, 2, "(features, n)")
    expect_shape("bias", b, w.shape[:1], f"(features,) of weight {w.shape}")
    found: Array = np.maximum(cosine_basis(taus, w.shape[1], first) @ w.T + b, 0.0)
    return found


def iqn_loss(quantiles: Any, targets: Any, taus: Any, kappa: float = 1.0) -> Array:
    """IQN's loss: over the quantiles the sum, over the targets the mean, of rho(target - z).

    Dabney et al. 2018 (IQN), sections 2 and 3: as QR-DQN's, at given probabilities, and divided by
    kappa; at `kappa=0` not divided.

    Args:
        quantiles: predictions, (batch..., quantiles).
        targets: (batch..., targets).
        taus: the probabilities of the predictions, shape of `quantiles`.
        kappa: where the loss turns linear.

    Returns:
        (batch...), before any mean over the batch.
    """
    theta, taus = floats("quantiles", quantiles), floats("taus", taus)
    expect_axes("quantiles", theta, 1, "(batch..., quantiles)")
    expect_shape("taus", taus, theta.shape, "one for each quantile")
    return _quantile_loss(theta, targets, taus, kappa) / (kappa or 1.0)
