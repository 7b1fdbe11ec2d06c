"""What a policy would decide from two models' outputs: shown beside the verdict, never part of it.

Greedy actions agree in nearly all states between a right and a wrong model, and disagree between
two right ones where two actions are worth the same but for rounding. So agreement proves nothing,
and such ties are named ties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parity.tape import Array

_TOP = 3


@dataclass(frozen=True)
class Decisions:
    """Choices along the last axis of an output, over all its rows.

    Attributes:
        greedy: share of rows in which both models choose the same, ties counted as agreement.
        ties: rows in which they choose differently, and the two best are closer than rounding.
        margin: the smallest distance of the best from the second best, over the rounding of the
            reference's row; below 1 it is a tie. inf where nothing is rounded.
        top: share of rows with the same set of the three best (fewer where there are fewer).
        sampled: the share of uniform draws for which sampling gives another action: the outputs
            are taken as probabilities if they are, else as logits.
    """

    greedy: float
    ties: int
    margin: float
    top: float
    sampled: float


def decide(reference: Array, candidate: Array, exact: Array) -> Decisions | None:
    """Compares decisions; None where an output is no table of choices.

    Args:
        reference, candidate: an output of both models, (..., choices), as they ran.
        exact: the reference's output in float64; what it is off is the rounding of a row.
    """
    if reference.ndim < 2 or reference.shape[-1] < 2 or reference.shape != candidate.shape:
        return None
    if reference.dtype.kind != "f" or candidate.dtype.kind != "f":
        return None
    a = reference.astype(np.float64).reshape(-1, reference.shape[-1])
    b = candidate.astype(np.float64).reshape(a.shape)
    with np.errstate(all="ignore"):
        off = np.abs(a - exact.reshape(a.shape))
        rounding = 2 * np.where(np.isfinite(off), off, 0.0).max(-1)
        best = np.partition(a, -2, axis=-1)
        margins = best[:, -1] - best[:, -2]
        same = a.argmax(-1) == b.argmax(-1)
        tied = ~same & (margins <= rounding)
        ratios = np.where(rounding > 0, margins / np.where(rounding > 0, rounding, 1.0), np.inf)
        top = min(_TOP, a.shape[-1] - 1)
        alike = np.sort(_best(a, top)) == np.sort(_best(b, top))
        sampled = float(np.mean(_sampled_otherwise(_probabilities(a), _probabilities(b))))
    return Decisions(
        float((same | tied).mean()),
        int(tied.sum()),
        float(np.nanmin(ratios)) if not np.isnan(ratios).all() else float("nan"),
        float(alike.all(-1).mean()),
        sampled,
    )


def _best(rows: Array, count: int) -> Array:
    found: Array = np.argsort(-rows, axis=-1, kind="stable")[:, :count]
    return found


def _probabilities(rows: Array) -> Array:
    if (rows >= 0).all() and np.allclose(rows.sum(-1), 1.0, atol=1e-3):
        normal: Array = rows / rows.sum(-1, keepdims=True)
        return normal
    powers = np.exp(rows - rows.max(-1, keepdims=True))
    found: Array = powers / powers.sum(-1, keepdims=True)
    return found


def _sampled_otherwise(a: Array, b: Array) -> Array:
    """For each row the share of [0, 1) in which the inverse distribution functions differ."""
    ours, theirs = np.cumsum(a, -1), np.cumsum(b, -1)
    low = np.maximum(ours - a, theirs - b)
    high = np.minimum(ours, theirs)
    agree: Array = np.clip(high - low, 0.0, None).sum(-1)
    return np.clip(1.0 - agree, 0.0, 1.0)
