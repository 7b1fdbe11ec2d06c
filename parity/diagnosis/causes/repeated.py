"""Values that a loop, or layer after layer, makes again and again: each is another one than meant.

What one place in code makes in every turn is one group. A mistake there replaces all of a group at
once; where a region holds several turns, no single value explains it.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import (
    GROUPS_EXCHANGED,
    GROUPS_TRIED,
    OPS_OF_A_LINE,
    OPS_OF_TURNS,
    OTHER_SOURCE,
    TURNS_TRIED,
)
from parity.diagnosis.causes._sources import named_apart, put_there, substituted_apart, twins
from parity.diagnosis.causes.combinators import first_that_fits
from parity.diagnosis.trial import Trial
from parity.tape import Array, Op, Tape

Group = tuple[int, ...]
Place = tuple[object, ...]


@cause("wrong-source", tier=2)
def groups_exchanged(case: Case) -> Iterator[Explanation]:
    """Values read in every turn of a loop have changed places: one group, or two at once.

    Looks like: a divergence of two distributions, KL(p, q), that is computed as KL(q, p).
    Proof: the reference's operations with the groups exchanged give the candidate's value.
    """
    for found in first_that_fits(case, _exchanges(case)):
        yield replace(found, unproved=found.unproved or twins(case))


def _exchanges(case: Case) -> Iterator[Explanation]:
    tape = case.reference.tape
    groups = list(_by_place(tape, case.entering).values())[:GROUPS_EXCHANGED]
    by_turns = ((one[::2], one[1::2]) for one in groups if len(one) > 1)  # two of one line
    pairs = [
        (a, b)
        for a, b in (*itertools.combinations(groups, 2), *by_turns)
        if _shapes(tape, a) == _shapes(tape, b) and not _is_repaired(case, a, b)
    ]
    for count in (1, 2):
        for chosen in itertools.combinations(pairs, count):
            read = [value for pair in chosen for group in pair for value in group]
            if len(set(read)) < len(read) or len(read) == 2:
                continue
            names = [_names(case, a[0], b[0]) for a, b in chosen]
            said = ", and ".join(" and ".join(pair) for pair in names)
            yield Explanation(
                "wrong-source",
                f"{said}{',' if count > 1 else ''} have changed places",
                partial(_with_exchanged, case, chosen),
                parameters={"source": (names[0], names[0][::-1])},
                cost=count * OTHER_SOURCE,
            )


def _is_repaired(case: Case, first: Group, second: Group) -> bool:
    return any(substituted_apart(case, *pair) for pair in zip(first, second, strict=True))


def _with_exchanged(case: Case, pairs: Sequence[tuple[Group, Group]], trial: Trial) -> Array:
    entering = dict(zip(case.entering, trial.inputs, strict=True))
    swapped = dict(entering)
    for first, second in pairs:
        for a, b in zip(first, second, strict=True):
            swapped[a], swapped[b] = entering[b], entering[a]
    return case.run_reference(trial.given, swapped)


@cause("wrong-source", tier=2)
def read_in_every_turn(case: Case) -> Iterator[Explanation]:
    """In every turn of a loop, or in every layer, another value is read than the reference's.

    Looks like: messages that are computed once, before the loop; a state of the step before; layers
        that work beside each other and not one after the other.
    Proof: the reference's operations with that value of each turn in the place of the one that they
        read give the candidate's value.
    """
    for found in first_that_fits(case, _other_groups(case)):
        yield replace(found, unproved=found.unproved or twins(case))


def _other_groups(case: Case) -> Iterator[Explanation]:
    for group, sources in itertools.islice(_in_turns(case), GROUPS_TRIED):
        names = _names(case, group[0], sources[0])
        times = f" ({len(group)} times)" if len(group) > 1 else ""
        yield Explanation(
            "wrong-source",
            f"the values of {names[1]} are read; the reference reads {names[0]}{times}",
            partial(_with_sources, case, group, sources),
            parameters={"source": names},
            unproved=next(filter(None, (put_there(case, one) for one in sources)), ""),
            cost=2 * OTHER_SOURCE,
        )


def _in_turns(case: Case) -> Iterator[tuple[Group, Group]]:
    """Groups of the reference's values, with what may be read in the place of each."""
    tape = case.reference.tape
    if len(case.reference.ops) > OPS_OF_TURNS:
        return
    computed = (v for op in case.reference.computing if not op.static for v in op.outputs)
    groups = _by_place(tape, (*case.entering, *computed))
    everywhere = _by_place(tape, (value for op in tape.ops for value in op.outputs))
    wholes = _read_in_parts(case)
    own = [value for value in case.partners.values() if value not in case.entering]
    for source in dict.fromkeys((*wholes, *own, *case.partners.values())):
        turns = everywhere.get(_place(tape, source), (source,))
        for group in groups.values():
            if source in group or _shapes(tape, group[:1]) != _shapes(tape, (source,)):
                continue
            if source < group[0] and (len(group) > 1 or source in wholes):
                yield group, (source,) * len(group)
            latest = _latest(turns, group)
            if 1 < len(group) <= TURNS_TRIED and len(set(latest)) == len(group):
                yield group, latest


