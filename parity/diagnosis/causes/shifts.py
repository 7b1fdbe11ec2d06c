"""Values that are rolled along an axis by another number of places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._context import moved_on
from parity.diagnosis.causes._weights import gives
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView, plain_kind
from parity.tape import Array, Op

_JOINS = {"cat", "concat", "concatv2", "concatenate", "hstack", "vstack"}
_TRIED = 4  # places of the first number, should others be equal to it

Shifts = Mapping[int, int]


@dataclass(frozen=True)
class Roll:
    """A value that is another one rolled.

    Attributes:
        source, made: ids of the two.
        shifts: by how many places along which axis, as in `numpy.roll`.
    """

    source: int
    made: int
    shifts: Shifts


@cause("roll-shift")
def rolled_otherwise(case: Case) -> Iterator[Explanation]:
    """Entries are rolled along an axis by another number of places, or not at all.

    Looks like: the same numbers on both sides, all at other places, as of windows that are shifted
        and not shifted back.
    Proof: one side rolls, or joins two slices in the other order. The reference's operations with
        the candidate's shift in the place of their own give the candidate's value.
    """
    ours, theirs = _rolls(case, case.reference), _rolls(case, case.candidate)
    if ours:
        others: list[Shifts] = [roll.shifts for roll in theirs]
        for mine in ours:
            for shifts in [one for other in others for one in _laid(mine, other)] or [{}]:
                predict = _with_shift(case, mine, shifts)
                if shifts != mine.shifts and gives(case, predict):
                    yield _told(mine.shifts, shifts or _behind(case.candidate), predict)
                    return
    for shifts in [roll.shifts for roll in theirs] if not ours else []:
        for predict in _rolled(case, shifts):
            if gives(case, predict):
                yield _told(_behind(case.reference), shifts, predict)
                return


def _told(ours: Shifts, theirs: Shifts, predict: Predict) -> Explanation:
    if not theirs:
        text = f"what the reference shifts {_spelt(ours)} is not shifted"
    elif not ours:
        text = f"shifted {_spelt(theirs)}; the reference does not shift"
    elif tuple(ours) == tuple(theirs):
        text = f"shifted {_spelt(theirs)}; the reference by {_short(tuple(ours.values()))}"
    else:
        text = f"shifted {_spelt(theirs)}; the reference {_spelt(ours)}"
    sides = tuple(ours.values()), tuple(theirs.values())
    parameters = {"shift": (_short(sides[0] or (0,)), _short(sides[1] or (0,)))}
    return Explanation("roll-shift", text, predict, parameters=parameters, cost=-1.0)


def _spelt(shifts: Shifts) -> str:
    axes, places = tuple(shifts), tuple(shifts.values())
    plural = "places" if places not in ((1,), (-1,)) else "place"
    return (
        f"by {_short(places)} {plural} along {'axis' if len(axes) == 1 else 'axes'} {_short(axes)}"
    )


def _short(numbers: Sequence[int]) -> int | tuple[int, ...]:
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


def _laid(mine: Roll, theirs: Shifts) -> Iterator[Shifts]:
    """The candidate's shifts along the reference's axes: channels may lie elsewhere."""
    if len(theirs) == len(mine.shifts):
        yield dict(zip(mine.shifts, theirs.values(), strict=True))
    yield theirs


def _with_shift(case: Case, roll: Roll, shifts: Shifts) -> Predict:
    def predict(trial: Trial) -> Array:
        (source,) = case.reference_values(trial.given, [roll.source])
        return case.run_reference({**trial.given, roll.made: _roll(source, shifts)})

    return predict


def _rolled(case: Case, shifts: Shifts) -> Iterator[Predict]:
    """Predictions of a roll that the candidate has more: of the end, or of what enters."""
    rank = max(shifts) + 1
    if len(case.reference.value.shape) >= rank:
        yield lambda trial: _roll(trial.reference, shifts)
    for root in case.first.given:
        if case.first.given[root].ndim >= rank:
            yield partial(_fed_rolled, case, root, shifts)


def _fed_rolled(case: Case, root: int, shifts: Shifts, trial: Trial) -> Array:
    return case.run_reference({**trial.given, root: _roll(trial.given[root], shifts)})


def _roll(array: Array, shifts: Shifts) -> Array:
    rank = array.ndim
    if any(axis >= rank for axis in shifts):
        return array
    return np.roll(array, tuple(shifts.values()), tuple(shifts))


def _rolls(case: Case, view: RegionView) -> list[Roll]:
    """The values of a region that its operations roll, one after another as one."""
    values = case.candidate_values if view is case.candidate else case.reference_values
    found: dict[int, Roll] = {}
    for op in view.ops:
        source = _source(view, op)
        if source is None:
            continue
        before = found.pop(source, None)
        source = source if before is None else before.source
        arrays = values(case.first.given, [source, op.outputs[0]])
        shifts = _shifts(*arrays)
        if shifts:
            found[op.outputs[0]] = Roll(source, op.outputs[0], shifts)
    return list(found.values())


def _source(view: RegionView, op: Op) -> int | None:
    """What an operation rolls, or may: of slices that are joined what all are of."""
    kind, tape = plain_kind(op), view.tape
    if kind == "roll":
        return op.inputs[0]
    if kind not in _JOINS:
        return None
    parts = [v for v in op.inputs if tape.values[v].shape]
    makers = [tape.producer(v) for v in parts]
    sources = {one.inputs[0] if one is not None and one.role == "move" else -1 for one in makers}
    source = next(iter(sources)) if len(sources) == 1 else -1
    if len(parts) < 2 or source < 0:
        return None
    return source if tape.values[source].shape == tape.values[op.outputs[0]].shape else None


def _behind(view: RegionView) -> Shifts:
    """By how much a side rolls a region's end right after it."""
    tape, made = view.tape, set(moved_on(view))
    for op in tape.ops[view.value.op + 1 :]:
        source = _source(view, op)
        if source in made:
            ends = (tape.recorded[value] for value in (source, op.outputs[0]))
            shifts = _shifts(*(tape.adapter.to_numpy(one) for one in ends))
            if shifts:
                return shifts
    return {}


def _shifts(source: Array, made: Array) -> Shifts | None:
    """By how many places, the nearer way round, one array is another rolled; None if it is not."""
    if source.shape != made.shape or source.size < 2:
        return None
    for at in np.argwhere(source == made.flat[0])[:_TRIED]:
        shifts = {}
        for axis, (start, length) in enumerate(zip(at.tolist(), source.shape, strict=True)):
            places = -start % length
            if places:
                shifts[axis] = places if 2 * places <= length else places - length
        if shifts and np.array_equal(_roll(source, shifts), made):
            return shifts
    return None
