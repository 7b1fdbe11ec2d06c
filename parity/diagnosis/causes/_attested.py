"""Whether the tape has what a cause names: formulas that give the same values prove nothing."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes._limits import OPS_OF_A_NORM, OPS_OF_AN_AFFINE, OPS_TO_A_LAYER
from parity.diagnosis.causes._sides import CaseSide
from parity.diagnosis.causes._substitution import static_ops
from parity.diagnosis.view import LeafView, RegionView
from parity.operations import ADDITIONS, CONVOLUTIONS, DIVISIONS, NORMS
from parity.tape import Array, Op, Tape

_KERNELS = NORMS | {"recurrence", "attention"}  # with a bias inside
_SUM_FIRST = frozenset(("add_matmul", "multiply_add", "divide_add"))  # x of x + y * z
_ADDING = ADDITIONS | _SUM_FIRST | {"dense"}
_ROOTS = frozenset(("sqrt", "rsqrt", "standard_deviation"))


def is_standardised(case: Case) -> bool:
    """Whether the input was normalised: other standard normal values have mean square 1 as well.

    Divided by a root it may have any: by stored statistics, or of inputs as small as the epsilon.
    """
    x, tape = case.first.x, case.reference.tape
    has_unit_size = any(
        np.allclose(np.square(x).mean(axis=axes), 1.0, atol=0.05)
        for count in range(1, x.ndim + 1)
        for axes in itertools.combinations(range(x.ndim), count)
        if np.prod([x.shape[axis] for axis in axes]) > 1
    )
    return any(
        is_divided_by_root(tape, value) or (has_unit_size and is_normalised(tape, value))
        for value in case.entering
    )


def is_divided_by_root(tape: Tape, value: int) -> bool:
    """Whether a value is what a division by a root of several numbers gives, as by stored ones."""
    op = computes(tape, value)
    return op is not None and op.word in DIVISIONS | {"multiply"} and is_normalised(tape, value, 1)


def is_normalised(tape: Tape, value: int, most: int = OPS_OF_A_NORM) -> bool:
    """Whether a norm gives a value, or it is divided by a root; one of a constant is a factor.

    Args:
        most: how many operations may lie between.
    """
    seen, stack = set(), [(value, 0)]
    while stack:
        at, steps = stack.pop(0)
        op = tape.producer(at)
        if op is None or op.index in seen:
            continue
        seen.add(op.index)
        roots = op.word in _ROOTS or (op.word == "power" and _halves(tape, op))
        if op.word in NORMS or (roots and (not op.static or tape.values[at].size > 1)):
            return True
        if steps < most and not _has_kernel(tape, op):
            stack += [(one, steps + (op.role != "move")) for one in op.inputs]
    return False


def takes_root(view: RegionView) -> bool:
    """Whether a root is taken in view, or before any input, or a kernel named after a norm does."""
    words = {op.word for op in (*view.ops, *static_ops(view))}
    return not words.isdisjoint(NORMS | _ROOTS | {"power"})


def _halves(tape: Tape, op: Op) -> bool:
    if any(isinstance(one, float) and abs(one) == 0.5 for _, one in op.settings()):
        return True
    leaves = (tape.values[one] for one in op.inputs)
    numbers = (one.id for one in leaves if one.op < 0 and one.size == 1 and one.kind != "input")
    given = (tape.adapter.to_numpy(tape.leaf(one, None)) for one in numbers)
    return any(abs(float(one.ravel()[0])) == 0.5 for one in given)


def _has_kernel(tape: Tape, op: Op) -> bool:
    shapes = (tape.values[one].shape for one in op.inputs if not tape.is_live(one))
    return any(len(shape) > 1 and sum(n > 1 for n in shape) > 1 for shape in shapes)


def before_kernels(tape: Tape, values: Iterable[int]) -> list[Op]:
    """The operations on inputs, up to those that have a kernel; the first few."""
    found: dict[int, Op] = {}
    waiting = list(values)
    while waiting and len(found) < OPS_TO_A_LAYER:
        for index in tape.consumers[waiting.pop(0)]:
            op = tape.ops[index]
            if index not in found and index in tape.used and not _has_kernel(tape, op):
                found[index] = op
                waiting += op.outputs
    return [found[index] for index in sorted(found)]


def adds(op: Op) -> bool:
    """Whether it adds arrays, and does not sum one of them by an index, as counts are."""
    return op.word in _ADDING


def added_behind(side: CaseSide) -> Iterator[Array]:
    """What is added to the end of a region by the operations that read it, each like the end."""
    tape, end = side.view.tape, side.view.value
    for op in (tape.ops[index] for index in tape.consumers[end.id]):
        if op.word in ADDITIONS and op.outputs and tape.values[op.outputs[0]].shape == end.shape:
            for other in (one for one in op.inputs if not tape.is_live(one)):
                yield np.broadcast_to(side.model.run.array(other), end.shape)


def is_added(view: RegionView, leaf: LeafView) -> bool:
    """Whether a leaf is a bias: moved alone it is added; a centre is subtracted, 1 + w scales."""
    readers = _readers(view, leaf) if is_itself(view.tape, leaf.id) else ()
    return any(_adds_it(view.tape, op, value) for op, value in readers)


def is_factor(view: RegionView, leaf: LeafView) -> bool:
    """Whether a leaf, moved alone, multiplies what the region computes."""
    return any(_multiplies(op) for op, _ in _readers(view, leaf))


def is_factor_less_one(view: RegionView, leaf: LeafView) -> bool:
    """Whether what the region computes is multiplied by a leaf to which one number is added."""
    tape = view.tape
    return any(
        _multiplies(tape.ops[reader])
        for op, _ in _readers(view, leaf)
        if op.static and adds(op) and _others(tape, op) == 0
        for value in op.outputs
        for reader in tape.consumers[value]
    )


def part_of(view: RegionView, leaf: LeafView) -> str:
    """Words before a leaf's name where only a part of it is read in view, else ""."""
    read = {value for _, value in _readers(view, leaf)}
    elements = sum(view.tape.values[value].size for value in read)
    whole = view.tape.values[view.tape.before_moves(leaf.id)].size
    return "a part of " if 0 < elements < whole else ""