def _latest(turns: Group, group: Group) -> Group:
    """For each of a group the last of other values that was made before it; () if one has none."""
    found = [[other for other in turns if other < value][-1:] for value in group]
    return tuple(one[0] for one in found if one) if all(found) else ()


def _read_in_parts(case: Case) -> list[int]:
    """Values of which the candidate's region reads several parts, as the gates of a cell."""
    tape = case.reference.tape
    starts = Counter(
        start
        for value in case.partners.values()
        if tape.values[start := tape.before_moves(value)].size > tape.values[value].size
    )
    return [start for start, count in starts.items() if count > 1]


def _with_sources(case: Case, group: Group, sources: Group, trial: Trial) -> Array:
    """The reference's region with other values for a group: later ones are made of the first."""
    replaced = dict(zip(case.entering, trial.inputs, strict=True))
    inside = {value for op in case.reference.ops for value in op.outputs}
    if inside.isdisjoint(sources):
        arrays = case.reference_values(trial.given, sources, replaced)
        replaced.update(zip(group, arrays, strict=True))
        return case.run_reference(trial.given, replaced)
    for value, source in zip(group, sources, strict=True):
        (replaced[value],) = case.reference_values(trial.given, (source,), replaced)
    return case.run_reference(trial.given, replaced)


def _by_place(tape: Tape, values: Iterable[int]) -> dict[Place, Group]:
    """Numbers that an input reaches, those that one place in code made together."""
    found: dict[Place, list[int]] = {}
    for value in sorted(set(values)):
        if tape.is_live(value) and tape.values[value].dtype.startswith(("float", "bfloat")):
            found.setdefault(_place(tape, value), []).append(value)
    return {place: tuple(group) for place, group in found.items()}


def _place(tape: Tape, value: int) -> Place:
    """Where in code a value is made: in each turn, and each of several layers, it is the same."""
    op = tape.producer(value)
    if op is None:
        return (value,)
    return (*_line(op), tape.values[value].shape, _written(tape, value, op))


def _line(op: Op) -> Place:
    return op.site.frames, _unnumbered(op.site.layer)


def _written(tape: Tape, value: int, by: Op, depth: int = OPS_OF_A_LINE) -> Place:
    """What a value is on a line: of what else on that line, and of which weights."""
    op = tape.producer(value)
    if not tape.is_live(value):
        names = sorted(tape.values[leaf].name for leaf in tape.graph.leaves([value]))
        return tuple(map(_unnumbered, names))
    if op is None or not depth or _line(op) != _line(by):
        return ()
    made = (_written(tape, tape.before_moves(one), by, depth - 1) for one in op.inputs)
    return (op.kind, op.outputs.index(value), *made)


def _unnumbered(name: str) -> str:
    return re.sub(r"\d+", "", name)


def _shapes(tape: Tape, group: Group) -> list[tuple[int, ...]]:
    return [tape.values[value].shape for value in group]


def _names(case: Case, first: int, second: int) -> tuple[str, str]:
    return named_apart(case.reference.tape, case.repaired.reference.run, first, second)
