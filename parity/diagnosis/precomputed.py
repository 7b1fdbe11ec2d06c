"""What one model holds and the other computes of its inputs, or of all samples together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.replay_check import PlainRun, PlainRuns
from parity.diagnosis.unread_inputs import WAYS
from parity.errors import ParityError
from parity.matching.match import Match
from parity.tape import Array, Op, Replay, Tape


@dataclass(frozen=True)
class HeldResult:
    """A constant of one model that is equal to what the other computes.

    Attributes:
        side: of the model that computes it.
        value: that it computes.
        sure: whether it is equal by no chance, and the model that holds it computes it nowhere.
    """

    text: str
    side: int
    value: int
    sure: bool = True


_COMMON = (0.0, 0.5, 1.0, 2.0)  # which programs hold for many reasons
# Settings that are numbers to compute with, not lengths or axes, though they may be whole.
_OPERANDS = ("other", "value", "exponent", "alpha")


def held_results(matched: Match) -> list[HeldResult]:
    """Constants of one model that were matched with what the other one computes."""
    tapes, found = matched.tapes, []
    for pair in matched.pairs.values():
        few = tapes[0].values[pair.reference].size < limits.HELD_BY_CHANCE
        if few or not pair.residual <= limits.SAME_AS_HELD:
            continue
        if not matched.reference.informative(pair.reference):
            continue
        for holder, maker in ((0, 1), (1, 0)):
            tape, value = tapes[maker], pair.values[maker]
            held = tapes[holder].values[pair.values[holder]]
            if held.op >= 0 or held.kind == "input" or not tape.is_live(value):
                continue
            if tapes[holder].graph.is_used(held.id):
                producer = tape.producer(value)
                place = f" at {producer.site.source}" if producer and producer.site.source else ""
                text = (
                    f"{held.name or 'a constant'} {held.shape} of {tapes[holder].model} holds what "
                    f"{tape.model} computes from its inputs{place}"
                )
                found.append(HeldResult(text, maker, value))
    return found


def held_numbers(matched: Match) -> list[HeldResult]:
    """A few numbers that one model holds and the other computes from its inputs."""
    sides = matched.reference, matched.side
    live = [list(_few_live(one.tape, one.run)) for one in sides]
    found: dict[str, HeldResult] = {}
    for side, other in ((0, 1), (1, 0)):
        holder = sides[other].tape
        held = _by_length(_few_held(holder))
        elsewhere = _by_length(numbers for *_, numbers in live[other])
        for op, value, numbers in live[side]:
            as_they_are = _is_among(numbers, held)
            if not as_they_are and not _is_among(_reciprocals(numbers), held):
                continue
            one = len(numbers) == 1
            what = f"the number {numbers[0]:.6g}" if one else f"{len(numbers)} numbers"
            what = what if as_they_are else f"as a reciprocal {what}"
            text = (
                f"{holder.model} holds {what}, which {op.site.described} of "
                f"{sides[side].tape.model} computes from its inputs"
            )
            common = np.isin(np.abs(numbers), _COMMON).all()
            sure = not common and not _is_among(numbers, elsewhere)
            found.setdefault(text, HeldResult(text, side, value, sure))
    return list(found.values())


def _by_length(several: Iterable[Array]) -> dict[int, Array]:
    """Arrays of numbers, those of one length as the rows of a matrix."""
    found: dict[int, list[Array]] = {}
    for one in several:
        found.setdefault(len(one), []).append(one)
    return {length: np.stack(rows) for length, rows in found.items()}


def _is_among(numbers: Array, several: Mapping[int, Array]) -> bool:
    rows = several.get(len(numbers))
    if rows is None or not numbers.any():
        return False
    return bool((np.abs(rows - numbers) <= limits.SAME_AS_HELD * np.abs(numbers)).all(1).any())


def _reciprocals(numbers: Array) -> Array:
    """In order of size, as what is divided by in one model is multiplied with in the other."""
    with np.errstate(all="ignore"):
        return np.sort(np.nan_to_num(1.0 / numbers, posinf=0.0, neginf=0.0))


def _few_live(tape: Tape, run: Replay) -> Iterator[tuple[Op, int, Array]]:
    """What a model computes from its inputs that is a few numbers, in order of size."""
    for op in tape.ops:
        if op.index not in tape.used:
            continue
        for value in op.outputs:
            if 1 <= tape.values[value].size <= limits.HELD_ANYWHERE and tape.is_live(value):
                array = run.array(value)
                if array.dtype.kind in "fiu":
                    yield op, value, np.sort(array.astype(np.float64).ravel())


def _few_held(tape: Tape) -> Iterator[Array]:
    """The numbers that operations were given, as settings or as constants."""
    for index in tape.used:
        for name, one in tape.ops[index].settings():
            whole = isinstance(one, int) and not isinstance(one, bool) and name in _OPERANDS
            if isinstance(one, float) or whole:
                yield np.array([float(one)])
    for value in tape.values:
        few = 1 <= value.size <= limits.HELD_ANYWHERE and "float" in value.dtype
        held = value.kind in ("constant", "buffer", "parameter")
        if few and held and tape.graph.is_used(value.id):
            yield np.sort(tape.recorded_array(value.id).astype(np.float64).ravel())


def never_changed(
    held: Sequence[HeldResult], plain: Sequence[PlainRun], trials: int
) -> list[HeldResult]:
    """Those of which no other samples show that what is computed is ever something else."""
    left = [one for one in held if _hangs_on_contents(plain[one.side].tape, one.value)]
    for side in (0, 1):
        for at in range(trials):
            here = [one for one in left if one.side == side]
            if not here:
                break
            try:
                there = plain[side].recorded(at)
            except ParityError:  # the model takes no such samples
                continue
            changed = [one for one in here if _changed(plain[side].tape, there, one.value)]
            left = [one for one in left if one not in changed]
    return left


def _hangs_on_contents(tape: Tape, value: int) -> bool:
    """Whether inputs of other values change it: places, as a sum of ones, they do not."""
    ops = tape.graph.ancestors([value])
    before = tape.recorded_array(value)
    for other in WAYS:
        given = {one: other(tape.recorded_array(one)) for one in tape.inputs.values()}
        with contextlib.suppress(ParityError):  # an operation takes no such values
            if not np.array_equal(before, tape.replay(None, given, only=ops).array(value)):
                return True
    return False


def _changed(tape: Tape, there: Tape, value: int) -> bool:
    if [op.kind for op in tape.ops] != [op.kind for op in there.ops]:
        return True  # it is another program, and its outputs agree
    before, after = (
        np.sort(one.recorded_array(value).astype(np.float64).ravel()) for one in (tape, there)
    )
    if before.shape != after.shape:
        return True
    return not bool((np.abs(before - after) <= limits.OTHER_THAN_HELD * np.abs(before)).all())


def of_all_samples(matched: Match, plain: PlainRuns) -> list[str]:
    """What one model alone computes of all samples together, as their largest or their mean."""
    count = plain[0].count
    if count < 2:
        return []  # a single sample has been moved already
    sides = matched.reference, matched.side
    found = []
    for side, other in ((0, 1), (1, 0)):
        tape, other_tape = sides[side].tape, sides[other].tape
        pairs = matched.pairs.values()
        partners = {one.values[side] for one in pairs if other_tape.is_live(one.values[other])}
        few = _by_length(numbers for *_, numbers in _few_live(other_tape, sides[other].run))
        own = {value: numbers for _, value, numbers in _few_live(tape, sides[side].run)}
        for op in tape.ops:
            if op.role != "compute":
                continue
            reads = [tape.values[one].shape for one in op.inputs if tape.is_live(one)]
            # an axis of that length may be the features'
            axes = max((shape.count(count) for shape in reads), default=0)
            for value in op.outputs:
                if tape.values[value].shape.count(count) >= axes or value in partners:
                    continue
                if value in own and not _is_among(own[value], few):
                    found.append(f"{op.site.described} of {tape.model}")
    return list(dict.fromkeys(found))
