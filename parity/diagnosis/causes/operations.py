"""An operation or a branch is missing, or is there and should not be."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import partial

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, as_it_is, cause
from parity.diagnosis.causes._attested import adds
from parity.diagnosis.causes._limits import BYPASSES_TRIED, OP_LEFT_OUT
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import is_bound, named, near, twins, unchanging
from parity.diagnosis.causes._substitution import (
    Inside,
    alone,
    fits,
    in_candidate,
    inside_candidate,
    inside_reference,
    with_value,
)
from parity.diagnosis.causes._weights import Made, made
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import LeafView
from parity.draws.draw import Reparametrised
from parity.matching.match import Indexed
from parity.operations import (
    ADDITIONS,
    DIVISIONS,
    MULTIPLICATIONS,
    NORMS,
    SOFTMAXES,
    SUBTRACTIONS,
)
from parity.tape import Array, Op

# several operations in one
_JOINED_WITH_A_NUMBER = {
    **dict.fromkeys(MULTIPLICATIONS | DIVISIONS, "by"),
    **dict.fromkeys(ADDITIONS | SUBTRACTIONS, "of"),
    "power": "to",
}
_KERNELS = SOFTMAXES | NORMS | {"cross_entropy", "attention", "recurrence"}


@cause("op-missing", "branch-missing", "softmax-axis", tier=2)
def missing(case: Case) -> Iterator[Explanation]:
    """An operation, or a branch that is added to another, is missing.

    Looks like: the value before the operation is the one that goes on.
    Proof: the reference's operations without it give the candidate's value.
    """
    reference = inside_reference(case)
    for value, source, left_out in bypasses(reference):
        predict = with_value(case, value, alone, source)
        if fits(predict, case.first, case.first.candidate):
            yield _left_out_here(case, reference, predict, source, left_out)
            return


def _left_out_here(
    case: Case, reference: Inside, predict: Predict, source: int, left_out: list[Op]
) -> Explanation:
    candidate = inside_candidate(case)
    words = [op.word for op in left_out if op.role != "move"]
    is_addition = len(words) == 1 and words[0] in {"add"} | SUBTRACTIONS
    zeros = _adds_zeros(candidate) if is_addition else None
    if zeros is not None and _adds_zeros(reference) is None:
        at = zeros.site.source.rsplit("/", 1)[-1]
        return Explanation(
            "branch-missing",
            f"what {zeros.kind} adds{f' at {at}' if at else ''} is zero throughout; "
            "what the reference adds is not",
            predict,
            parameters={"zero": (False, True)},
            unproved=twins(case),
        )
    length = _attends_to_one(case, left_out)
    if length:
        return Explanation(
            "softmax-axis",
            f"attention to a single element, which gives it back; the reference's is to {length}",
            predict,
            parameters={"length": (length, 1)},
        )
    names = _names(left_out)
    return Explanation(
        "branch-missing" if _joins(reference, source, left_out) else "op-missing",
        f"{names}{number_and_line(reference, left_out)}"
        f"{_brought_in(reference, source, left_out)} is missing here",
        predict,
        parameters={"operations": (names, "none")},
        unproved=twins(case) or doubtful(reference, candidate, left_out),
        cost=OP_LEFT_OUT * len(left_out),
    )


def _attends_to_one(case: Case, left_out: list[Op]) -> int:
    """Over how many elements the reference attends where the candidate has but one; 0 elsewhere.

    Attention to a single element gives back its value, as where each sample is one sequence.
    """
    tape = case.candidate.tape
    for value in case.candidate_entering:
        op = tape.producer(tape.before_moves(value))
        if op is None or op.word != "attention" or tape.values[op.inputs[1]].shape[-2:-1] != (1,):
            continue
        for one in left_out:
            if one.word in SOFTMAXES | {"attention"}:
                of = one.outputs[0] if one.word in SOFTMAXES else one.inputs[1]
                return case.reference.tape.values[of].shape[-1 if one.word in SOFTMAXES else -2]
    return 0


def _names(ops: list[Op]) -> str:
    return ", ".join(dict.fromkeys(op.kind for op in ops if op.role != "move"))


def number_and_line(inside: Inside, ops: list[Op]) -> str:
    """Of a single operation with a number the number, and the line: ` by 0.5 at model.py:62`."""
    computing = [op for op in ops if op.role != "move"]
    if len(computing) != 1 or computing[0].word not in _JOINED_WITH_A_NUMBER:
        return ""
    (op,), tape = computing, inside.view.tape
    held = [one for one in op.inputs if tape.values[one].size == 1 and not tape.is_live(one)]
    numbers = [float(inside.array(one).ravel()[0]) for one in held]
    numbers += [float(one) for name, one in op.settings() if name in ("other", "value", "exponent")]
    if len(numbers) != 1:
        return ""
    line = op.site.source.rsplit("/", 1)[-1]
    return f" {_JOINED_WITH_A_NUMBER[op.word]} {numbers[0]:.6g}" + (f" at {line}" if line else "")


def doubtful(own: Inside, other: Inside, left_out: list[Op]) -> str:
    """Why operations may be no more than one side's way to write what the other has, too."""
    return _is_given(left_out) or _has_it(other, own, left_out) or _gives_constants(own, left_out)


