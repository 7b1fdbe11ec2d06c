"""Larger cases around one: what is a constant alone may be a norm's epsilon, or a loop's step."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from parity.budget import check
from parity.diagnosis import limits
from parity.diagnosis.case import Case
from parity.diagnosis.region import Region
from parity.matching.axis_order import Order
from parity.operations import ADDITIONS, MULTIPLICATIONS, SUBTRACTIONS
from parity.tape import Op, Replay, Tape

_SUMS = (ADDITIONS | SUBTRACTIONS | MULTIPLICATIONS | {"divide", "divide_from", "negate"}) - {
    "matmul",
    "bias_add",  # with the product before it, it is a layer
}


def enclosures(case: Case) -> Iterator[Case]:
    """Larger cases around this one with a single entering value, the smallest first.

    An epsilon that is added is a constant; seen with what is made of it, it is a norm's. Within
    a loop over steps the whole loop comes before them: a step alone shows little.
    """
    loop = _loop(case)
    if loop is not None:
        yield loop
    tape = case.repaired.reference.tape
    own = (case.reference, case.candidate)
    known = [(view.end, {op.index for op in view.ops}) for view in own]
    for (c, d), order in _later_ends(case):
        smaller = -1
        for cut, ops in _single_entries(tape, c, {op.index for op in case.reference.ops}):
            after = _candidate_slice(case, cut, d)
            if after is None or len(ops) == smaller:
                continue
            smaller = len(ops)
            if known != [(c, ops), (d, {op.index for op in after})]:
                yield _enclosure(case, ops, after, (c, d), order)
            break


def whole_sum(case: Case) -> Case | None:
    """The sum around a case with all its terms and factors; None where there is no more of it.

    Sums that are written in another order share no part of them, and agree again at their end.
    """
    tapes = case.repaired.reference.tape, case.repaired.side.tape
    ends = _end_of_sum(case)
    inside = [_terms(tape, end) for tape, end in zip(tapes, ends, strict=True)]
    own = [
        {op.index for op in view.ops if not op.static} for view in (case.reference, case.candidate)
    ]
    if not all(few < more for few, more in zip(own, inside, strict=True)):
        return None
    order = case.order if ends[0] == case.reference.end else case.repaired.pairs[ends[1]].order
    candidate = tuple(tapes[1].ops[index] for index in sorted(inside[1]))
    found = _enclosure(case, inside[0], candidate, ends, order)
    known = {*map(tapes[0].before_moves, found.entering)}
    read = found.candidate_entering
    partners = (found.partners.get(value, -1) for value in read)
    return (
        found if all(one >= 0 and tapes[0].before_moves(one) in known for one in partners) else None
    )


def _end_of_sum(case: Case) -> tuple[int, int]:
    """The last pair of values that a case's end goes into as a term or a factor alone."""
    tapes = case.repaired.reference.tape, case.repaired.side.tape
    ends = case.reference.end, case.candidate.end
    value = ends[1]
    for _ in range(limits.TERMS_OF_A_SUM):
        readers = [tapes[1].ops[index] for index in tapes[1].consumers[value]]
        if len(readers) != 1 or readers[0].word not in _SUMS:
            break
        (value,) = readers[0].outputs
        pair = case.repaired.pairs.get(value)
        if pair is not None and pair.same and ends[0] in _made_of(tapes[0], pair.reference):
            ends = pair.reference, value
    return ends


def _terms(tape: Tape, end: int) -> frozenset[int]:
    """The sums, differences and products that a value is made of."""
    walk = tape.graph.backward([end], lambda _, op: op.word in _SUMS and not op.static)
    found = {op.index for _, op in walk if op is not None and op.word in _SUMS and not op.static}
    return frozenset(found) if len(found) <= limits.TERMS_OF_A_SUM else frozenset()


def _made_of(tape: Tape, end: int) -> set[int]:
    return {value for index in _terms(tape, end) for value in tape.ops[index].outputs}


def _enclosure(
    case: Case,
    reference: Collection[int],
    candidate: tuple[Op, ...],
    ends: tuple[int, int],
    order: Order | None,
) -> Case:
    tapes = case.repaired.reference.tape, case.repaired.side.tape
    region = Region(tapes[0], tuple(tapes[0].ops[index] for index in sorted(reference)), None)
    return Case(case.repaired, region, Region(tapes[1], candidate, None), ends, order)


def _loop(case: Case) -> Case | None:
    """The smallest case around this one that holds all steps that read the matrices in it."""
    tape, other = case.repaired.reference.tape, case.repaired.side.tape
    spans, other_spans = _spans(tape), _spans(other)
    if not spans and not other_spans:
        return None
    for (c, d), order in _later_ends(case, limits.RECURRENT_ENCLOSURE_STEPS, moves=True):
        if _within(tape.values[c].op, spans) or _within(other.values[d].op, other_spans):
            continue  # there are steps to come
        inside, after = _from_one_entry(case, (c, d))
        if after is None:
            continue
        other_inside = {op.index for op in after}
        starts = {start for start, _ in spans}, {start for start, _ in other_spans}
        if starts[0].isdisjoint(inside) and starts[1].isdisjoint(other_inside):
            continue
        if _closed(other, d, other_inside):
            found = _enclosure(case, inside, after, (c, d), order)
            return found if found.whole else None
    return None


