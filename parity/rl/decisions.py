"""What a policy would decide from two models' outputs: shown beside the verdict, never part of it.

Greedy actions agree in nearly all states between a right and a wrong model, and disagree between
two right ones where two actions are worth the same but for rounding. So agreement proves nothing,
and such ties are named ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parity.tape import Array

_TOP = 3
_AT_ONCE = 1 << 20  # elements, so that nothing of the whole size is made


@dataclass(frozen=True)
class Decisions:
    """Choices along the last axis of an output, over all its rows.

    Attributes:
        greedy: share of rows in which both models choose the same, ties counted as agreement.
        ties: rows in which they choose differently, and the two best are closer than rounding.
        margin: the smallest distance of the best from the second best, over the rounding of the
            reference's row; below 1 it is a tie. inf where nothing is rounded.
        top3: share of rows with the same set of the three best (fewer where there are fewer).
        sampled: the share of uniform draws for which sampling gives another action: the outputs
            are taken as probabilities if they are, else as logits.
    """

    greedy: float
    ties: int
    margin: float
    top3: float
    sampled: float


def decide(reference: Array, candidate: Array, exact: Array) -> Decisions | None:
    """Compares decisions; None where an output is no table of choices.

    Args:
        reference, candidate: an output of both models, (..., choices), as they ran.
        exact: the reference's output in float64; what it is off is the rounding of a row.
    """
    if reference.shape != candidate.shape or reference.ndim < 2 or not reference.size:
        return None
    if reference.shape[-1] < 2 or reference.dtype.kind != "f" or candidate.dtype.kind != "f":
        return None
    rows = [array.reshape(-1, array.shape[-1]) for array in (reference, candidate, exact)]
    step = max(1, _AT_ONCE // reference.shape[-1])
    parts = [slice(at, at + step) for at in range(0, len(rows[0]), step)]
    with np.errstate(all="ignore"):
        weighed = [all(_are_probabilities(one[part]) for part in parts) for one in rows[:2]]
        found = [_of_rows(weighed, *(one[part] for one in rows)) for part in parts]
        same, tied, ratios, alike, otherwise = map(np.concatenate, zip(*found, strict=True))
    return Decisions(
        float((same | tied).mean()),
        int(tied.sum()),
        float(np.nanmin(ratios)) if not np.isnan(ratios).all() else float("nan"),
        float(alike.mean()),
        float(np.mean(otherwise)),
    )


def _of_rows(
    weighed: Sequence[bool], reference: Array, candidate: Array, exact: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """What is decided in each row; see `Decisions`.

    Args:
        weighed: whether each model's outputs are probabilities.

    Returns:
        Whether both choose the same; whether it is a tie; the margin over the rounding; whether
        the best are the same set; the share of draws that give another action.
    """
    a, b = reference.astype(np.float64), candidate.astype(np.float64)
    off = np.abs(a - exact)
    rounding = 2 * np.where(np.isfinite(off), off, 0.0).max(-1)
    best = np.partition(a, -2, axis=-1)
    margins = best[:, -1] - best[:, -2]
    same = a.argmax(-1) == b.argmax(-1)
    ratios = np.where(rounding > 0, margins / np.where(rounding > 0, rounding, 1.0), np.inf)
    top = min(_TOP, a.shape[-1] - 1)
    alike = (np.sort(_best(a, top)) == np.sort(_best(b, top))).all(-1)
    tied = ~same & (margins <= rounding)
    shares = [_probabilities(*one) for one in zip((a, b), weighed, strict=True)]
    return same, tied, ratios, alike, _sampled_otherwise(shares[0], shares[1])


def _best(rows: Array, count: int) -> Array:
    """Of each row the places of the largest numbers, of equal ones the first."""
    left = np.fmax(rows, np.finfo(rows.dtype).min)  # what is taken is less than a masked choice
    found, at = [], np.arange(len(rows))
    for _ in range(count):
        found.append(left.argmax(-1))
        left[at, found[-1]] = -np.inf
    return np.stack(found, -1)


def _are_probabilities(rows: Array) -> bool:
    rows = rows.astype(np.float64)
    return bool((rows >= 0).all() and np.allclose(rows.sum(-1), 1.0, atol=1e-3))


def _probabilities(rows: Array, weighed: bool) -> Array:
    if weighed:
        normal: Array = rows / rows.sum(-1, keepdims=True)
        return normal
    powers = np.exp(rows - rows.max(-1, keepdims=True))
    found: Array = powers / powers.sum(-1, keepdims=True)
    return found


def _sampled_otherwise(a: Array, b: Array) -> Array:
    """For each row the share of [0, 1) in which the inverse distribution functions differ."""
    reference, candidate = np.cumsum(a, -1), np.cumsum(b, -1)
    low = np.maximum(reference - a, candidate - b)
    high = np.minimum(reference, candidate)
    agree: Array = np.clip(high - low, 0.0, None).sum(-1)
    return np.clip(1.0 - agree, 0.0, 1.0)
