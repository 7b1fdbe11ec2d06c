"""In a loop the values of another step are read, or a state that starts from zeros."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import (
    NEARLY_ONE_STEP,
    OP_LEFT_OUT,
    OTHER_SOURCE,
    SOURCES_TRIED,
    STEPS_OF_A_LOOP,
)
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named, put_there, twins
from parity.diagnosis.causes._substitution import (
    Form,
    Substituted,
    inside_candidate,
    inside_reference,
    static_ops,
    with_value,
)
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.causes.operations import number_and_line
from parity.diagnosis.trial import Trial
from parity.numerics.difference import residual
from parity.operations import CONVOLUTIONS, FILLED, PRODUCTS
from parity.site import Site
from parity.tape import Array, Op, Replay, Tape

Sources = Mapping[int, int | None]  # what is read in each value's place; None for zeros


@cause("wrong-source", tier=2)
@first_fitting
def other_steps(case: Case) -> Iterator[Explanation]:
    """In each step of a loop another value is read, as that of the step before.

    Looks like: inputs in another order than the reference takes them; a state read before its
        update.
    Proof: the reference's operations, in all steps at once on the values that the candidate reads,
        give the candidate's value.
    """
    run = case.repaired.reference.run
    for own, others, words in _groups(case):
        if len(own) < STEPS_OF_A_LOOP or _converged(run, own, others):
            continue
        sources = dict(zip(own, others, strict=True))
        put = next(filter(None, (put_there(case, one) for one in others)), "")
        yield Explanation(
            "wrong-source",
            f"in {len(own)} steps the values of {words[1]} are read; the reference reads "
            f"{words[0]}",
            _with_sources(case, sources),
            parameters={"source": words},
            # the first state is zeros: what is multiplied by it changes nothing, as it should
            unproved=put or ("" if own[0] in others else twins(case, others)),
            cost=2 * OTHER_SOURCE,
        )


def _converged(run: Replay, own: Sequence[int], others: Sequence[int]) -> bool:
    """Whether other steps hold nearly the same, as those of an iteration do in the end."""
    pairs = (map(run.array, both) for both in zip(own, others, strict=True))
    return any(a.shape == b.shape and residual(a, b) <= NEARLY_ONE_STEP for a, b in pairs)


def _groups(case: Case) -> Iterator[tuple[Sequence[int], Sequence[int], tuple[str, str]]]:
    """Values that one line makes in the turns of a loop, with others that may be read instead."""
    tape = case.reference.tape
    made = [value for op in case.reference.ops for value in op.outputs]
    groups = _by_line(tape, (*case.entering, *made))
    read = [one for one in case.partners.values() if one not in case.entering]
    others = _by_line(tape, read)
    for (site, own), (there, found) in itertools.islice(
        itertools.product(groups.items(), others.items()), SOURCES_TRIED
    ):
        if site != there and len(found) >= len(own) and _alike(tape, own, found):
            yield own, found[: len(own)], _names(tape, own[0], found[0])
    for own in groups.values():
        before = _before_the_first(tape, own)
        if before is not None and tape.values[before].shape == tape.values[own[0]].shape:
            name = named(tape, own[0])
            yield own, [before, *own[:-1]], (name, f"{name}, the one of the step before")


def _names(tape: Tape, own: int, other: int) -> tuple[str, str]:
    """What two lines give, in words; where both take it of one value, the lines."""
    names = named(tape, own), named(tape, other)
    if names[0] != names[1]:
        return names
    makers = tape.producer(own), tape.producer(other)
    lines = [op.site.source.rsplit("/", 1)[-1] for op in makers if op is not None]
    return f"{names[0]} as {lines[0]} takes them", f"{names[1]} as {lines[1]} takes them"


def _by_line(tape: Tape, values: Collection[int]) -> dict[Site, list[int]]:
    """Live values that one line makes several times, in their order."""
    found: dict[Site, list[int]] = defaultdict(list)
    for value in sorted({*values}):
        op = tape.producer(value)
        if op is not None and op.site.frames and op.outputs.index(value) == 0:
            if tape.is_live(value):
                found[op.site].append(value)
    return {site: group for site, group in found.items() if len(group) > 1}


def _alike(tape: Tape, own: Sequence[int], others: Sequence[int]) -> bool:
    shapes = {tape.values[one].shape for one in (*own, *others)}
    return len(shapes) == 1


def _before_the_first(tape: Tape, own: Sequence[int]) -> int | None:
    """What is to the first of some states what the first is to the second: where a loop starts."""
    first, second = own[:2]
    made = tape.graph.ancestors([second])
    reader = next((i for i in sorted(tape.consumers[first]) if i in made), None)
    if reader is None:
        return None
    op = tape.ops[reader]
    place = op.inputs.index(first)
    before = tape.graph.ancestors([first])
    same = [i for i in before if tape.ops[i].site == op.site and len(tape.ops[i].inputs) > place]
    start = tape.ops[max(same)].inputs[place] if same else None
    return start if start not in own else None


def _with_sources(case: Case, sources: Sources) -> Substituted:
    """The reference's region with others in the place of several values."""
    values = case.reference.tape.values

    def run(trial: Trial, change: Form) -> Array:
        read = [one for one in dict.fromkeys(sources.values()) if one is not None]
        found = dict(zip(read, case.reference_values(trial.given, read), strict=True))
        entering = dict(zip(case.entering, trial.inputs, strict=True))
        arrays = {
            value: np.zeros(values[value].shape) if other is None else found[other]
            for value, other in sources.items()
        }
        laid = {one: change(array.reshape(values[one].shape)) for one, array in arrays.items()}
        return case.run_reference(trial.given, {**entering, **laid})

    return Substituted(run)


