"""Values that are rolled along an axis by another number of places."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._context import moved_on
from parity.diagnosis.causes._limits import NUMBERS_PUT_IN, ROLLS_TRIED
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._substitution import static_ops, with_value
from parity.diagnosis.causes._weights import gives
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.operations import FILLED, PADS
from parity.tape import Array, Op

Shifts = Mapping[int, int]
Proposal = tuple[Shifts, Shifts, Predict]  # the reference's, the candidate's, what they give


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
    reference, candidate = (_rolls(side) for side in sides(case))
    others = [roll.shifts for roll in candidate]
    proposals = _other_shifts(case, reference, others) if reference else _added(case, others)
    found = next((one for one in proposals if gives(case, one[2])), None)
    if found is not None:
        own, other, predict = found
        own = own or _behind(case.reference)
        yield _explanation(own, other or _behind(case.candidate), predict)


@cause("roll-shift")
@first_fitting
def wraps_around(case: Case) -> Iterator[Explanation]:
    """What falls off at one end comes in at the other, where the other model puts a number in.

    Looks like: the step before, where the first step gets the last one's values and not zeros.
    Proof: one side's own operations with a number that the other side reads, or zero, in the
        entries that come round give the other side's value.
    """
    for side, other in zip(sides(case), sides(case)[::-1], strict=True):
        for roll, number in itertools.product(_rolls(side), _numbers(other)):
            if len(roll.shifts) > 1:
                continue
            said = _spelt(roll.shifts)
            text = f"what is shifted {said} does not wrap around: {number:g} is put in its place"
            if side.is_candidate:
                text = f"what is shifted {said} wraps around; the reference puts {number:g} there"
            yield side.changed(
                Explanation(
                    "roll-shift",
                    text,
                    partial(_with_number, side, roll, number),
                    parameters={"wraps around": (not side.is_candidate, side.is_candidate)},
                    cost=-1.0,
                )
            )


def _numbers(side: CaseSide) -> list[float]:
    """Zero, and the numbers that a side's operations read."""
    arrays = map(side.model.array, side.view.constants)
    read = [float(array.flat[0]) for array in arrays if array.size and not varies(array)]
    filling = [op for op in (*side.view.ops, *static_ops(side.view)) if op.word in FILLED | PADS]
    given = [float(one) for op in filling for one in op.attributes.values() if _is_number(one)]
    return list(dict.fromkeys((0.0, *read, *given)))[:NUMBERS_PUT_IN]


def _is_number(setting: object) -> bool:
    return isinstance(setting, (int, float)) and not isinstance(setting, bool)


def _with_number(side: CaseSide, roll: Roll, number: float, trial: Trial) -> Array:
    (array,) = side.values(trial.given, (roll.made,))
    ((axis, places),) = roll.shifts.items()
    filled = np.moveaxis(array.copy(), axis, 0)
    filled[slice(places) if places > 0 else slice(places, None)] = number
    return side.run(trial.given, {roll.made: np.moveaxis(filled, 0, axis)})


def _other_shifts(
    case: Case, rolls: Sequence[Roll], others: Sequence[Shifts]
) -> Iterator[Proposal]:
    """The reference's rolls by the candidate's places, or by none where it does not roll."""
    for roll in rolls:
        for shifts in [one for other in others for one in _laid(roll, other)] or [{}]:
            if shifts != roll.shifts:
                rolled = with_value(case, roll.made, partial(_roll, shifts), roll.source)
                yield roll.shifts, shifts, rolled


def _added(case: Case, others: Sequence[Shifts]) -> Iterator[Proposal]:
    """A roll that the candidate has more: of the end, or of what is read."""
    for shifts in others:
        rank = max(shifts) + 1
        if len(case.reference.value.shape) >= rank:
            yield {}, shifts, partial(_end_rolled, shifts)
        for root, array in case.first.given.items():
            if array.ndim >= rank:
                yield {}, shifts, with_value(case, root, partial(_roll, shifts))


def _end_rolled(shifts: Shifts, trial: Trial) -> Array:
    return _roll(shifts, trial.reference)


def _explanation(reference: Shifts, candidate: Shifts, predict: Predict) -> Explanation:
    if not candidate:
        text = f"what the reference shifts {_spelt(reference)} is not shifted"
    elif not reference:
        text = f"shifted {_spelt(candidate)}; the reference does not shift"
    elif tuple(reference) == tuple(candidate):
        text = f"shifted {_spelt(candidate)}; the reference by {_short(tuple(reference.values()))}"
    else:
        text = f"shifted {_spelt(candidate)}; the reference {_spelt(reference)}"
    sides = tuple(reference.values()), tuple(candidate.values())
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


def _laid(roll: Roll, candidate: Shifts) -> Iterator[Shifts]:
    """The candidate's shifts along the reference's axes: channels may lie elsewhere."""
    if len(candidate) == len(roll.shifts):
        yield dict(zip(roll.shifts, candidate.values(), strict=True))
    yield candidate


def _roll(shifts: Shifts, array: Array) -> Array:
    rank = array.ndim
    if any(axis >= rank for axis in shifts):
        return array
    return np.roll(array, tuple(shifts.values()), tuple(shifts))


def _rolls(side: CaseSide) -> list[Roll]:
    """The values of a region that its operations roll, one after another as one."""
    found: dict[int, Roll] = {}
    for op in side.view.ops:
        source = _source(side.view, op)
        if source is None:
            continue
        before = found.pop(source, None)
        source = source if before is None else before.source
        arrays = side.values(side.case.first.given, [source, op.outputs[0]])
        shifts = _shifts(*arrays)
        if shifts:
            found[op.outputs[0]] = Roll(source, op.outputs[0], shifts)
    return list(found.values())


def _source(view: RegionView, op: Op) -> int | None:
    """What an operation rolls, or may: of slices that are joined what all are of."""
    tape = view.tape
    if op.word == "roll":
        return op.inputs[0]
    if op.word != "concatenate":
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
    found = np.argwhere(source == made.flat[0])
    if len(found) > ROLLS_TRIED:  # of few numbers, as flags: the shortest shifts are tried alone
        near = ({axis: places} for axis in range(source.ndim) for places in (1, -1))
        return next((one for one in near if np.array_equal(_roll(one, source), made)), None)
    for at in found:
        shifts = {}
        for axis, (start, length) in enumerate(zip(at.tolist(), source.shape, strict=True)):
            places = -start % length
            if places:
                shifts[axis] = places if 2 * places <= length else places - length
        if shifts and np.array_equal(_roll(shifts, source), made):
            return shifts
    return None
