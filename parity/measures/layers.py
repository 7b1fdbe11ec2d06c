"""The per-layer table: stages of both models in the order of the data flow, matched or not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from parity.matching.axis_order import Order
from parity.matching.match import Match, Side
from parity.matching.source_layout import WrittenLayout
from parity.numerics.difference import Difference, measure, relative_difference
from parity.result import LayerRow
from parity.tape import Op, Replay, Tape


@dataclass(frozen=True)
class _Stage:
    """Consecutive operations of one layer, or of one line outside layers; moves left out."""

    name: str
    value: int  # what it passes on
    values: tuple[int, ...]


def layer_rows(repaired: Match, ends: Mapping[int, str]) -> tuple[LayerRow, ...]:
    """Rows in the order of the reference's data flow, the candidate's unmatched in their place.

    Args:
        repaired: the match with every mismatch repaired.
        ends: the candidate's values with which mismatches end, with their kinds.
    """
    reference, candidate = repaired.reference.tape, repaired.side.tape
    stages, others = _stages(repaired.reference), _stages(repaired.side)
    home = {value: index for index, stage in enumerate(others) for value in stage.values}
    partners = _partners(repaired, home)
    matched = {}  # stage of the reference: (its value, the candidate's value)
    for index, stage in enumerate(stages):
        for value in (stage.value, *reversed(stage.values)):
            if value in partners:
                matched[index] = partners[value]
                break
    table = _Table(repaired, ends, [b for _, b in matched.values()])
    rows: list[LayerRow] = []
    shown: set[int] = set()
    reached = 0

    def show_skipped(until: int) -> None:
        for index in range(reached, until):
            if index not in shown:
                shown.add(index)
                rows.append(_unmatched(candidate, others[index], in_reference=False))

    for number, stage in enumerate(stages):
        if number not in matched:
            rows.append(_unmatched(reference, stage, in_reference=True))
            continue
        a, b = matched[number]
        show_skipped(home[b])
        reached = max(reached, home[b])
        shown.add(home[b])
        rows.append(table.row(stage, others[home[b]], a, b))
    show_skipped(len(others))
    return tuple(rows)


class _Table:
    """Makes the rows of stages that have a partner."""

    def __init__(self, repaired: Match, ends: Mapping[int, str], values: Sequence[int]) -> None:
        self.repaired = repaired
        self.ends = ends
        diverged = [end for end, kind in ends.items() if kind == "divergence"]
        graph = repaired.side.tape.graph
        self.affected = {*diverged}.union(*map(graph.descendants, diverged))
        self.local = _local_errors(repaired, values)
        self.entering = _entering(repaired.side.tape, values)
        self.totals: dict[int, float] = {}

    def row(self, stage: _Stage, other: _Stage, a: int, b: int) -> LayerRow:
        pair = self.repaired.pairs.get(b)
        order = None if pair is None else pair.order
        difference = _measure(self.repaired, a if pair is None else pair.reference, b, order)
        kinds = [self.ends[value] for value in other.values if value in self.ends]
        if "divergence" in kinds:
            verdict = "diverged"
        elif b in self.affected:
            verdict = "inherited"
        else:
            verdict = kinds[0] if kinds else "same"
        if difference is not None:
            self.totals[b] = difference.relative
        tapes = self.repaired.reference.tape, self.repaired.side.tape
        shapes = tapes[0].values[a].shape, tapes[1].values[b].shape
        if pair is not None and pair.reference == a:  # and not a copy of it
            written = WrittenLayout(self.repaired, (a, b), pair.order)
            shapes, order = written.shapes, written.order or pair.order
        return LayerRow(
            stage.name,
            other.name,
            *shapes,
            str(order or ""),
            difference,
            verdict,
            # after a divergence the candidate's float64 values are repaired, what it ran is not
            rounding=_rounding(self.repaired.reference, a)
            + (0.0 if verdict in ("diverged", "inherited") else _rounding(self.repaired.side, b)),
            local=self.local.get(b),
            inherited=max((self.totals.get(value, 0.0) for value in self.entering[b]), default=0.0),
        )


def _rounding(side: Side, value: int) -> float:
    """How far a value as the model ran is off from its float64 replay, over its largest."""
    recorded = side.tape.adapter.to_numpy(side.tape.recorded[value])
    if recorded.dtype.kind not in "fc" or value not in side.run or not recorded.size:
        return 0.0
    exact = side.array(value)
    if exact.shape != recorded.shape:
        return 0.0
    if "c" in (exact.dtype.kind, recorded.dtype.kind):
        return measure(exact, recorded).relative
    off = relative_difference(exact, recorded)
    return off if np.isfinite(off) else 0.0


def _local_errors(repaired: Match, values: Collection[int]) -> dict[int, float]:
    """What each layer adds in the working precision when it gets the reference's recorded bits.

    The candidate is replayed once as it ran, and every layer's result replaced by the reference's
    before the next one reads it.
    """
    tapes = repaired.reference.tape, repaired.side.tape
    wanted = {value: repaired.pairs[value] for value in values if value in repaired.pairs}
    found: dict[int, float] = {}

    def after(op: Op, run: Replay) -> None:
        for value in op.outputs:
            pair = wanted.get(value)
            if pair is None:
                continue
            recorded = tapes[0].adapter.to_numpy(tapes[0].recorded[pair.reference])
            if not pair.order.takes(recorded):
                continue
            reference = pair.order.apply(recorded)
            candidate = run.array(value)
            floating = reference.dtype.kind == candidate.dtype.kind == "f"
            if floating and reference.shape == candidate.shape:
                found[value] = measure(reference, candidate).relative
                if found[value]:
                    with np.errstate(over="ignore"):  # float16 may not hold it
                        run.replace(value, reference.astype(candidate.dtype, copy=False))

    tapes[1].replay(after=after, kept=())
    return found


def _entering(tape: Tape, values: Collection[int]) -> dict[int, set[int]]:
    """For each of the values those others of them that it is computed from directly."""
    ends = set(values)
    behind: dict[int, set[int]] = {}  # any value: the ends that it was last computed from
    found: dict[int, set[int]] = {value: set() for value in values}
    for op in tape.ops:
        sources: set[int] = set()
        for value in op.inputs:
            sources |= {value} if value in ends else behind.get(value, set())
        for value in op.outputs:
            behind[value] = sources
            if value in ends:
                found[value] = sources
    return found


def _measure(repaired: Match, a: int, b: int, order: Order | None) -> Difference | None:
    """The difference as the models ran, the reference laid out as the candidate."""
    tapes = repaired.reference.tape, repaired.side.tape
    reference = tapes[0].adapter.to_numpy(tapes[0].recorded[a])
    candidate = tapes[1].adapter.to_numpy(tapes[1].recorded[b])
    if order is not None:
        if not order.takes(reference):
            return None
        reference = order.apply(reference)
    # how many a random draw picks may depend on what was drawn
    return measure(reference, candidate) if reference.shape == candidate.shape else None


def _unmatched(tape: Tape, stage: _Stage, in_reference: bool) -> LayerRow:
    shape = tape.values[stage.value].shape
    return LayerRow(
        stage.name if in_reference else "",
        "" if in_reference else stage.name,
        shape if in_reference else None,
        None if in_reference else shape,
        "",
        None,
        "unmatched",
    )


def _partners(repaired: Match, home: Collection[int]) -> dict[int, tuple[int, int]]:
    """The reference's value to the values to be shown for it, copies of one value included.

    Args:
        home: the candidate's values that are in a stage.
    """
    found = {
        pair.reference: (pair.reference, value)
        for value, pair in reversed(repaired.pairs.items())
        if value in home
    }
    by_print = {repaired.reference.print(a): pair for a, pair in found.items()}
    for value in repaired.reference.tape.values:
        if value.id not in found and value.op >= 0 and value.size:
            copy = by_print.get(repaired.reference.print(value.id))
            if copy is not None and repaired.reference.informative(value.id):
                found[value.id] = copy
    return found


def _stages(side: Side) -> list[_Stage]:
    tape = side.tape
    stages: list[tuple[str, list[Op]]] = []
    for op in tape.ops:
        if op.static or op.role == "move" or _is_bookkeeping(side, op):
            continue
        name = op.site.layer or op.site.source.rsplit("/", 1)[-1] or op.kind
        name = f"{name} ({op.site.stage})" if op.site.stage else name
        if not stages or stages[-1][0] != name:
            stages.append((name, []))
        stages[-1][1].append(op)
    found = []
    for name, ops in stages:
        inside = {op.index for op in ops}
        values = [value for op in ops for value in op.outputs if tape.values[value].size]
        passed_on = [
            value
            for value in values
            if value in tape.outputs.values()
            or any(index not in inside for index in tape.consumers[value])
        ]
        if values:
            found.append(_Stage(name, (passed_on or values)[-1], tuple(values)))
    return found


def _is_bookkeeping(side: Side, op: Op) -> bool:
    """Whether an operation only computes shapes and indices."""
    return not any(
        side.tape.values[value].dtype.startswith(("float", "bfloat", "complex"))
        or side.informative(value)
        for value in op.outputs
    )