@cause("op-extra", tier=2)
def extra(case: Case) -> Iterator[Explanation]:
    """The candidate has an operation that the reference has not.

    Looks like: the value before the operation is the reference's.
    Proof: the candidate's operations without it give the reference's value.
    """
    candidate = inside_candidate(case)
    for value, source, left_out in bypasses(candidate):
        fixed = in_candidate(case, value, alone, source)
        if not fits(fixed, case.first, case.first.reference):
            continue
        names = _names(left_out)
        yield Explanation(
            "op-extra",
            f"{names}{number_and_line(candidate, left_out)}"
            f"{_brought_in(candidate, source, left_out)} is applied here, the reference has none "
            "here",
            as_it_is,
            fixed,
            {"operations": ("none", names)},
            unproved=twins(case)
            or _is_of_shared_weights(case, left_out)
            or _read_elsewhere(candidate, left_out)
            or doubtful(candidate, inside_reference(case), left_out),
            cost=OP_LEFT_OUT * len(left_out),
        )
        return


@cause("op-missing", "op-extra", tier=2)
@first_fitting
def each_time(case: Case) -> Iterator[Explanation]:
    """An operation that a line applies in several places is missing in all of them, or too much.

    Looks like: a function of one part of a value, where the one model goes row by row.
    Proof: one side's operations, each of those without effect, give the other side's value.
    """
    both = inside_reference(case), inside_candidate(case)
    for side, own, other in zip(sides(case), both, both[::-1], strict=True):
        for ops in itertools.islice(_of_one_line(side), BYPASSES_TRIED):
            said = (ops[0].kind, "none")
            kind, text = "op-missing", "is missing here"
            if side.is_candidate:
                kind, text = "op-extra", "is applied here, the reference has none here"
            yield side.changed(
                Explanation(
                    kind,
                    f"{ops[0].kind} {text}, in {len(ops)} places",
                    partial(_without_each, side, ops),
                    parameters={"operations": said[::-1] if side.is_candidate else said},
                    unproved=twins(case) or doubtful(own, other, ops),
                    cost=OP_LEFT_OUT * len(ops),
                )
            )


def _of_one_line(side: CaseSide) -> Iterator[list[Op]]:
    """The operations of one word and line that work on one value each, element by element."""
    tape, found = side.view.tape, dict[tuple[str, str], list[Op]]()
    for op in side.view.computing:
        live = [value for value in op.inputs if tape.is_live(value)]
        if op.static or len(op.outputs) != 1 or len(live) != 1:
            continue
        if tape.values[live[0]].shape == tape.values[op.outputs[0]].shape:
            found.setdefault((op.word, op.site.source), []).append(op)
    return (ops for ops in found.values() if 1 < len(ops) <= BYPASSES_TRIED)


def _without_each(side: CaseSide, ops: list[Op], trial: Trial) -> Array:
    tape, given = side.view.tape, dict[int, Array]()
    for op in ops:
        (source,) = (value for value in op.inputs if tape.is_live(value))
        (given[op.outputs[0]],) = side.values(trial.given, (source,), given)
    return side.run(trial.given, given)


def _is_given(left_out: list[Op]) -> str:
    # parity itself gives a distribution other parameters; the softmax of logits it takes itself
    given = [
        op for op in left_out if isinstance(op.call, Reparametrised) and "softmax" not in op.kind
    ]
    if given and len(given) < len(left_out):
        return f"what is compared there is the {given[0].kind}, which the other model gives itself"
    return ""


def _is_of_shared_weights(case: Case, left_out: list[Op]) -> str:
    """Why what the candidate adds may be amiss, as a first state: it is made of shared matrices."""
    known = _matrices(case.repaired.reference)
    tape = case.candidate.tape
    for op in left_out:
        if op.word in MULTIPLICATIONS:
            continue  # what scales, as the waves of positions do, is read more than once
        sources = [made(case.candidate, one) for one in op.inputs if not tape.is_live(one)]
        if any(one.ops and known.holds(one.without_biases(tape)) for one in sources):
            return f"what {op.kind} adds is made of weights that the reference has, too"
    return ""


