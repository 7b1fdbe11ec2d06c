"""What is done to the inputs first: their scale, normalisation, and the order of their parts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._attested import takes_root
from parity.diagnosis.causes._context import role_of_axis
from parity.diagnosis.causes._limits import (
    OPS_OF_A_PREPARATION,
    PARTS_ORDERED,
    PARTS_ROLLED,
    SAMPLES_OF_A_CHANNEL,
)
from parity.diagnosis.causes._substitution import (
    Inside,
    close,
    in_candidate_layout,
    inside_candidate,
    inside_reference,
    rounded,
    spell,
    with_value,
)
from parity.diagnosis.causes._weights import changes, same
from parity.diagnosis.causes.combinators import first_fitting
from parity.matching.match import Pair
from parity.operations import ADDITIONS, NORMS, PRODUCTS, SUBTRACTIONS
from parity.tape import Array, Op, Tape

# By which a vector that a model keeps normalises its input; a batch norm's takes a root.
_AFFINE = ADDITIONS | SUBTRACTIONS | {"multiply", "divide", "multiply_then_add"}
_ROOTS = frozenset(("sqrt", "rsqrt", "power"))


def from_input(tape: Tape, value: int) -> bool:
    """Whether a value is an input of the model, or one that was only prepared."""
    size, steps = tape.values[value].size, 0
    op = tape.producer(value)
    while op is not None:
        live = [one for one in op.inputs if tape.is_live(one)]
        steps += op.role != "move"
        if len(live) != 1 or tape.values[live[0]].size != size or steps > OPS_OF_A_PREPARATION:
            return False
        if op.word in PRODUCTS | NORMS or is_of_a_layer(tape, op):
            return False
        value = live[0]
        op = tape.producer(value)
    return tape.values[value].kind == "input"


def is_of_a_layer(tape: Tape, op: Op) -> bool:
    """Whether an operation is no preparation: it learns, and not only a scale or an offset."""
    if all(tape.values[leaf].kind != "parameter" for leaf in tape.graph.leaves(op.inputs)):
        return False
    fixed = tape.graph.ancestors(one for one in op.inputs if not tape.is_live(one))
    return op.word not in _AFFINE or any(tape.ops[index].word in _ROOTS for index in fixed)


@cause("input-channel-order", "frame-order", "axis-order")
@first_fitting
def input_order(case: Case) -> Iterator[Explanation]:
    """The channels of an image, the frames of a stack, or an axis, come in another order.

    Looks like: colours exchanged (BGR for RGB), motion that runs backwards; grey images agree.
    Proof: the reference's operations on its input with the channels reordered give the candidate's
        value.
    """
    if changes(case):
        return
    reference = inside_reference(case)
    for value in reference.entering:
        x = reference.array(value)
        if x.ndim < 3 or not from_input(case.reference.tape, value):
            continue  # features and flags have no frames
        for axis in range(1, x.ndim):
            count = x.shape[axis]
            if not 2 <= count <= PARTS_ORDERED or not _reads_several(case, value, axis):
                continue
            for name, order in _orders(count):
                mine, candidate = spell((axis,), x.ndim), in_candidate_layout(case, value, (axis,))
                kind, parts = _parts(case, value, axis, candidate)
                yield Explanation(
                    kind,
                    f"{parts} are {name} against the reference's",
                    with_value(case, value, partial(np.take, indices=order, axis=axis)),
                    parameters={"order": (tuple(range(count)), order), "axis": (mine, candidate)},
                    cost=-0.5,  # reported in place of a layout, which it also is
                )


def _reads_several(case: Case, value: int, axis: int) -> bool:
    """Whether more than one entry along an axis matters: of one alone another one is read."""

    def without(entry: int) -> Array:
        def form(array: Array) -> Array:
            changed = np.moveaxis(array.copy(), axis, 0)
            changed[entry] += 1 + np.abs(changed[entry])
            return np.moveaxis(changed, 0, axis)

        return with_value(case, value, form)(case.first)

    count = case.repaired.reference.array(value).shape[axis]
    matters = (not np.array_equal(without(at), case.first.reference) for at in range(count))
    return sum(itertools.islice(filter(None, matters), 2)) == 2


def _parts(case: Case, value: int, axis: int, named: object) -> tuple[str, str]:
    """The cause, and what an axis of an input holds in words."""
    shape = case.reference.tape.values[value].shape
    count = shape[axis]
    if not _stacks(case, value, axis):
        return "axis-order", f"the {count} entries of the input's axis {named}"
    if len(shape) == 4 and count == 3:
        return "input-channel-order", f"the {count} channels of the input, axis {named},"
    return "frame-order", f"the {count} frames of the input, axis {named},"


def _stacks(case: Case, value: int, axis: int) -> bool:
    """Whether an axis holds what is stacked: images' channels, or parts that make a row."""
    role = role_of_axis(case, value, axis)
    tape = case.reference.tape
    shape = tape.values[value].shape
    rows = (shape[0], math.prod(shape[1:]))
    flat = any(
        tape.values[made].shape == rows
        for op in tape.ops
        if op.role == "move" and tape.before_moves(op.inputs[0]) == tape.before_moves(value)
        for made in op.outputs
    )
    return role == "channels" or (not role and axis == 1 and flat)


