"""What is computed of stored values before any input is read, in one model alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import BYPASSES_TRIED, OP_LEFT_OUT
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes._weights import holders
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import LeafView
from parity.tape import Array, Op


@dataclass(frozen=True)
class _Form:
    """What operations make of one stored value alone, element by element.

    Attributes:
        value: what the last of the operations gives, of the stored value's shape.
    """

    leaf: LeafView
    value: int
    ops: tuple[Op, ...]

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(op.word for op in self.ops)

    @property
    def names(self) -> str:
        return ", ".join(dict.fromkeys(op.kind for op in self.ops if op.role != "move"))


@cause("op-missing", "op-extra", tier=2)
@first_fitting
def of_stored_values(case: Case) -> Iterator[Explanation]:
    """A stored value is read as it is, where the other model computes with it before: or too much.

    Looks like: noise without its transform, a scale without its exponential; all that is stored is
        equal, and what is made of it is not.
    Proof: one side's operations with the stored value in the place of what it makes of it, or with
        what it makes of another stored value made of this one too, give the other side's value.
    """
    tried = itertools.chain(*(_left_out(side) for side in sides(case)))
    yield from itertools.islice(tried, BYPASSES_TRIED)
    tried = itertools.chain(*(_as_its_sibling(side) for side in sides(case)[::-1]))
    yield from itertools.islice(tried, BYPASSES_TRIED)


@cause("op-missing", "op-extra", tier=1)
@first_fitting
def of_several_stored_values(case: Case) -> Iterator[Explanation]:
    """What is computed of several stored values lacks a step, or has one too many.

    Looks like: a variance without the squared mean taken off it; no stored value differs.
    Proof: one side's operations without that step of what it computes of stored values give the
        other side's value.
    """
    for side, other in zip(sides(case), sides(case)[::-1], strict=True):
        steps = itertools.islice(_steps(side, other), BYPASSES_TRIED)
        for op, kept, stored in steps:
            said = (op.kind, "none")
            kind, text = "op-missing", "is missing"
            if side.is_candidate:
                kind, text = "op-extra", "is applied, the reference has none"
            yield side.changed(
                Explanation(
                    kind,
                    f"{op.kind} {text} in what is computed of {stored}",
                    partial(_with, side, {op.outputs[0]: side.model.array(kept)}),
                    parameters={"operations": said[::-1] if side.is_candidate else said},
                    cost=OP_LEFT_OUT,
                    places=(None, op) if side.is_candidate else (op, None),
                )
            )


def _steps(side: CaseSide, other: CaseSide) -> Iterator[tuple[Op, int, str]]:
    """Sums, differences, products of stored values that both models hold; what is left of each.

    With the stored values in words.
    """
    tape = side.view.tape
    for index in sorted(tape.graph.static_before(side.view.ops)):
        op = tape.ops[index]
        if op.role != "compute" or len(op.inputs) != 2 or len(op.outputs) != 1:
            continue
        stored = [
            [leaf for leaf in tape.graph.leaves([one]) if tape.values[leaf].size > 1]
            for one in op.inputs
        ]
        stored_here = [leaf for leaf in (*stored[0], *stored[1]) if tape.values[leaf].name]
        if not all(stored) or not stored_here:
            continue
        if not all(any(holders(other.model, side.model.array(one))) for one in stored_here):
            continue  # another weight, and no step
        names = ", ".join(dict.fromkeys(named(tape, leaf) for leaf in stored_here))
        for kept in op.inputs:
            if tape.values[kept].shape == tape.values[op.outputs[0]].shape:
                yield op, kept, names


def _left_out(side: CaseSide) -> Iterator[Explanation]:
    """Each form by itself, and all of one kind together."""
    forms = _forms(side)
    alike: dict[tuple[str, ...], list[_Form]] = {}
    for form in forms:
        alike.setdefault(form.words, []).append(form)
    for some in (*([form] for form in forms), *(one for one in alike.values() if len(one) > 1)):
        last = some[0].ops[-1]
        of = " and of ".join(dict.fromkeys(named(side.view.tape, one.leaf.id) for one in some))
        said = (some[0].names, "none")
        kind, text = "op-missing", f"of {of} is missing"
        if side.is_candidate:
            kind, text = "op-extra", f"of {of} is taken, the reference takes none"
        yield side.changed(
            Explanation(
                kind,
                f"{some[0].names} {text}",
                partial(_with, side, {one.value: one.leaf.array for one in some}),
                parameters={"operations": said[::-1] if side.is_candidate else said},
                cost=OP_LEFT_OUT * len(some[0].ops),
                places=(None, last) if side.is_candidate else (last, None),
            )
        )


def _as_its_sibling(side: CaseSide) -> Iterator[Explanation]:
    """What is made of one stored value, made of another one too that is read as it is."""
    forms, tape = _forms(side), side.view.tape
    known = {form.leaf.id for form in forms}
    read = [leaf for leaf in _stored(side) if leaf.id not in known]
    for form, leaf in itertools.product(forms, read):
        of, like = named(tape, leaf.id), named(tape, form.leaf.id)
        said = (form.names, "none")
        kind = "op-extra"
        text = f"of {of} is taken, as of {like}; the reference takes none of it"
        if side.is_candidate:
            kind, text = "op-missing", f"of {of} is missing; {like} has it"
        yield side.changed(
            Explanation(
                kind,
                f"{form.names} {text}",
                partial(_with_form, side, form, leaf),
                parameters={"operations": said if side.is_candidate else said[::-1]},
                cost=OP_LEFT_OUT * len(form.ops),
                places=(None, _reader(side, leaf.id) if side.is_candidate else None),
            )
        )


def _stored(side: CaseSide) -> list[LeafView]:
    return [
        leaf for leaf in side.view.leaves if leaf.array.dtype.kind == "f" and leaf.array.size > 1
    ]


def _forms(side: CaseSide) -> list[_Form]:
    """What a region's static operations compute of one stored value each, the shortest first."""
    tape, found = side.view.tape, list[_Form]()
    stored = {leaf.id: leaf for leaf in _stored(side)}
    for index in sorted(tape.graph.static_before(side.view.ops)):
        op = tape.ops[index]
        if len(op.outputs) != 1 or op.role != "compute":
            continue
        (value,) = op.outputs
        large = [one for one in tape.graph.leaves([value]) if tape.values[one].size > 1]
        leaf = stored.get(large[0]) if len(large) == 1 else None
        if leaf is not None and tape.values[value].shape == leaf.array.shape:
            ops = tuple(tape.ops[one] for one in sorted(tape.graph.ancestors([value])))
            found.append(_Form(leaf, value, ops))
    return sorted(found, key=lambda one: len(one.ops))


def _reader(side: CaseSide, leaf: int) -> Op | None:
    """The first operation that computes with a stored value."""
    reading = side.view.tape.graph.readers(leaf, lambda op: op.role == "move")
    return min((op for _, op in reading), key=lambda op: op.index, default=None)


def _with(side: CaseSide, arrays: dict[int, Array], trial: Trial) -> Array:
    return side.run(trial.given, arrays)


def _with_form(side: CaseSide, form: _Form, leaf: LeafView, trial: Trial) -> Array:
    tape, only = side.view.tape, {op.index for op in form.ops}
    made = tape.replay("float64", {form.leaf.id: leaf.array}, side.model.run, only=only)
    return side.run(trial.given, {leaf.id: made.array(form.value)})