def _from_one_entry(
    case: Case, ends: tuple[int, int]
) -> tuple[frozenset[int], tuple[Op, ...] | None]:
    """Both sides' operations between two ends and the nearest value that alone enters either.

    One side may read the last step alone, and the other all of them: both read the sequence.
    """
    tape, most = case.repaired.reference.tape, limits.RECURRENT_ENCLOSURE_STEPS
    inner = {op.index for op in case.reference.ops}
    for cut, inside in _single_entries(tape, ends[0], inner, most):
        if not _closed(tape, ends[0], inside):
            break  # what leaves it is no part of a larger one either
        after = _candidate_slice(case, cut, ends[1], most)
        if after is not None:
            return inside, after
    return frozenset(), None


def _later_ends(
    case: Case, most: int = limits.ENCLOSURE_ENDS, moves: bool = False
) -> Iterator[tuple[tuple[int, int], Order | None]]:
    """This case's own ends, and the next pairs of values that depend on them.

    A clip that cuts nothing off gives its input. Of equal values the first is an end,
    and the last one too: on other inputs they differ.
    """
    a, b = case.reference.end, case.candidate.end
    yield (a, b), case.order
    other = case.repaired.side.tape
    runs = case.repaired.reference.run, case.repaired.side.run
    last = _last_copy(runs[0], a), _last_copy(runs[1], b)
    if last != (a, b):
        yield last, case.order
    after_a = {a} | case.repaired.reference.tape.graph.descendants(a)
    after_b = other.graph.descendants(b)
    found = 0
    copies: set[int] = set()
    for op in other.ops[case.candidate.value.op + 1 :]:
        for value in (one for one in op.outputs if one in after_b):
            pair = case.repaired.pairs.get(value)
            if (op.role == "move" and not moves) or pair is None or not pair.same:
                continue
            if pair.reference not in after_a or value in copies:
                continue
            yield (pair.reference, value), pair.order
            found += 1
            last = _last_copy(runs[0], pair.reference), _last_copy(runs[1], value, copies)
            if last != (pair.reference, value):
                yield last, pair.order
        if found >= most:
            return


def _last_copy(run: Replay, value: int, passed: set[int] | None = None) -> int:
    """The last equal value after one, as after a clip of none; adds each to `passed`."""
    tape, array = run.tape, run.array(value)
    while True:
        after = (
            made
            for index in tape.consumers[value]
            for made in tape.ops[index].outputs[:1]
            if tape.ops[index].role != "move" and tape.values[made].shape == array.shape
        )
        copy = next((made for made in after if np.array_equal(run.array(made), array)), None)
        if copy is None:
            return value
        value = copy
        if passed is not None:
            passed.add(value)


def _candidate_slice(
    case: Case, cut: int, end: int, most: int = limits.ENCLOSURE_STEPS
) -> tuple[Op, ...] | None:
    """The candidate's operations between a reference's value's partners and an end."""
    tape = case.repaired.side.tape
    origin = case.repaired.reference.tape.before_moves(cut)
    inside: set[int] = set()

    def is_cut(value: int) -> bool:
        pair = case.repaired.pairs.get(value)
        if pair is None or value == end:
            return False
        return case.repaired.reference.tape.before_moves(pair.reference) == origin

    def is_inside(value: int, op: Op) -> bool:
        return not op.static and not is_cut(value)

    for value, op in tape.graph.backward([end], is_inside):
        if op is None:
            if tape.values[value].kind == "input" and not is_cut(value):
                return None
        elif is_inside(value, op):
            inside.add(op.index)
            if len(inside) > most:
                return None
    if not {op.index for op in case.candidate.ops if not op.static} <= inside:
        return None
    return tuple(tape.ops[index] for index in sorted(inside))


def _closed(tape: Tape, end: int, inside: Collection[int]) -> bool:
    """Whether nothing but the end leaves a region for an output."""
    outside = tape.used.difference(inside)
    outputs = set(tape.outputs.values())
    made = [value for index in inside for value in tape.ops[index].outputs if value != end]
    read = (index for value in made for index in tape.consumers[value])
    return outputs.isdisjoint(made) and outside.isdisjoint(read)


def _spans(tape: Tape) -> list[tuple[int, int]]:
    """The first and last readers of the matrices that are read more than once."""
    return [(min(ops), max(ops)) for ops in tape.graph.readers_of_matrices if len(ops) > 1]


def _within(op: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= op < stop for start, stop in spans)


def _single_entries(
    tape: Tape, end: int, inner: Collection[int], most: int = limits.ENCLOSURE_STEPS
) -> Iterator[tuple[int, frozenset[int]]]:
    """Values that alone enter what `end` is made of, nearest first, and operations behind."""
    live = {index for index in inner if not tape.ops[index].static}
    cut = {end}
    inside: set[int] = set()
    while cut and len(inside) <= most:
        check()
        latest = max(cut, key=lambda value: (tape.values[value].op, value))
        op = tape.producer(latest)
        if op is None:
            return  # an input of the model: nothing lies before it
        cut.discard(latest)
        inside.add(op.index)
        cut.update(value for value in op.inputs if tape.is_live(value))
        cut = {value for value in cut if tape.values[value].op not in inside}
        if len(cut) == 1 and live <= inside:
            yield next(iter(cut)), frozenset(inside)