def _matrices(side: Indexed) -> Made:
    """All weights of a model that are no vectors."""
    return Made(
        (),
        tuple(
            LeafView(one.id, one.name, one.kind, side.array(one.id))
            for one in side.tape.values
            if one.op < 0 and one.kind != "input" and len(one.shape) > 1
        ),
    )


def _adds_zeros(inside: Inside) -> Op | None:
    """What adds zeros in a region or next to it, as a mask that masks nothing."""
    tape = inside.view.tape
    makers = (tape.producer(tape.before_moves(value)) for value in inside.entering)
    for op in (*inside.view.ops, *filter(None, makers)):
        fixed = [one for one in op.inputs if not tape.is_live(one)]
        if op.word in {"add"} | SUBTRACTIONS and any(not inside.array(one).any() for one in fixed):
            return op
    return None


def _brought_in(inside: Inside, source: int, left_out: list[Op]) -> str:
    """What the last of some operations takes besides their source: ` of the result of mul`."""
    tape, last = inside.view.tape, left_out[-1]
    root = tape.before_moves(source)
    for value in last.inputs:
        if last.role != "move" and tape.is_live(value) and tape.before_moves(value) != root:
            return f" of {named(tape, value)}" if len(last.inputs) > 1 else ""
    return ""


def _has_it(other: Inside, own: Inside, left_out: list[Op]) -> str:
    """Why an operation may not be one side's alone: the other has it, or a kernel with it."""
    empty = not other.view.computing  # what it computes there may lie behind its end
    candidate, reference = (
        Counter(op.word for op in (*near(inside), *(inside.view.readers() if empty else ())))
        for inside in (other, own)
    )
    for op in left_out:
        if op.role == "move":
            continue  # of splits and joins there are some everywhere
        if candidate[op.word] and candidate[op.word] >= reference[op.word]:
            return f"the other model computes {op.kind} there as well"
    kernels = [word for word in candidate if word in _KERNELS and word not in reference]
    several = len({op.kind for op in left_out if op.role != "move"}) > 1
    if kernels and (several or any(_adds_a_number(own, op) for op in left_out)):
        return f"the other model computes {kernels[0]}, which may have it inside"
    bounds = [op.kind for op in near(other) if is_bound(op)]
    if bounds and any(map(is_bound, left_out)):
        return f"the other model computes {bounds[0]} there, which may have it inside"
    return next(unchanging(other, near(other)), "")


def _adds_a_number(inside: Inside, op: Op) -> bool:
    """Whether an operation adds one number, as a norm does its epsilon."""
    tape = inside.view.tape
    return op.word in ADDITIONS and any(
        tape.values[one].size == 1 and not tape.is_live(one) for one in op.inputs
    )


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


def bypasses(inside: Inside) -> Iterator[tuple[int, int, list[Op]]]:
    """Values, what may stand in their place, and what lies between, the least of it first."""
    found = []
    for value, source in inside.derived():
        made = inside.array(value)
        if inside.array(source).shape == made.shape and varies(made):
            between = _between(inside, source, value)
            if any(op.role != "move" for op in between):
                found.append((value, source, between))
    found.sort(key=lambda one: len(one[2]))
    yield from found[:BYPASSES_TRIED]
    whole = (one for one in found[BYPASSES_TRIED:] if one[1] in inside.entering)
    yield from itertools.islice(whole, BYPASSES_TRIED)  # a block, or all that a region starts with


def _between(inside: Inside, source: int, value: int) -> list[Op]:
    """The operations that a value needs besides a source of it, in the region."""
    tape, inner = inside.view.tape, {op.index for op in inside.view.ops if not op.static}
    walk = tape.graph.backward([value], lambda at, op: at != source and op.index in inner)
    found = {op.index for at, op in walk if op is not None and at != source} & inner
    return [tape.ops[index] for index in sorted(found)]


def _joins(inside: Inside, source: int, left_out: list[Op]) -> bool:
    """Whether what is left out brings in another value than the source, or adds one made of it."""
    made = {value for op in left_out for value in op.outputs} | {source}
    others = set(inside.entering) - made
    if any(not others.isdisjoint(op.inputs) for op in left_out):
        return True
    return adds(left_out[-1]) and len(made.intersection(left_out[-1].inputs)) > 1
