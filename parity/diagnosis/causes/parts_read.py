"""Parts of a value are read, where the reference reads another one: an LSTM's last outputs, say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import OTHER_SOURCE
from parity.diagnosis.causes._places import part_in_words
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.causes.rewired import read_by_the_candidate
from parity.diagnosis.trial import Trial
from parity.site import Site
from parity.tape import Array, Tape


@cause("wrong-source", tier=2)
@first_fitting
def parts_read_instead(case: Case) -> Iterator[Explanation]:
    """Parts of what the candidate computes are read, where the reference reads other values.

    Looks like: the last step of an LSTM's outputs, where its last states belong.
    Proof: the reference's operations on those parts, all that one line takes at once, give the
        candidate's value.
    """
    tapes, own = (case.reference.tape, case.candidate.tape), read_by_the_candidate(case)
    right = [
        value
        for value in case.entering
        if tapes[0].is_live(value) and tapes[0].before_moves(value) not in own
    ]
    for group in _of_one_shape(tapes[0], right):
        for parts in _parts_of_a_line(case, group):
            names = named(tapes[0], group[0]), part_in_words(tapes[1], parts[0])
            times = f", {len(group)} times" if len(group) > 1 else ""
            yield Explanation(
                "wrong-source",
                f"{names[1]} is read; the reference reads {names[0]}{times}",
                partial(_with_parts, case, group, parts),
                parameters={"source": names},
                cost=OTHER_SOURCE,
            )


def _of_one_shape(tape: Tape, values: Sequence[int]) -> Iterator[Sequence[int]]:
    """Values of one shape, all of them or one by one."""
    shapes = dict.fromkeys(tape.values[value].shape for value in values)
    for shape in shapes:
        alike = [value for value in values if tape.values[value].shape == shape]
        yield from [alike, *([one] for one in alike if len(alike) > 1)]


def _parts_of_a_line(case: Case, values: Sequence[int]) -> Iterator[Sequence[int]]:
    """What one line of the candidate takes of larger values, as often and of the same shape."""
    tape = case.candidate.tape
    shape = case.reference.tape.values[values[0]].shape
    lines: dict[Site, list[int]] = defaultdict(list)
    for op in case.candidate.ops:
        if op.static or op.role != "move" or len(op.inputs) != 1:
            continue
        for made in op.outputs if tape.is_live(op.inputs[0]) else ():
            if tape.values[made].shape == shape:
                if tape.values[made].size < tape.values[op.inputs[0]].size:
                    lines[op.site].append(made)
    yield from (made for made in lines.values() if len(made) == len(values))


def _with_parts(case: Case, values: Sequence[int], parts: Sequence[int], trial: Trial) -> Array:
    entering = dict(zip(case.entering, trial.inputs, strict=True))
    arrays = case.candidate_values(trial.given, parts)
    return case.run_reference(trial.given, {**entering, **dict(zip(values, arrays, strict=True))})
