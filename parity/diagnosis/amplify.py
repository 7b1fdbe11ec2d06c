"""Looks again at a small difference on inputs that would make a true one large.

Rounded constants explain a difference in proportion. An epsilon does not stay in proportion: on
inputs of small variance it takes over. A one-pass variance fails at a large mean, an activation's
variant shows at a larger magnitude.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from parity.diagnosis.locate import Parting, Region
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.numerics.rounding import explained_by_constants
from parity.tape import Array, Op, Replay, Tape

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
    assert parting.values is not None and parting.order is not None
    entries = _common_entries(repaired, parting)
    if entries is None:
        return ""
    paths, partners = entries
    reference, candidate = repaired.reference, repaired.side
    for name, vary in _VARIATIONS.items():
        changed = {value: vary(reference.array(value)) for value in paths}
        ours = reference.tape.replay(
            "float64", changed, reference.run, only=_indices(parting.reference, paths.values())
        )
        fed = {
            value: repaired.pairs[value].order.apply(changed[partner])
            for value, partner in partners.items()
        }
        theirs = candidate.tape.replay(
            "float64", fed, candidate.run, only={op.index for op in parting.candidate.ops}
        )
        a = parting.order.apply(ours.array(parting.values[0]))
        b = theirs.array(parting.values[1])
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            continue
        gap = residual(a, b)
        if gap <= _VISIBLE:
            continue
        sides: list[tuple[Tape, Replay, Region, int]] = [
            (reference.tape, ours, parting.reference, parting.values[0]),
            (candidate.tape, theirs, parting.candidate, parting.values[1]),
        ]
        explained = max(
            explained_by_constants(tape, run, region.ops, region.leaves(), value)
            for tape, run, region, value in sides
        )
        if gap > _MARGIN * explained:
            return f"it grows to {gap:.1e} of its size on inputs {name}"
    return ""


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


def _indices(region: Region, paths: Iterable[tuple[Op, ...]]) -> set[int]:
    return {op.index for ops in (region.ops, *paths) for op in ops}
