"""A parameter that is another, whose effect on these inputs is as small as rounding's.

A dense layer's weight off by 1% hardly shows behind a saturated tanh. What is left of it there may
be as much as a constant's rounding leaves, but it comes of no rounding, and is not called so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.case import Case, case_of
from parity.diagnosis.region import DifferingLeaf, Mismatch
from parity.errors import ReplayError
from parity.format import share
from parity.matching.axis_order import orders
from parity.matching.limits import SAME
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.numerics.limits import UNITS
from parity.tape import Array


@dataclass(frozen=True)
class _Other:
    """A leaf that differs."""

    name: str
    leaf: int
    reference: Array  # laid out as the candidate keeps it
    candidate: Array
    far: bool  # by more than rounding could

    @property
    def stated(self) -> str:
        gap = np.abs(self.candidate - self.reference)
        at = np.unravel_index(int(gap.argmax()), gap.shape)
        a, b = float(self.reference[at]), float(self.candidate[at])
        amount = share(abs(b - a) / abs(a)).replace("their", "its") if a else f"by {abs(b):.1e}"
        where = f" at ({', '.join(map(str, at))})" if at else ""
        return f"{self.name} differs {amount}{where}: {a:.7g} and {b:.7g}"


def other_parameters(repaired: Match, mismatch: Mismatch, case: Case | None = None) -> str:
    """Which parameters or constants make two values differ and are no roundings; "" if none.

    A parameter is reported if the candidate, given the reference's in its place, gives the
    reference's value: where a norm is folded into a weight, it does not.

    Args:
        case: of the mismatch, where there is one already.
    """
    found = [other for leaf in mismatch.leaves if (other := _other(repaired, leaf)) is not None]
    if not any(other.far for other in found):
        return ""
    case = case or case_of(repaired, mismatch)
    if case is None or not _makes_up(case, {other.leaf: other.reference for other in found}):
        return ""
    stated = "; ".join(other.stated for other in found if other.far)
    return f"{stated}; on these inputs that changes no more than rounding would, on others it may"


def _other(repaired: Match, leaf: DifferingLeaf) -> _Other | None:
    """A leaf of the candidate beside the reference's, in the order of axes that fits best."""
    if leaf.reference is None or leaf.candidate is None or leaf.relation == "arranged":
        return None
    reference = repaired.reference.array(leaf.reference)
    tape = repaired.side.tape
    candidate = tape.adapter.to_numpy(tape.recorded[leaf.candidate])
    if candidate.dtype.kind != "f" or reference.dtype.kind != "f":
        return None
    candidate = candidate.astype(np.float64)
    laid = [order.apply(reference) for order in orders(reference.shape, candidate.shape)]
    if not laid:
        return None
    best = min(laid, key=lambda one: residual(candidate, one))
    value = tape.values[leaf.candidate]
    dtypes = repaired.reference.tape.values[leaf.reference].dtype, value.dtype
    unit = max(UNITS.get(dtype, UNITS["float32"]) for dtype in dtypes)
    bound = limits.FAR_PARAMETER * unit * float(np.abs(best).max())
    far = float(np.abs(candidate - best).max()) > bound
    name = value.name or f"a {value.kind} of {value.shape}"
    return _Other(name, leaf.candidate, best, candidate, far)


def _makes_up(case: Case, leaves: Mapping[int, Array]) -> bool:
    """Whether the candidate with these values gives the reference's value."""
    first = case.first
    try:
        left = residual(first.reference, case.run_candidate(first.given, leaves))
    except ReplayError:
        return False
    return left <= max(SAME, limits.LEFT * first.gap)
