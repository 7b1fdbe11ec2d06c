"""Dueling, noisy, C51, QR-DQN and IQN heads against loops and torch."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import parity

from .against_torch import F, tensor, torch
from .checking import Case, Mutant, same


def check_dueling(book: Any, case: Case) -> None:
    draw = case.draws()
    value = case.scale * draw.normal(size=case.batch)
    advantage = case.scale * draw.normal(size=(*case.batch, case.n))
    centers = {"mean": np.mean, "max": np.max, "none": lambda row: 0.0}
    for center, of in centers.items():
        expected = np.empty_like(advantage)
        for index in np.ndindex(case.batch):
            for action in range(case.n):
                row = advantage[index]
                expected[(*index, action)] = value[index] + row[action] - of(row)
        same(book.dueling_q(value, advantage, center), expected)
        same(book.dueling_q(value[..., None], advantage, center), expected)


def check_dueling_over_atoms(book: Any, case: Case) -> None:
    draw = case.draws()
    value, advantage = (
        case.scale * draw.normal(size=(*case.batch, *more))
        for more in ((case.m,), (case.n, case.m))
    )
    found = book.dueling_q(value, advantage, axis=-2)
    for atom in range(case.m):
        same(found[..., atom], parity.rl.dueling_q(value[..., atom], advantage[..., atom]))


def check_noisy(book: Any, case: Case) -> None:
    draw = case.draws()
    x = case.scale * draw.normal(size=(*case.batch, case.m))
    w, sw, ew = (draw.normal(size=(case.n, case.m)) for _ in range(3))
    b, sb, eb = (draw.normal(size=case.n) for _ in range(3))
    expected = F.linear(tensor(x), tensor(w), tensor(b))
    expected = expected + F.linear(tensor(x), tensor(sw) * tensor(ew), tensor(sb) * tensor(eb))
    same(book.noisy_linear(x, w, b, sw, sb, ew, eb), expected)
    ins, outs = draw.normal(size=case.m), draw.normal(size=case.n)
    squashed = [[math.copysign(math.sqrt(abs(e)), e) for e in one] for one in (ins, outs)]
    ew = [[out * one for one in squashed[0]] for out in squashed[1]]
    expected = parity.rl.noisy_linear(x, w, b, sw, sb, ew, squashed[1])
    same(book.noisy_linear_factorised(x, w, b, sw, sb, ins, outs), expected)


def check_c51_q(book: Any, case: Case) -> None:
    draw = case.draws()
    logits = case.scale * draw.normal(size=(*case.batch, case.n, case.m + 1))
    support = book.c51_support(-3.0, 7.0, case.m + 1)
    same(support, [-3 + 10 * i / case.m for i in range(case.m + 1)])
    expected = (torch.softmax(tensor(logits), -1) * tensor(support)).sum(-1)
    same(book.c51_q(logits, support), expected)


def slow_projection(p: Any, reward: float, discount: float, z: Any) -> Any:
    """Algorithm 1 of Bellemare et al. 2017, with the mass of an atom that falls on another kept."""
    found = np.zeros(len(z))
    step = (z[-1] - z[0]) / (len(z) - 1)
    for j in range(len(z)):
        place = (min(max(reward + discount * z[j], z[0]), z[-1]) - z[0]) / step
        place = min(max(place, 0.0), len(z) - 1.0)
        low, high = math.floor(place), math.ceil(place)
        found[low] += p[j] * (1 - (place - low))
        found[high] += p[j] * (place - low)
    return found


def check_projection(book: Any, case: Case) -> None:
    draw = case.draws()
    z = np.linspace(-2.0, 2.0, case.m + 1)
    p = draw.dirichlet(np.ones(case.m + 1), size=case.batch)
    # half of the rewards put atoms exactly on atoms; large ones push all beyond the ends
    r = np.where(
        draw.random(case.batch) < 0.5, z[1] - z[0], case.scale * draw.normal(size=case.batch)
    )
    gamma = draw.choice([0.0, 0.9, 1.0], size=case.batch)
    found = book.c51_projection(p, r, gamma, z)
    for index in np.ndindex(case.batch):
        same(found[index], slow_projection(p[index], r[index], gamma[index], z))
    same(found.sum(-1), np.ones(case.batch))


def check_c51_loss(book: Any, case: Case) -> None:
    draw = case.draws()
    logits = case.scale * draw.normal(size=(*case.batch, case.m))
    target = draw.dirichlet(np.ones(case.m), size=case.batch)
    rows = F.cross_entropy(
        tensor(logits).reshape(-1, case.m), tensor(target).reshape(-1, case.m), reduction="none"
    )
    same(book.c51_loss(logits, target), rows.reshape(case.batch))


def slow_quantile_loss(theta: Any, targets: Any, taus: Any, kappa: float) -> float:
    total = 0.0
    for (one, tau), target in itertools.product(zip(theta, taus, strict=True), targets):
        u = target - one
        huber = F.huber_loss(tensor(u), tensor(0.0), delta=kappa).item() if kappa else abs(u)
        total += (tau if u >= 0 else 1 - tau) * huber / len(targets)
    return total


def check_quantile_loss(book: Any, case: Case) -> None:
    draw = case.draws()
    theta = case.scale * draw.normal(size=(*case.batch, case.n))
    targets = case.scale * draw.normal(size=(*case.batch, case.m))
    midpoints = [(i + 0.5) / case.n for i in range(case.n)]
    same(book.quantile_midpoints(case.n), midpoints)
    taus = draw.random(theta.shape)
    for kappa in (0.0, 0.5, 1.0):
        found = book.quantile_huber_loss(theta, targets, kappa)
        given_taus = book.iqn_loss(theta, targets, taus, kappa)
        assert found.shape == given_taus.shape == case.batch
        for i in np.ndindex(case.batch):
            same(found[i], slow_quantile_loss(theta[i], targets[i], midpoints, kappa))
            slow = slow_quantile_loss(theta[i], targets[i], taus[i], kappa)
            same(given_taus[i], slow / kappa if kappa else slow)
    same(book.quantile_q(theta), sum(theta[..., i] for i in range(case.n)) / case.n)


def check_iqn_embedding(book: Any, case: Case) -> None:
    draw = case.draws()
    taus = draw.random((*case.batch, case.n))
    weight, bias = draw.normal(size=(case.n, case.m)), draw.normal(size=case.n)
    for first in (0, 1):
        basis = np.array(
            [[math.cos(math.pi * (first + i) * tau) for i in range(case.m)] for tau in taus.flat]
        ).reshape(*taus.shape, case.m)
        same(book.cosine_basis(taus, case.m, first), basis)
        expected = torch.relu(F.linear(tensor(basis), tensor(weight), tensor(bias)))
        same(book.iqn_embedding(taus, weight, bias, first), expected)


CHECKS = [
    check_dueling,
    check_dueling_over_atoms,
    check_noisy,
    check_c51_q,
    check_projection,
    check_c51_loss,
    check_quantile_loss,
    check_iqn_embedding,
]
MUTANTS = [
    Mutant(check_dueling, "heads", "a.mean(axis, keepdims=True)", "a.mean(0, keepdims=True)"),
    Mutant(check_dueling, "heads", "a.max(axis, keepdims=True)", "a.min(axis, keepdims=True)"),
    Mutant(check_dueling, "heads", "v + (a - _C", "v - (a - _C"),
    Mutant(check_dueling_over_atoms, "heads", "axis %= a.ndim", "axis = a.ndim - 1"),
    Mutant(check_noisy, "heads", "mean + sigma * noise", "mean - sigma * noise"),
    Mutant(check_noisy, "heads", "np.outer(outs, ins), outs", "np.outer(outs, ins), -outs"),
    Mutant(check_noisy, "heads", "np.sign(noise) * np.sqrt", "np.sqrt"),
    Mutant(check_c51_q, "distributional", "np.exp(log_softmax(logits)) @ z", "logits @ z"),
    Mutant(
        check_c51_q, "distributional", "log_softmax(logits)) @ z", "log_softmax(logits, -2)) @ z"
    ),
    Mutant(
        check_c51_q,
        "distributional",
        "np.linspace(v_min, v_max, atoms)",
        "np.linspace(v_max, v_min, atoms)",
    ),
    Mutant(check_projection, "distributional", '"...ij,...j->...i"', '"...ij,...i->...j"'),
    Mutant(check_projection, "distributional", "np.clip(r[..., None] +", "np.clip(-r[..., None] +"),
    Mutant(
        check_projection,
        "distributional",
        "gamma[..., None] * z, z[0], z[-1])",
        "gamma[..., None] * z, -9e9, 9e9)",
    ),
    Mutant(check_projection, "distributional", "np.clip(1 - distance, 0.0, 1.0)", "(1 - distance)"),
    Mutant(check_c51_loss, "distributional", "-np.where(target == 0", "np.where(target == 0"),
    Mutant(
        check_c51_loss,
        "distributional",
        "target * log_softmax(logits)).sum(-1)",
        "target * log_softmax(logits)).mean(-1)",
    ),
    Mutant(check_quantile_loss, "distributional", "(u < 0)", "(u > 0)"),
    Mutant(
        check_quantile_loss,
        "distributional",
        "targets[..., None, :] - theta[..., :, None]",
        "theta[..., :, None] - targets[..., None, :]",
    ),
    Mutant(check_quantile_loss, "distributional", ".mean(-1).sum(-1)", ".sum(-1).mean(-1)"),
    Mutant(check_quantile_loss, "distributional", "size <= kappa", "size >= kappa"),
    Mutant(check_quantile_loss, "distributional", "/ (kappa or 1.0)", "* (kappa or 1.0)"),
    Mutant(
        check_quantile_loss,
        "distributional",
        "(2 * np.arange(quantiles) + 1)",
        "(2 * np.arange(quantiles))",
    ),
    Mutant(check_quantile_loss, "distributional", "array.mean(-1)", "array.max(-1)"),
    Mutant(
        check_iqn_embedding,
        "distributional",
        "np.arange(first, first + count)",
        "np.arange(1, 1 + count)",
    ),
    Mutant(check_iqn_embedding, "distributional", "@ w.T + b, 0.0", "@ w.T + b, -9e9"),
]
