"""The per-layer table: stages of both models in the order of the data flow, matched or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from parity.matching.match import Match
from parity.numerics.difference import Difference, measure
from parity.report.summary import LayerRow
from parity.tape import Op, Tape


@dataclass(frozen=True)
class _Stage:
    """Consecutive operations of one layer, or of one line outside layers; moves left out."""

    name: str
    value: int  # what it hands on
    values: tuple[int, ...]


def layer_rows(repaired: Match, ends: Mapping[int, str]) -> tuple[LayerRow, ...]:
    """Rows in the order of the reference's data flow, the candidate's unmatched in their place.

    Args:
        repaired: the match with every parting repaired.
        ends: the candidate's values at which partings end, with their kinds.
    """
    reference, candidate = repaired.reference.tape, repaired.side.tape
    ours, theirs = _stages(reference), _stages(candidate)
    home = {value: index for index, stage in enumerate(theirs) for value in stage.values}
    partners = _partners(repaired)
    inherited = _affected(repaired, [end for end, kind in ends.items() if kind == "divergence"])
    rows: list[LayerRow] = []
    shown: set[int] = set()
    reached = 0

    def show_skipped(until: int) -> None:
        for index in range(reached, until):
            if index not in shown:
                shown.add(index)
                rows.append(_unmatched(candidate, theirs[index], ours=False))

    for stage in ours:
        other = next(
            (
                partners[value]
                for value in (stage.value, *reversed(stage.values))
                if value in partners
            ),
            None,
        )
        if other is None or other[1] not in home:
            rows.append(_unmatched(reference, stage, ours=True))
            continue
        index = home[other[1]]
        show_skipped(index)
        reached = max(reached, index)
        shown.add(index)
        rows.append(_matched(repaired, stage, theirs[index], *other, ends, inherited))
    show_skipped(len(theirs))
    return tuple(rows)


def _matched(
    repaired: Match,
    ours: _Stage,
    theirs: _Stage,
    a: int,
    b: int,
    ends: Mapping[int, str],
    inherited: set[int],
) -> LayerRow:
    pair = repaired.pairs.get(b)
    difference: Difference | None = None
    if pair is not None:
        difference = _measure(repaired, pair.reference, b)
    kinds = [ends[value] for value in theirs.values if value in ends]
    if "divergence" in kinds:
        verdict = "diverged"
    elif b in inherited:
        verdict = "inherited"
    else:
        verdict = kinds[0] if kinds else "same"
    tapes = repaired.reference.tape, repaired.side.tape
    return LayerRow(
        ours.name,
        theirs.name,
        tapes[0].values[a].shape,
        tapes[1].values[b].shape,
        str(pair.order) if pair else "",
        difference if difference is not None else _measure_plain(repaired, a, b),
        verdict,
    )


def _measure(repaired: Match, a: int, b: int) -> Difference | None:
    """The difference as the models ran, the reference laid out as the candidate."""
    tapes = repaired.reference.tape, repaired.side.tape
    ours = tapes[0].adapter.to_numpy(tapes[0].recorded[a])
    theirs = tapes[1].adapter.to_numpy(tapes[1].recorded[b])
    return measure(repaired.pairs[b].order.apply(ours), theirs)


def _measure_plain(repaired: Match, a: int, b: int) -> Difference | None:
    tapes = repaired.reference.tape, repaired.side.tape
    ours = tapes[0].adapter.to_numpy(tapes[0].recorded[a])
    theirs = tapes[1].adapter.to_numpy(tapes[1].recorded[b])
    return measure(ours, theirs) if ours.shape == theirs.shape else None


def _unmatched(tape: Tape, stage: _Stage, ours: bool) -> LayerRow:
    shape = tape.values[stage.value].shape
    return LayerRow(
        stage.name if ours else "",
        "" if ours else stage.name,
        shape if ours else None,
        None if ours else shape,
        "",
        None,
        "unmatched",
    )


def _partners(repaired: Match) -> dict[int, tuple[int, int]]:
    """The reference's value to the values to be shown for it, copies of one value included."""
    found = {
        pair.reference: (pair.reference, value)
        for value, pair in reversed(repaired.pairs.items())
        if repaired.side.tape.values[value].op >= 0
    }
    by_print = {repaired.reference.print(a): pair for a, pair in found.items()}
    for value in repaired.reference.tape.values:
        if value.id not in found and value.op >= 0 and value.size:
            copy = by_print.get(repaired.reference.print(value.id))
            if copy is not None and repaired.reference.informative(value.id):
                found[value.id] = copy
    return found


def _affected(repaired: Match, ends: Iterable[int]) -> set[int]:
    """Values of the candidate that depend on where it parts."""
    found = set(ends)
    for op in repaired.side.tape.ops:
        if not found.isdisjoint(op.inputs):
            found.update(op.outputs)
    return found


def _stages(tape: Tape) -> list[_Stage]:
    stages: list[tuple[str, list[Op]]] = []
    for op in tape.ops:
        if op.static or op.role == "move":
            continue
        name = op.site.layer or op.site.source.rsplit("/", 1)[-1] or op.kind
        if not stages or stages[-1][0] != name:
            stages.append((name, []))
        stages[-1][1].append(op)
    found = []
    for name, ops in stages:
        inside = {op.index for op in ops}
        values = [value for op in ops for value in op.outputs if tape.values[value].size]
        handed_on = [
            value
            for value in values
            if value in tape.outputs.values()
            or any(index not in inside for index in tape.consumers[value])
        ]
        if values:
            found.append(_Stage(name, (handed_on or values)[-1], tuple(values)))
    return found
