"""Looks again at a small difference on inputs that would make a true one large.

Rounded constants explain a difference in proportion. An epsilon does not stay in proportion: on
inputs of small variance it takes over. A one-pass variance fails at a large mean, an activation's
variant shows at a larger magnitude.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from parity.diagnosis.locate import Parting
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.numerics.rounding import explained_by_constants
from parity.numerics.scaling import is_rounding
from parity.tape import Array, Op, Precision, Replay

# It must stand out from what rounding explains there by this much.
_MARGIN = 8.0
_VISIBLE = 1e-6

_VARIATIONS: Mapping[str, Callable[[Array], Array]] = {
    "1,000 times smaller": lambda x: x * 1e-3,
    "30 times larger": lambda x: x * 30.0,
    "shifted by 100 times their size": lambda x: x + 100.0 * float(np.sqrt(np.mean(x * x))),
}


def amplified(repaired: Match, parting: Parting) -> str:
    """On which inputs a difference outgrows what rounding explains; "" if on none.

    Says nothing where the inputs of the two regions cannot be changed alike.
    """
    both = both_regions(repaired, parting)
    if both is None:
        return ""
    assert parting.values is not None
    for name, vary in _VARIATIONS.items():
        changed = {value: vary(repaired.reference.array(value)) for value in both.entries}
        ours, theirs = both.run(changed, "float64")
        a, b = both.ends(ours, theirs)
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            continue
        if _size(a) < _VISIBLE * max(map(_size, changed.values())):
            continue  # saturated: what is left is rounding of nothing
        gap = residual(a, b)
        if gap <= _VISIBLE or is_rounding(gap, residual(*both.ends(*both.run(changed, None)))):
            continue
        explained = max(
            explained_by_constants(run.tape, run, region.ops, region.leaves(), value)
            for run, region, value in (
                (ours, parting.reference, parting.values[0]),
                (theirs, parting.candidate, parting.values[1]),
            )
        )
        if gap > _MARGIN * explained:
            return f"it grows to {gap:.1e} of its size on inputs {name}"
    return ""


def _size(array: Array) -> float:
    return float(np.sqrt(np.mean(np.square(array.astype(np.float64)))))


@dataclass(frozen=True)
class BothRegions:
    """The two regions of a parting, to be run on the same inputs, whatever these are.

    Attributes:
        entries: the reference's values that enter, with the moves that lead from each into the
            region.
        partners: the candidate's values that enter, with the reference's that they are.
    """

    repaired: Match
    parting: Parting
    entries: Mapping[int, tuple[Op, ...]]
    partners: Mapping[int, int]

    def run(self, arrays: Mapping[int, Array], precision: Precision) -> tuple[Replay, Replay]:
        """Runs both, fed `arrays` by the reference's value ids."""
        tapes = self.repaired.reference.tape, self.repaired.side.tape
        if precision is None:
            bases = [Replay(tape, None, dict(tape.recorded)) for tape in tapes]
        else:
            bases = [self.repaired.reference.run, self.repaired.side.run]
        fed = {
            value: self.repaired.pairs[value].order.apply(arrays[partner])
            for value, partner in self.partners.items()
        }
        if precision is None:
            arrays = {value: _as(array, bases[0].array(value)) for value, array in arrays.items()}
            fed = {value: _as(array, bases[1].array(value)) for value, array in fed.items()}
        region, other = self.parting.reference, self.parting.candidate
        inside = {op.index for ops in (region.ops, *self.entries.values()) for op in ops}
        return (
            tapes[0].replay(precision, arrays, bases[0], only=inside),
            tapes[1].replay(precision, fed, bases[1], only={op.index for op in other.ops}),
        )

    def ends(self, ours: Replay, theirs: Replay) -> tuple[Array, Array]:
        """The values that end the regions, the reference's laid out as the candidate's."""
        assert self.parting.values is not None and self.parting.order is not None
        a, b = self.parting.values
        return self.parting.order.apply(ours.array(a)), theirs.array(b)


def _as(array: Array, like: Array) -> Array:
    return array.astype(like.dtype, copy=False)


def both_regions(repaired: Match, parting: Parting) -> BothRegions | None:
    """The two regions, if what enters them can be changed alike."""
    entries = _common_entries(repaired, parting)
    if entries is None or parting.values is None or parting.order is None:
        return None
    return BothRegions(repaired, parting, *entries)


def _common_entries(
    repaired: Match, parting: Parting
) -> tuple[dict[int, tuple[Op, ...]], dict[int, int]] | None:
    """The reference's values to change, with the moves from them, and the candidate's partners."""
    partners: dict[int, int] = {}
    for value in parting.candidate.boundary():
        if repaired.side.array(value).dtype.kind != "f":
            continue
        pair = repaired.pairs.get(value)
        if pair is None:
            return None
        partners[value] = pair.reference
    paths: dict[int, tuple[Op, ...]] = {value: () for value in partners.values()}
    sources = set()
    for value in parting.reference.boundary():
        if repaired.reference.array(value).dtype.kind != "f":
            continue
        moves: list[Op] = []
        while value not in paths:
            op = repaired.reference.tape.producer(value)
            if op is None or op.role != "move" or len(op.inputs) != 1:
                return None
            moves.append(op)
            value = op.inputs[0]
        paths[value] = (*paths[value], *moves)
        sources.add(value)
    return (paths, partners) if partners and sources == set(partners.values()) else None
