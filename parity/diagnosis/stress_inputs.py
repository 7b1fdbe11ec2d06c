"""Looks again at a small difference on inputs that would make a true one large.

Rounded constants explain a difference in proportion. An epsilon does not stay in proportion: on
inputs of small variance it takes over. A one-pass variance fails at a large mean, an activation's
variant shows at a larger magnitude.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.case import Case
from parity.diagnosis.enlarged_regions import enclosures
from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import OutputPair
from parity.errors import ReplayError
from parity.numerics.difference import residual
from parity.numerics.precision_scaling import is_rounding
from parity.numerics.rounding import explained_by_constants
from parity.tape import Array, Replay

# How inputs vary, on the way there by a share of it.
_VARIATIONS: Mapping[str, Callable[[float, Array], Array]] = {
    "1,000 times smaller": lambda share, x: x * 1e-3**share,
    "30 times larger": lambda share, x: x * 30.0**share,
    "shifted by 100 times their size": lambda share, x: (
        x + 1e3 ** (share - 1) * 100.0 * float(np.sqrt(np.mean(x * x)))
    ),
}


def amplified(case: Case, outputs: Sequence[OutputPair]) -> str:
    """On which inputs a difference outgrows what rounding explains; "" if on none.

    Args:
        case: its regions read the same values, which are changed alike.
        outputs: of the models. What the difference grows to has to reach one of them.

    Says nothing where on the same inputs the two models reconverge soon after: the values that end
    the regions then only look alike, as x / 6 + 0.5 and its clipped value do on small inputs.
    """
    found = _grows(case, outputs)
    if not found:
        return ""
    around = list(enclosures(case))
    if any(_ends_in_copies(one, case) and not _grows(one) for one in around):
        return ""
    later = [one for one in around if one.reference.end != case.reference.end]
    if later and not any(_grows(one) for one in later):
        return ""
    return found


def _ends_in_copies(larger: Case, case: Case) -> bool:
    """Whether a larger case ends in the same values, as behind a clip that cuts nothing off."""
    ends = ((one.reference.end, one.candidate.end) for one in (larger, case))
    if len(set(ends)) == 1:
        return False
    first, other = larger.first, case.first
    return np.array_equal(first.reference, other.reference) and np.array_equal(
        first.candidate, other.candidate
    )


def _grows(case: Case, outputs: Sequence[OutputPair] = ()) -> str:
    for name, vary in _VARIATIONS.items():
        with np.errstate(invalid="ignore"):  # of infinite values
            changed = case.redrawn(partial(vary, 1.0))
        if not changed:
            return ""
        try:
            reference, candidate = case.replays(changed)
        except ReplayError:  # outside what an operation takes, as a negative scale
            continue
        a, b = case.ends(reference, candidate)
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            continue
        if _size(a) < limits.VISIBLE_UNDER_STRESS * max(map(_size, changed.values())):
            continue  # saturated: what is left is rounding of nothing
        gap = residual(a, b)
        if gap <= limits.VISIBLE_UNDER_STRESS or is_rounding(
            gap, residual(*case.ends(*case.replays(changed, None)))
        ):
            continue
        explained = max(
            explained_by_constants(run.tape, run, view.ops, [v.id for v in view.leaves], view.end)
            for run, view in ((reference, case.reference), (candidate, case.candidate))
        )
        if not gap > limits.STANDS_OUT * explained or not _gradually(case, vary, gap):
            continue
        if not outputs or _reaches(case, changed, outputs):
            return f"it grows to {gap:.1e} of its size on inputs {name}"
    return ""


def _gradually(case: Case, vary: Callable[[float, Array], Array], to: float) -> bool:
    """Whether a difference grows out of the one that is there, step by step.

    Where it jumps, the inputs left what they are: one model clips there, or normalises what was of
    length 1. That is a difference on inputs that were not given.
    """
    before = residual(case.first.reference, case.first.candidate)
    for share in np.arange(1, limits.STRESS_STEPS + 1) / limits.STRESS_STEPS:
        gap = to
        if share < 1.0:
            try:
                gap = residual(*case.ends(*case.replays(case.redrawn(partial(vary, share)))))
            except ReplayError:
                continue
        if gap > max(limits.STRESS_JUMP * before, limits.VISIBLE_UNDER_STRESS):
            return False
        before = gap
    return True


def _reaches(case: Case, changed: Mapping[int, Array], outputs: Sequence[OutputPair]) -> bool:
    """Whether an output differs where both models go on from the changed inputs.

    What ends the regions may be two values that only look alike on the user's inputs, as before
    and after a clip that cuts nothing off there: then the models agree further on.
    """
    repaired = case.repaired
    bases = repaired.reference.run, repaired.side.run
    pairs = {**repaired.pairs, **{pair.candidate: pair for pair in case.inputs.partner_pairs}}
    # from before what cut nothing off on the user's inputs, and may on these
    changed = {_before_copies(bases[0], value): array for value, array in changed.items()}
    try:
        reference = bases[0].tape.replay("float64", changed, bases[0])
        # of equal values, as before and after a clip, the first is what the candidate is given
        firsts = {v: _before_copies(bases[0], pair.reference) for v, pair in pairs.items()}
        starts = [
            value
            for value, pair in pairs.items()
            if not {pair.reference, firsts[value]}.isdisjoint(changed)
            or pair.reference in case.inputs.starts
        ]
        # what the candidate makes of one of them, as a clip that cuts nothing off, it makes anew
        made = set().union(*(bases[1].tape.graph.descendants(value) for value in starts))
        given = {
            value: pairs[value].order.apply(reference.array(firsts[value]))
            for value in starts
            if value not in made
        }
        candidate = bases[1].tape.replay("float64", given, bases[1])
    except ReplayError:  # outside what an operation further on takes
        return True
    for pair in outputs:
        laid_out = in_reference_layout(repaired, pair, candidate.array(pair.candidate))
        if laid_out is None:
            return True
        gap = residual(reference.array(pair.reference), laid_out)
        if not gap <= limits.VISIBLE_UNDER_STRESS:
            return True
    return False


def _before_copies(run: Replay, value: int) -> int:
    """The first of the values that a value is an equal copy of, each made of the one before."""
    while (op := run.tape.producer(value)) is not None:
        array = run.array(value)
        same = [one for one in op.inputs if one in run and np.array_equal(run.array(one), array)]
        if not same or run.tape.producer(same[0]) is None:
            break
        value = same[0]
    return value


def _size(array: Array) -> float:
    return float(np.sqrt(np.mean(np.square(array.astype(np.float64)))))