def _orders(count: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    parts = tuple(range(count))
    yield "reversed", parts[::-1]
    for shift in range(1, count) if count <= PARTS_ROLLED else (1, count - 1):
        yield f"rolled by {shift}", parts[-shift:] + parts[:-shift]
    if count == 3:
        for order in ((0, 2, 1), (1, 0, 2)):
            yield f"reordered to {order}", order


@dataclass(frozen=True)
class InputScaling:
    """What is made of an input: scale * x + offset, in its side's layout, once or by channel."""

    scale: Array
    offset: Array

    @property
    def is_single(self) -> bool:
        return self.scale.size == 1

    @property
    def mean(self) -> float | tuple[float, ...]:
        return _numbers(-self.offset / self.scale)

    @property
    def std(self) -> float | tuple[float, ...]:
        return _numbers(1 / self.scale)


def _numbers(array: Array) -> float | tuple[float, ...]:
    size = float(np.abs(array).max())
    numbers = [rounded(float(one), 5) if abs(one) > 1e-6 * size else 0.0 for one in array.ravel()]
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


@cause("input-scale", "input-normalisation", "weight-values", enclosures=True)
@first_fitting
def input_scale(case: Case) -> Iterator[Explanation]:
    """The input is scaled or normalised otherwise, twice, or not at all.

    Looks like: everything differs from the first layer on; pixels up to 255 where they should be
        up to 1.
    Proof: scale and offset are read off both sides; the reference's operations on an input that
        makes up for them give the candidate's value.
    """
    reference, candidate = inside_reference(case), inside_candidate(case)
    if len(reference.entering) != 1 or not from_input(case.reference.tape, reference.entering[0]):
        return
    value = reference.entering[0]
    read = {value, case.reference.tape.before_moves(value)}
    partners = [one for one, partner in case.partners.items() if partner in read]
    if not candidate.view.ops:
        partners = [case.candidate.end]
    pair = case.repaired.pairs.get(partners[0]) if len(partners) == 1 else None
    if pair is None:
        return
    made, other = _made(reference, value), _made(candidate, partners[0])
    shape = candidate.array(partners[0]).shape
    if np.broadcast_shapes(np.shape(other.scale), np.shape(other.offset), shape) != shape:
        return  # a single number that a row is made of
    if math.prod(shape) != case.reference.tape.values[_start(case, value, pair)].size:
        return  # a part of what the reference reads
    x = reference.array(value)
    scale, offset = (
        _as_read(case, value, pair, np.broadcast_to(one, shape))
        for one in (other.scale, other.offset)
    )
    if scale.shape != x.shape:
        return
    form = partial(_compensated, reference=made, scale=scale, offset=offset)
    if close(form(x), x) or _learned_alike(case):
        return
    one = _lone_entry(case, made, other)
    if one is not None and changes(case):
        return
    kind, text, parameters = (
        _stated(made, other) if one is None else _stated_alone(made, other, one)
    )
    yield Explanation(
        kind,
        f"{_subject(case, value)} is {text}",
        with_value(case, value, form),
        parameters=parameters,
        cost=_cost(case, made, other),
    )


def _learned_alike(case: Case) -> bool:
    """Whether both sides learn the same numbers: they are computed with otherwise, not others."""
    reference, candidate = (
        [leaf.array.ravel() for leaf in view.leaves if leaf.kind == "parameter"]
        for view in (case.reference, case.candidate)
    )
    return bool(reference) and all(
        any(_is_part(a, b) or _is_part(b, a) for b in candidate) for a in reference
    )


def _is_part(small: Array, large: Array) -> bool:
    """Whether a vector is a row of another, as one layer's of what several keep together."""
    if not small.size or large.size % small.size:
        return False
    return any(same(small, row) for row in large.reshape(-1, small.size))


def _lone_entry(case: Case, made: InputScaling, other: InputScaling) -> int | None:
    """The entry of kept vectors that alone differs: that is a number of a weight's."""
    if not any(leaf.name for leaf in case.candidate.leaves) or made.is_single or other.is_single:
        return None
    reference, candidate = (
        np.array([one.scale.ravel(), one.offset.ravel()]) for one in (made, other)
    )
    if reference.shape != candidate.shape:
        return None
    (differing,) = np.nonzero(~np.isclose(reference, candidate, 1e-6, 1e-6).all(axis=0))
    return int(differing[0]) if len(differing) == 1 else None


def _stated_alone(
    made: InputScaling, other: InputScaling, entry: int
) -> tuple[str, str, dict[str, tuple[Any, Any]]]:
    """`_stated` of one entry of the scales and offsets, as another number in a weight."""
    alone = (
        InputScaling(one.scale.ravel()[[entry]], one.offset.ravel()[[entry]])
        for one in (made, other)
    )
    _, text, parameters = _stated(*alone)
    return "weight-values", f"at entry {entry} of {made.scale.size} {text}", parameters


def _as_read(case: Case, value: int, pair: Pair, array: Array) -> Array:
    """An array like an input of the candidate, laid out as what the reference reads of it."""
    start = _start(case, value, pair)
    laid = pair.order.revert(array, case.reference.tape.values[start].shape)
    return case.reference_values({start: laid}, (value,))[0]


def _start(case: Case, value: int, pair: Pair) -> int:
    """What the reference has for the candidate's input: what it reads, or that before moves."""
    root = case.reference.tape.before_moves(value)
    return root if pair.reference == root else value


def _cost(case: Case, made: InputScaling, other: InputScaling) -> float:
    """A norm of the input is reported as a norm; half of a mean is not half of a layer's bias."""
    single, views = made.is_single and other.is_single, (case.reference, case.candidate)
    learned = any(leaf.kind == "parameter" for view in views for leaf in view.leaves)
    return -0.5 if learned and not single and not any(map(takes_root, views)) else 0.6


def _subject(case: Case, value: int) -> str:
    tape = case.reference.tape
    if value in case.repaired.drawing.origins[0].noise:
        return "the noise"
    is_input = tape.producer(tape.before_moves(value)) is None
    return "the input" if is_input else "what is made of the input alone"


def _stated(made: InputScaling, other: InputScaling) -> tuple[str, str, dict[str, tuple[Any, Any]]]:
    """The cause, what is done to the candidate's input and the reference's, and parameters."""
    means, stds = (made.mean, other.mean), (made.std, other.std)
    if not (made.offset.any() or other.offset.any()):  # a mean may have been taken off before
        if made.is_single and other.is_single:
            scales = rounded(float(made.scale.ravel()[0])), rounded(float(other.scale.ravel()[0]))
            text = f"{_multiplied(scales[1])}; the reference's is {_multiplied(scales[0])}"
            return "input-scale", text, {"scale": scales}
        text = f"divided by {_short(stds[1])}; the reference's by {_short(stds[0])}"
        return "input-normalisation", text, {"std": stds}
    if any(np.min(one) < 0 for one in stds):  # 1 - x, which is no normalisation
        factors = _numbers(made.scale), _numbers(other.scale)
        added = _numbers(made.offset), _numbers(other.offset)
        text = (
            f"multiplied by {_short(factors[1])}, and {_short(added[1])} added; "
            f"the reference's by {_short(factors[0])}, and {_short(added[0])}"
        )
        return "input-normalisation", text, {"scale": factors, "offset": added}
    if all(np.allclose(one, 1.0) for one in stds):
        less = [f"less {_short(one)}" if np.any(one) else "used as it is" for one in means]
        text = f"{less[1]}; the reference's is {less[0]}"
    else:
        text = (
            f"normalised with mean {_short(means[1])} and deviation {_short(stds[1])}; "
            f"the reference's with {_short(means[0])} and {_short(stds[0])}"
        )
    return "input-normalisation", text, {"mean": means, "std": stds}


def _compensated(x: Array, reference: InputScaling, scale: Array, offset: Array) -> Array:
    """The input of which the reference makes what the candidate makes of x."""
    result: Array = (scale * x + offset - reference.offset) / reference.scale
    return result


def _made(inside: Inside, value: int) -> InputScaling:
    """The scale and offset of the last value that is the input scaled and shifted."""
    found = InputScaling(np.ones(1), np.zeros(1))
    x = inside.array(value)
    for made in inside.computed:
        op = inside.view.tape.producer(made)
        if op is not None and is_of_a_layer(inside.view.tape, op):
            break
        if value in inside.sources(made) and inside.array(made).shape == x.shape:
            affine = _affine(x, inside.array(made))
            found = affine if affine is not None else found
    return found


def _affine(x: Array, made: Array) -> InputScaling | None:
    axes = [None, *(axis for axis in range(x.ndim - 1, -1, -1) if axis != 0)]
    for axis in axes:
        over = tuple(i for i in range(x.ndim) if i != axis)
        if axis is not None and x.size < SAMPLES_OF_A_CHANNEL * x.shape[axis]:
            continue
        mean, centre = x.mean(over, keepdims=True), made.mean(over, keepdims=True)
        spread = ((x - mean) ** 2).sum(over, keepdims=True)
        if not (spread > 0).all():
            continue
        scale = ((x - mean) * (made - centre)).sum(over, keepdims=True) / spread
        offset = centre - scale * mean
        size = np.abs(made).max()
        offset = np.where(np.abs(offset) < 1e-6 * size, 0.0, offset)
        if (scale != 0).all() and close(scale * x + offset, made):
            return InputScaling(scale, offset)
    return None


def _multiplied(scale: float) -> str:
    if scale == 1:
        return "taken as it is"
    factor, divisor = f"{scale:g}", f"{1 / scale:.6g}"
    short = len(factor) <= len(divisor)  # 0.56, and 255 for 0.00392157
    return f"multiplied by {factor}" if scale > 1 or short else f"divided by {divisor}"


def _short(numbers: float | tuple[float, ...]) -> str:
    if isinstance(numbers, float):
        return f"{numbers:g}"
    more = ", ..." if len(numbers) > 4 else ""
    return f"({', '.join(f'{one:g}' for one in numbers[:4])}{more})"
