"""Another value is read, an operation or a branch is missing, or is there and should not be."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._parts import (
    Inside,
    alone,
    as_it_is,
    fits,
    in_candidate,
    inside_candidate,
    inside_reference,
    varies,
    with_value,
)
from parity.diagnosis.region import ancestors
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView, plain_kind
from parity.errors import ReplayError
from parity.matching.fingerprint import SAME
from parity.numerics.difference import residual
from parity.tape import Array, Op, Tape

_BYPASSED = 0.01  # what each operation more that is left out costs
_OTHER = 0.5
_TRIES = 24  # a region of many operations has no simple wiring to be told
_KERNELS = ("softmax", "norm", "attention", "lstm", "gru")  # several operations in one
_SWAPS = 4  # values of one shape that are exchanged


@cause("op-missing", "branch-missing", tier=2)
def missing(case: Case) -> Iterator[Explanation]:
    """An operation, or a branch that is added to another, is missing.

    Looks like: the value before the operation is the one that goes on.
    Proof: the reference's operations without it give the candidate's value.
    """
    ours = inside_reference(case)
    for value, source, left_out in _bypasses(ours):
        predict = with_value(case, value, alone, source)
        if not fits(predict, case.first, case.first.candidate):
            continue
        branch = _joins(case, ours, source, left_out)
        names = ", ".join(dict.fromkeys(op.kind for op in left_out if op.role != "move"))
        yield Explanation(
            "branch-missing" if branch else "op-missing",
            f"{names}{_brought_in(ours, source, left_out)} is missing",
            predict,
            parameters={"operations": (names, "none")},
            unproved=_twins(case)
            or _has_it(case.candidate, case.reference, left_out)
            or _gives_constants(ours, left_out),
            cost=_BYPASSED * len(left_out),
        )
        return


@cause("op-extra", tier=2)
def extra(case: Case) -> Iterator[Explanation]:
    """The candidate has an operation that the reference has not.

    Looks like: the value before the operation is the reference's.
    Proof: the candidate's operations without it give the reference's value.
    """
    theirs = inside_candidate(case)
    for value, source, left_out in _bypasses(theirs):
        mended = in_candidate(case, value, alone, source)
        if not fits(mended, case.first, case.first.reference):
            continue
        names = ", ".join(dict.fromkeys(op.kind for op in left_out if op.role != "move"))
        yield Explanation(
            "op-extra",
            f"{names}{_brought_in(theirs, source, left_out)} is not in the reference",
            as_it_is,
            mended,
            {"operations": ("none", names)},
            unproved=_twins(case)
            or _has_it(case.reference, case.candidate, left_out)
            or _read_elsewhere(theirs, left_out)
            or _gives_constants(theirs, left_out),
            cost=_BYPASSED * len(left_out),
        )
        return


def _brought_in(inside: Inside, source: int, left_out: list[Op]) -> str:
    """What the last of some operations takes besides their source: ` of the result of mul`."""
    tape, last = inside.view.tape, left_out[-1]
    root = tape.before_moves(source)
    for value in last.inputs:
        if last.role != "move" and tape.is_live(value) and tape.before_moves(value) != root:
            return f" of {_named(tape, value)}" if len(last.inputs) > 1 else ""
    return ""


def _has_it(other: RegionView, own: RegionView, left_out: list[Op]) -> str:
    """Why an operation may not be what one side has and the other has not; "" if it is.

    The other side computes the same kind elsewhere, or may have it inside a kernel of its own.
    """
    theirs, ours = (Counter(plain_kind(op) for op in view.ops) for view in (other, own))
    for op in left_out:
        kind = plain_kind(op)
        if theirs[kind] and theirs[kind] >= ours[kind]:
            return f"the other model computes {op.kind} there as well"
    kernels = [
        kind for kind in theirs if any(word in kind for word in _KERNELS) and kind not in ours
    ]
    if kernels and len({op.kind for op in left_out if op.role != "move"}) > 1:
        return f"the other model computes {kernels[0]}, which may have it inside"
    return ""


def _read_elsewhere(inside: Inside, left_out: list[Op]) -> str:
    """Why operations are not too many where what they give is needed all the same."""
    tape, here = inside.view.tape, {op.index for op in left_out}
    for op in left_out[:-1]:
        readers = {reader for value in op.outputs for reader in tape.consumers[value]}
        if readers & set(tape.used) - here:
            return f"what {op.kind} gives is read elsewhere too"
    return ""


def _gives_constants(inside: Inside, left_out: list[Op]) -> str:
    """Why an operation that computes nothing of what it reads is not what is missing."""
    for op in left_out:
        made = [value for value in op.outputs if value in inside.values]
        if op.role != "move" and made and not any(varies(inside.array(one)) for one in made):
            return f"{op.kind} gives a constant: what stands in its place may be what is wrong"
    return ""


def _bypasses(inside: Inside) -> Iterator[tuple[int, int, list[Op]]]:
    """Values, others of their shape that they are made of, and what lies between; the least first.

    Yields:
        The id of a value, of the one that may stand in its place, and the operations between.
    """
    found = []
    for value in inside.computed:
        made = inside.array(value)
        sources = inside.sources(value)
        for source in inside.values:
            if source in sources and inside.array(source).shape == made.shape and varies(made):
                between = _between(inside, source, value)
                if any(op.role != "move" for op in between):
                    found.append((value, source, between))
    yield from sorted(found, key=lambda one: len(one[2]))[:_TRIES]


def _between(inside: Inside, source: int, value: int) -> list[Op]:
    """The operations that a value needs besides a source of it, in the region."""
    needed: list[Op] = []
    stack = [value]
    inner = {op.index for op in inside.view.ops}
    while stack:
        at = stack.pop()
        op = inside.view.tape.producer(at)
        if at == source or op is None or op.index not in inner or op.static or op in needed:
            continue
        needed.append(op)
        stack.extend(op.inputs)
    return sorted(needed, key=lambda op: op.index)


def _joins(case: Case, inside: Inside, source: int, left_out: list[Op]) -> bool:
    """Whether what is left out brings in another value than the source, or adds one made of it."""
    made = {value for op in left_out for value in op.outputs} | {source}
    for op in left_out:
        if any(one in inside.entering and one not in made for one in op.inputs):
            return True
    last = left_out[-1]
    live = [one for one in last.inputs if one in made]
    return "add" in last.kind.lower() and len(set(live)) > 1


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
                f"{_told(case, other)} is read; the reference reads {_told(case, value)}",
                predict,
                parameters={"source": (_told(case, value), _told(case, other))},
                unproved=_twins(case),
                cost=_OTHER if value in ours.entering else 2 * _OTHER,
            )
            return
    yield from _exchanged(case, ours)


def _others_read(case: Case, ours: Inside) -> Iterator[tuple[int, int]]:
    """The reference's values, and others of their size that enter and that they are not made of."""
    tape = case.reference.tape
    read = tuple(dict.fromkeys((*case.partners.values(), *ours.entering)))
    for value in ours.values:
        sources = ours.sources(value)
        for other in read:
            if other == value or tape.values[other].size != ours.array(value).size:
                continue
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
                a, b = case.reference_values(trial.fed, (first, second))
                return case.run_reference(trial.fed, {first: b, second: a})

            if fits(predict, case.first, case.first.candidate):
                told = _told(case, first), _told(case, second)
                yield Explanation(
                    "wrong-source",
                    f"{told[0]} and {told[1]} have changed places",
                    predict,
                    parameters={"source": (told, told[::-1])},
                    unproved=_twins(case),
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


def _depends_on(tape: Tape, value: int) -> set[int]:
    """The model's inputs that a value is made of."""
    read = {v for index in ancestors(tape, [value]) for v in tape.ops[index].inputs} | {value}
    return {one for one in read if tape.values[one].kind == "input"}


def _reads_more(case: Case, value: int, partner: int) -> str:
    """Which inputs the candidate's value depends on and its partner does not; "" if none.

    A product with a mask in which nothing is masked is as large as what is masked.
    """
    tapes, pairs = (case.reference.tape, case.candidate.tape), case.repaired.pairs
    known = _depends_on(tapes[0], partner)
    more = [
        tapes[1].values[one].name
        for one in sorted(_depends_on(tapes[1], value))
        if one in pairs and pairs[one].reference not in known
    ]
    return ", ".join(repr(name) for name in more)


def _idle(case: Case) -> str:
    """Why it cannot be told what the candidate reads: an operation on the way changes nothing.

    A product with weights that are all 1 looks like a product that is missing.
    """
    theirs = inside_candidate(case)
    for op in case.candidate.ops:
        live = [value for value in op.inputs if case.candidate.tape.is_live(value)]
        if op.role != "compute" or len(set(live)) < 2 or op.outputs[0] not in theirs.values:
            continue
        made = theirs.array(op.outputs[0])
        for value in live:
            if value in theirs.values and varies(made):
                array = theirs.array(value)
                if array.shape == made.shape and residual(array, made) <= SAME:
                    return f"{op.kind} changes nothing there: what it takes may be what is wrong"
    for value in case.candidate_entering:
        if _is_lost(case, value):
            name = _named(case.candidate.tape, value)
            return f"{name} is read and changes nothing there: how it is used may be what is wrong"
    return ""


def _is_lost(case: Case, value: int) -> bool:
    """Whether the candidate's end is the same for other numbers of what enters, as if masked."""
    tape, run, end = case.candidate.tape, case.repaired.side.run, case.candidate.end
    array = run.array(value)
    if array.dtype.kind != "f" or not np.isfinite(array).all() or value == end:
        return False
    step = np.random.default_rng(0).uniform(0.05, 0.1, array.shape) * (array.std() or 1.0)
    inside = {op.index for op in case.candidate.ops}
    try:
        before, after = (
            tape.replay("float64", {value: fed}, run, only=inside).array(end)
            for fed in (array, array + step)
        )
    except ReplayError:  # outside what an operation takes
        return False
    return np.array_equal(before, after)


def _twins(case: Case) -> str:
    """Why it cannot be told what the candidate reads: other values hold the same numbers.

    Half of a value that was doubled is that value, and (mu + s) - mu is s.
    """
    idle = _idle(case)
    if idle:
        return idle
    found, tape = case.repaired, case.repaired.side.tape
    for value in case.candidate_entering:
        pair = found.pairs.get(value)
        if pair is None:
            continue
        more = _reads_more(case, value, pair.reference)
        if more:
            return f"what is read depends on input {more} too, though not on these inputs"
        ours = found.reference
        alike = set(itertools.islice(ours.index.look_up(ours.print(pair.reference), SAME), _TRIES))
        before = {v for index in ancestors(tape, [value]) for v in tape.ops[index].outputs}
        own = {v for v in before if v in found.pairs and found.pairs[v].reference in alike}
        for side, one, others in ((ours.tape, pair.reference, alike), (tape, value, own)):
            for other in others - {one}:
                if side.is_live(other) and not _is_next_to(side, one, other):
                    name = _named(side, other)
                    return f"what is read holds the same numbers as {name}: either may be meant"
    return ""


def _is_next_to(tape: Tape, value: int, other: int) -> bool:
    """Whether one is the other moved, or what an operation gives of it alone, as a clip of none."""
    roots = tape.before_moves(value), tape.before_moves(other)
    if roots[0] == roots[1]:
        return True
    makers = [(root, tape.producer(root)) for root in roots]
    for _, op in makers:
        read = {tape.before_moves(v) for v in op.inputs if tape.is_live(v)} if op else set()
        if len(read) == 1 and read & set(roots):
            return True
    return False


def _named(tape: Tape, value: int) -> str:
    value = tape.before_moves(value)
    op = tape.producer(value)
    if op is None:
        return f"the input {tape.values[value].name!r}"
    where = op.site.layer or op.site.source.rsplit("/", 1)[-1]
    return f"the result of {op.kind}" + (f" ({where})" if where else "")


def _told(case: Case, value: int) -> str:
    """A value of the reference in words: its name, or what made it and where."""
    return _named(case.reference.tape, value)