@cause("wrong-source", tier=2)
@first_fitting
def zeros_read(case: Case) -> Iterator[Explanation]:
    """A state starts from zeros, where the reference passes one on.

    Looks like: a decoder that does not get the encoder's last state.
    Proof: the reference's operations on zeros in the place of what the candidate does not read give
        the candidate's value.
    """
    tape, values = case.reference.tape, case.reference.tape.values
    shapes = {array.shape for array in _zeros(case)} if varies(case.first.candidate) else set()
    known = {*case.partners.values()}
    left = [
        one
        for one in case.entering
        if one not in known and values[one].shape in shapes and tape.is_live(one)
    ]
    for own in ([left] if left else []) + ([[one] for one in left] if len(left) > 1 else []):
        right = " and ".join(dict.fromkeys(named(tape, one) for one in own))
        yield Explanation(
            "wrong-source",
            f"zeros are read; the reference reads {right}",
            _with_sources(case, dict.fromkeys(own)),
            parameters={"source": (right, "zeros")},
            cost=2 * OTHER_SOURCE + len(own) / 10,
        )


def _zeros(case: Case) -> Iterator[Array]:
    """The constants that are zeros throughout, that the candidate's operations start from."""
    view, inside = case.candidate, inside_candidate(case)
    made = (*view.ops, *static_ops(view))
    filled = [one for op in made if op.word in FILLED for one in op.outputs]
    for value in (*view.constants, *(leaf.id for leaf in view.leaves), *filled):
        array = case.repaired.side.run.array(value)
        if array.ndim > 1 and array.dtype.kind == "f" and not array.any():
            yield inside.array(value)


