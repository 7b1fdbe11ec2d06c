"""A model that has stored what the other one computes: on the inputs at hand they agree."""

from __future__ import annotations

from collections.abc import Sequence

from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replayed import Outputs, PlainRun
from parity.matching.match import Match
from parity.numerics.accounting import ACCOUNTED
from parity.numerics.difference import residual
from parity.numerics.rounding import U32
from parity.tape import Tape


def stored_results(
    matched: Match, pairs: Sequence[OutputPair], plain: tuple[PlainRun, PlainRun]
) -> tuple[str, list[str]]:
    """Whether one model has stored what the other computes from the inputs.

    What is stored agrees on the inputs that it was computed from. So where a constant of one model
    is what the other computes, both run on other samples too.

    Returns:
        The verdict that follows, and the reasons; none where the models agree there as well.
    """
    found = _stored(matched, pairs)
    if not found:
        return "parity", []
    runs = [one.elsewhere for one in plain]
    if runs[0] is None or runs[1] is None:
        return "unverified", [f"{one}; more than one sample would show it" for one in found]
    ours, theirs = (run() for run in runs if run is not None)
    usual = _difference(matched, pairs, plain[0].run(), plain[1].run())
    if differ(matched, pairs, ours, theirs, _ELSEWHERE * max(usual, U32)):
        return "diverged", [f"{one}; on the samples in another order they differ" for one in found]
    return "parity", []


_ELSEWHERE = 64.0  # times what the models differ by on the inputs that were given
_ENOUGH = 4  # numbers that are equal by no chance


def _stored(matched: Match, pairs: Sequence[OutputPair]) -> list[str]:
    """Outputs that one model alone computes from its inputs; its constants that the other does."""
    tapes = matched.reference.tape, matched.side.tape
    found = []
    for pair in pairs:
        live = tapes[0].is_live(pair.reference), tapes[1].is_live(pair.candidate)
        if live[0] != live[1]:
            name = tapes[live.index(False)].model
            found.append(
                f"output {pair.name!r} of {name} does not depend on its inputs as far as "
                "operations were recorded, the other model's does: it may be a stored result, or "
                "computed where it cannot be followed, as through NumPy"
            )
    for one in matched.pairs.values():
        values = one.reference, one.candidate
        if tapes[0].values[values[0]].size < _ENOUGH or not one.residual <= ACCOUNTED * U32:
            continue
        if not matched.reference.informative(values[0]):
            continue
        constant = [
            tape.producer(value) is None and tape.values[value].kind != "input"
            for tape, value in zip(tapes, values, strict=True)
        ]
        live_too = [tape.is_live(value) for tape, value in zip(tapes, values, strict=True)]
        for side in (0, 1):
            if constant[side] and live_too[1 - side] and _is_used(tapes[side], values[side]):
                producer = tapes[1 - side].producer(values[1 - side])
                place = f" at {producer.site.source}" if producer and producer.site.source else ""
                value = tapes[side].values[values[side]]
                found.append(
                    f"{value.name or 'a constant'} {value.shape} of {tapes[side].model} holds what "
                    f"{tapes[1 - side].model} computes from its inputs{place}"
                )
    return found


def _is_used(tape: Tape, value: int) -> bool:
    return not tape.used.isdisjoint(tape.consumers[value]) or value in tape.outputs.values()


def differ(
    matched: Match, pairs: Sequence[OutputPair], ours: Outputs, theirs: Outputs, limit: float
) -> bool:
    return not _difference(matched, pairs, ours, theirs) <= limit


def _difference(
    matched: Match, pairs: Sequence[OutputPair], ours: Outputs, theirs: Outputs
) -> float:
    """The largest relative difference of outputs of two runs; inf where they cannot be compared."""
    sides = matched.reference.tape, matched.side.tape
    names = [{value: name for name, value in tape.outputs.items()} for tape in sides]
    found = [0.0]
    for pair in pairs:
        name, other = names[0][pair.reference], names[1][pair.candidate]
        if name not in ours or other not in theirs:
            return float("inf")
        laid_out = in_reference_layout(matched, pair, theirs[other])
        if laid_out is None or laid_out.shape != ours[name].shape:
            return float("inf")
        found.append(residual(ours[name], laid_out))
    return max(found)