def numbers_added(view: RegionView, leaf: LeafView) -> int:
    """How many of a leaf's elements one operation in view adds, at most."""
    added = (value for op, value in _readers(view, leaf) if _adds_it(view.tape, op, value))
    return max((view.tape.values[value].size for value in added), default=0)


def computes(tape: Tape, value: int) -> Op | None:
    """The operation that computes a value, which moves may have moved since; None for a leaf."""
    op = tape.producer(value)
    while op is not None and op.role == "move":
        op = tape.producer(op.inputs[0])
    return op


def holds_repeated(view: RegionView, array: Array) -> bool:
    """Whether a weight in view has the elements of an array, each as often as the others."""
    vectors = (
        leaf.array for leaf in view.leaves if leaf.name and leaf.array.size in leaf.array.shape
    )
    return any(
        repeats(array, vector, 1e-6)
        for vector in vectors
        if vector.size > 1 and vector.dtype.kind == "f"
    )


def repeats(array: Array, vector: Array, tolerance: float) -> bool:
    """Whether an array holds the elements of a vector, in any order, each as often."""
    if not vector.size or array.size % vector.size:
        return False
    elements = np.sort(array, axis=None)[:: array.size // vector.size]
    return bool(np.allclose(elements, np.sort(vector, axis=None), tolerance, 1e-8))


def times_added(tape: Tape, leaf: int, among: Collection[int], static: bool = False) -> int:
    """How often some operations, either the static ones or the others, add a leaf, moved alone."""
    readers = tape.graph.readers(tape.before_moves(leaf), _moves_alone)
    chosen = (one for one in readers if one[1].index in among and one[1].static == static)
    return sum(_adds_it(tape, op, value) for value, op in chosen)


def _moves_alone(op: Op) -> bool:
    return op.role == "move" and (op.static or len(op.inputs) == 1)


def is_itself(tape: Tape, value: int) -> bool:
    """Whether a value is a leaf, or made of leaves by moves alone."""
    walk = tape.graph.backward([value], lambda _, op: op.role == "move" and op.static)
    return all(op is None or (op.role == "move" and op.static) for _, op in walk)


def _multiplies(op: Op) -> bool:
    return op.word in NORMS | {"multiply", "multiply_add"}


def _readers(view: RegionView, leaf: LeafView) -> Iterator[tuple[Op, int]]:
    """The operations in view, or static before it, that read a leaf or what moves make of it."""
    tape = view.tape
    inside = tape.graph.static_before(view.ops) | {op.index for op in view.ops}
    readers = tape.graph.readers(
        tape.before_moves(leaf.id), lambda op: op.index in inside and _moves_alone(op)
    )
    return ((op, value) for value, op in readers if op.index in inside)


def _adds_it(tape: Tape, op: Op, value: int) -> bool:
    if op.word == "dense":  # either the bias and two matrices, or these two and a vector
        last = len(op.inputs) > 2 and len(tape.values[op.inputs[2]].shape) == 1
        return value in (op.inputs[2:] if last else op.inputs[:1])
    if op.word in _SUM_FIRST:
        return value in op.inputs[:1]
    if adds(op):
        return not op.static or _others(tape, op) > 0
    if op.static:
        return False
    if op.word in CONVOLUTIONS:
        return value in op.inputs[2:]
    return op.word in _KERNELS


def _others(tape: Tape, op: Op) -> int:
    """How many arrays of several elements an addition has besides one."""
    return sum(tape.values[one].size > 1 for one in op.inputs) - 1


def numbers_given(view: RegionView) -> Iterator[float]:
    """The floating numbers that a side's operations are given, as settings or as constants."""
    for op in (*view.ops, *static_ops(view)):
        yield from (one for _, one in op.settings() if isinstance(one, float))
    yield from (
        float(leaf.array.ravel()[0])
        for leaf in view.leaves
        if leaf.array.size == 1 and leaf.array.dtype.kind == "f"
    )


def other_scale(view: RegionView, epsilon: float) -> str:
    """Why an epsilon may be another one: its side has no such number; "" if it has.

    What is normalised at another scale, or by another variance, gives what another epsilon gives.
    A norm that was folded into other weights, or its epsilon into a variance, does not show it.
    """
    given = np.array([*numbers_given(view)])
    folded = not given.size or not takes_root(view)
    twice = 2 * np.array([one for one in set(given) if (given == one).sum() > 1])  # added twice
    said = given, twice, np.sqrt(np.abs(given))  # the least of squares has a root
    if epsilon == 0 or folded or any(np.isclose(epsilon, one, 1e-6, 0.0).any() for one in said):
        return ""
    return f"no {epsilon:g} is there: the scale or the variance may be another"


def of_no_effect(side: CaseSide) -> str:
    """Why nothing may be missing: a parameter of ones or zeros is read where it would be."""
    view, run = side.view, side.model.run
    tape = view.tape
    for op in (*_affine_before(side), *view.ops, *view.readers(OPS_OF_AN_AFFINE)):
        for value in op.inputs:
            read = tape.values[tape.before_moves(value)]
            if read.kind != "parameter":
                continue
            array = run.array(value)
            if array.size and ((array == 0).all() or (array == 1).all()):
                return f"{read.name or op.kind} is {array.flat[0]:g} throughout: it may be that"
    return ""


def _affine_before(side: CaseSide) -> Iterator[Op]:
    """The last operations before a region: of a scale of ones the result is what it scales."""
    tape, values = side.view.tape, list(side.entering)
    for _ in range(OPS_OF_AN_AFFINE):
        ops = [op for op in (computes(tape, value) for value in values) if op is not None]
        yield from ops
        values = [value for op in ops for value in op.inputs if tape.is_live(value)]