@cause("wrong-source", tier=2)
@first_fitting
def constant_of_another_step(case: Case) -> Iterator[Explanation]:
    """What a line of a loop reads is that of the step before, or of the next.

    Looks like: a mask that hides a choice one step after it was made.
    Proof: the reference's operations on what its own line reads in the other step give the
        candidate's value.
    """
    tape, run = case.reference.tape, case.repaired.reference.run
    read = [*_constants(case)]
    turns = _turns(tape) if read else {}
    for op, value in read:
        steps = turns[op.site]
        at, slot = steps.index(op), op.inputs.index(value)
        for far, word in ((-1, "before"), (1, "after")):
            if not 0 <= at + far < len(steps):
                continue
            inputs = steps[at + far].inputs
            if slot >= len(inputs):
                continue  # another operation of the line
            other = inputs[slot]
            array = run.array(other)
            if tape.is_live(other) or array.shape != run.array(value).shape or not varies(array):
                continue
            name = f"what {op.kind} reads in the step {word}"
            yield Explanation(
                "wrong-source",
                f"{name} is read here; the reference reads what belongs to its own step",
                with_value(case, value, lambda _, array=array: array),
                parameters={"step": ("its own", f"the one {word}")},
                cost=OTHER_SOURCE,
            )


def _constants(case: Case) -> Iterator[tuple[Op, int]]:
    """Constants with the operations of the reference that compute with them."""
    tape = case.reference.tape
    for op in case.reference.computing:
        for value in () if op.static else op.inputs:
            leaves = tape.graph.leaves([value]) if not tape.is_live(value) else ()
            if leaves and all(tape.values[one].kind == "constant" for one in leaves):
                yield op, value


def _turns(tape: Tape) -> Mapping[Site, list[Op]]:
    """The times that each line runs an operation; the second one of a line is of another kind."""
    found: dict[Site, list[Op]] = defaultdict(list)
    for op in tape.ops:
        if not op.static:
            found[op.site].append(op)
    return found


@cause("op-missing", "op-extra", tier=2)
@first_fitting
def missing_in_turns(case: Case) -> Iterator[Explanation]:
    """What is applied in each turn of a loop is missing, or is applied there too much.

    Looks like: a residual that is not scaled in any block.
    Proof: one side's operations without all of those give the other side's value.
    """
    for side in sides(case):
        alike: dict[object, list[Op]] = defaultdict(list)
        for op in side.view.computing:
            source = None if op.static else _taken(side.view.tape, op)
            if source is not None:
                others = tuple(one for one in op.inputs if one != source)
                alike[op.kind, op.site.layer, others, repr(op.attributes)].append(op)
        for ops in alike.values():
            if len(ops) < 2:
                continue
            kind, text, shown = "op-missing", "is missing here", (ops[0].kind, "none")
            inside = inside_reference
            if side.is_candidate:
                kind, text = "op-extra", "is applied here, the reference has none here"
                shown, inside = shown[::-1], inside_candidate
            yield side.changed(
                Explanation(
                    kind,
                    f"{ops[0].kind}{number_and_line(inside(case), ops[:1])} {text}",
                    partial(_without, side, ops),
                    parameters={"operations": shown},
                    cost=OP_LEFT_OUT * len(ops),
                )
            )


def _taken(tape: Tape, op: Op) -> int | None:
    """The one value that an operation changes and could as well leave as it is."""
    live = [one for one in op.inputs if tape.is_live(one)]
    if len(op.outputs) != 1 or len(live) != 1:
        return None
    alike = tape.values[live[0]].shape == tape.values[op.outputs[0]].shape
    return live[0] if alike and op.word not in PRODUCTS | CONVOLUTIONS else None


def _without(side: CaseSide, ops: Sequence[Op], trial: Trial) -> Array:
    """What a side gives without some of its operations, one after the other left out."""
    case = side.case
    # the inputs stay, even where outside the region they are made of what is left out
    entering = {} if side.is_candidate else dict(zip(case.entering, trial.inputs, strict=True))
    replaced: dict[int, Array] = {**entering}
    for op in ops:
        source = _taken(side.view.tape, op)
        assert source is not None
        (replaced[op.outputs[0]],) = side.values(trial.given, (source,), replaced)
    return side.run(trial.given, replaced)
