"""Another value is read than the reference's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._sources import named, twins
from parity.diagnosis.causes._substitution import (
    Inside,
    fits,
    inside_reference,
    with_value,
)
from parity.diagnosis.trial import Trial
from parity.tape import Array

_OTHER = 0.5
_TRIES = 24  # a region of many operations has no simple wiring to be told
_SWAPS = 4  # values of one shape that are exchanged


@cause("wrong-source", tier=2)
def wrong_source(case: Case) -> Iterator[Explanation]:
    """The candidate reads another value than the reference does.

    Looks like: both operations do the same, on different numbers.
    Proof: the reference's operations on the value that the candidate reads give the candidate's.
    """
    ours = inside_reference(case)
    for value, other in itertools.islice(_others_read(case, ours), _TRIES):
        shape = ours.array(value).shape

        def form(array: Array, shape: tuple[int, ...] = shape) -> Array:
            return array.reshape(shape)

        predict = with_value(case, value, form, other)
        if fits(predict, case.first, case.first.candidate):
            yield Explanation(
                "wrong-source",
                f"the numbers of {_told(case, other)} are read; the reference reads "
                f"{_told(case, value)}",
                predict,
                parameters={"source": (_told(case, value), _told(case, other))},
                unproved=_put_there(case, other) or twins(case),
                cost=_OTHER if value in ours.entering else 2 * _OTHER,
            )
            return
    yield from _exchanged(case, ours)


def _put_there(case: Case, other: int) -> str:
    """Why a value may be read as it should be: a repair before put the reference's other one there.

    What one of several readers lacks is then substituted for all of them.
    """
    for value, partner in case.partners.items():
        if partner == other and value in case.repaired.injected:
            return f"the repair of what comes before put {_told(case, other)} there"
    return ""


def _others_read(case: Case, ours: Inside) -> Iterator[tuple[int, int]]:
    """The reference's values, and others of their size that enter and that they are not made of."""
    tape = case.reference.tape
    read = tuple(dict.fromkeys((*case.partners.values(), *ours.entering)))
    for value in ours.values:
        sources = ours.sources(value)
        for other in read:
            if other == value or tape.values[other].size != ours.array(value).size:
                continue
            if not tape.consumers[other] and other not in tape.outputs.values():
                continue  # what a fused norm gives besides
            if other not in sources and tape.before_moves(other) != tape.before_moves(value):
                yield value, other


def _exchanged(case: Case, ours: Inside) -> Iterator[Explanation]:
    entering = ours.entering[:_SWAPS]
    for i, first in enumerate(entering):
        for second in entering[i + 1 :]:
            if ours.array(first).shape != ours.array(second).shape:
                continue
            if _substituted_apart(case, first, second):
                continue

            def predict(trial: Trial, first: int = first, second: int = second) -> Array:
                a, b = case.reference_values(trial.given, (first, second))
                return case.run_reference(trial.given, {first: b, second: a})

            if fits(predict, case.first, case.first.candidate):
                told = _told(case, first), _told(case, second)
                yield Explanation(
                    "wrong-source",
                    f"{told[0]} and {told[1]} have changed places",
                    predict,
                    parameters={"source": (told, told[::-1])},
                    unproved=twins(case),
                    cost=_OTHER,
                )
                return


def _substituted_apart(case: Case, first: int, second: int) -> bool:
    """Whether two values are what two earlier repairs substituted, each its own.

    Which of them is whose was settled there: a swap of both may be one of those repairs.
    """
    made = [
        _substituted_before(case, value)
        for value, partner in case.partners.items()
        if partner in (first, second)
    ]
    return len(made) == 2 and all(made) and made[0].isdisjoint(made[1])


def _substituted_before(case: Case, value: int) -> set[int]:
    """The repairs that a value of the candidate is made of, the last on each way to it."""
    tape, injected = case.repaired.side.tape, case.repaired.injected
    found, seen, stack = set(), {value}, [value]
    while stack:
        at = stack.pop()
        if at in injected:
            found.add(at)
            continue
        op = tape.producer(at)
        for source in op.inputs if op is not None else ():
            if source not in seen:
                seen.add(source)
                stack.append(source)
    return found


def _told(case: Case, value: int) -> str:
    """A value of the reference in words: its name, or what made it and where."""
    return named(case.reference.tape, value)
