"""Distributional heads: the support, the order of atoms and actions, the fractions of quantiles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._limits import CONSTANTS_TRIED, OPS_TO_THE_ATOMS
from parity.diagnosis.causes._reduced import Reduction, axis_edit, changes
from parity.diagnosis.causes._substitution import (
    MISFITS,
    Inside,
    close,
    fits,
    in_candidate_layout,
    inside_candidate,
    inside_reference,
    is_probabilities,
    progression,
    read_constants,
    rounded,
    shortest,
    spell,
    static_ops,
    with_value,
)
from parity.diagnosis.causes._weights import with_leaves
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.view import RegionView
from parity.tape import Array


def is_weighted(case: Case, one: Reduction) -> bool:
    """Whether what a reduction takes is probabilities times the support of their atoms."""
    tape, run = case.reference.tape, case.repaired.reference.run
    op = tape.producer(tape.before_moves(one.source))
    if op is None or all(tape.is_live(value) for value in op.inputs):
        return False  # no support: an entropy weighs what it is made of itself
    return any(
        tape.values[value].shape == tape.values[one.source].shape
        and is_probabilities(run.array(value), one.axes) is not None
        for value in op.inputs
    )


@cause("expectation-axis")
def expectation_axis(case: Case) -> Iterator[Explanation]:
    """The expectation of a distribution is summed over another axis than that of its atoms.

    Looks like: an output with as many elements as there are atoms, where there should be actions.
    Proof: the reference's weighted atoms, summed over the other axis, give the candidate's value.
    """
    for change in changes(case):
        one, (reference, candidate) = change.reduction, change.named
        if change.is_of_axes and is_weighted(case, one):
            yield change.explained(
                "expectation-axis",
                f"the expectation is summed over axis {candidate}; the reference sums over the "
                f"atoms, axis {reference}",
                edit=axis_edit(case, one),
            )


@cause("expectation-axis")
@first_fitting
def expectation_over_another_axis(case: Case) -> Iterator[Explanation]:
    """The expectation of as many distributions as there are atoms is taken the other way.

    Looks like: expected values of the right shape that have nothing in common with the reference's,
        from equal probabilities.
    Proof: the reference's operations on the probabilities with the two axes exchanged give the
        candidate's value; the support is weighed along one of them.
    """
    reference = inside_reference(case)
    for value, x in _seen_in_their_axes(reference):
        for first, second in itertools.combinations(range(x.ndim), 2):
            weighed = _weighed(reference, x, (first, second))
            if weighed is None:
                continue
            other = first + second - weighed
            axes = spell((weighed,), x.ndim), in_candidate_layout(case, value, (other,))
            if x.shape != reference.array(value).shape:
                axes = axes[0], spell((other,), x.ndim)
            yield Explanation(
                "expectation-axis",
                f"the expectation is summed over axis {axes[1]}; the reference sums over axis "
                f"{axes[0]}",
                with_value(case, value, partial(_exchanged, x.shape, (first, second))),
                parameters={"axis": axes},
            )


def _seen_in_their_axes(inside: Inside) -> Iterator[tuple[int, Array]]:
    """Probabilities that enter a region, also in the shape before a kernel's rows were made."""
    tape = inside.view.tape
    for value in inside.entering:
        x = inside.array(value)
        before = tape.values[tape.before_moves(value)].shape
        for shape in dict.fromkeys((x.shape, before)):
            if len(shape) > 1 and math.prod(shape) == x.size:
                if is_probabilities(x.reshape(shape)) is not None:
                    yield value, x.reshape(shape)


def _exchanged(shape: tuple[int, ...], axes: tuple[int, int], x: Array) -> Array:
    return x.reshape(shape).swapaxes(*axes).reshape(x.shape)


def _weighed(reference: Inside, x: Array, axes: tuple[int, int]) -> int | None:
    """Along which of two axes of a length the support lies in the reference's region."""
    count = x.shape[axes[0]]
    if x.shape[axes[1]] != count:
        return None
    made = [reference.array(value) for value in reference.computed]
    for constant in read_constants(reference)[:CONSTANTS_TRIED]:
        z = reference.array(constant)
        if z.size != count or progression(z) is None:
            continue
        for axis in axes:
            product = x * z.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
            alike = itertools.product((product, product.sum(axis)), made)
            if any(a.size == b.size and close(a.reshape(b.shape), b) for a, b in alike):
                return axis
    return None


@cause("support-range", "support-order")
def support(case: Case) -> Iterator[Explanation]:
    """The support of a distribution has another range, or runs the other way.

    Looks like: expected values that are too large or too small by a factor and an offset, though
        the probabilities agree.
    Proof: the reference's operations with evenly spaced atoms over the candidate's range in the
        place of its support give the candidate's value.
    """
    reference = inside_reference(case)
    for value in read_constants(reference)[:CONSTANTS_TRIED]:
        z = reference.array(value)
        ends = progression(z)
        if ends is None or _fraction_steps(z) is not None or not _weighs_probabilities(case, value):
            continue
        candidate = _range(case, value)
        if candidate is None:
            continue
        range_ = rounded(ends[0]), rounded(ends[1])
        is_reversed = np.allclose(candidate, ends[::-1], 1e-5)
        verb = "runs" if is_reversed else "reaches"
        yield Explanation(
            "support-order" if is_reversed else "support-range",
            f"the support {verb} from {candidate[0]:g} to {candidate[1]:g}; the reference's "
            f"{'runs ' if is_reversed else ''}from {range_[0]:g} to {range_[1]:g} ({z.size} atoms)",
            _with_range(case, value, *candidate),
            parameters={"range": (range_, candidate)},
        )


def _weighs_probabilities(case: Case, support: int) -> bool:
    """Whether a constant is read together with probabilities over as many atoms."""
    tape, run = case.reference.tape, case.repaired.reference.run
    count = tape.values[support].size
    return any(
        value != support and is_probabilities(run.array(value), (axis,)) is not None
        for op in case.reference.ops
        if support in op.inputs
        for value in op.inputs
        for axis, length in enumerate(tape.values[value].shape)
        if length == count
    )


def _with_range(case: Case, value: int, low: float, high: float) -> Predict:
    return with_value(case, value, lambda z: np.linspace(low, high, z.size).reshape(z.shape))


def _range(case: Case, value: int) -> tuple[float, float] | None:
    """The ends of the candidate's support: what it gives is linear in them."""
    first = case.first
    if first.candidate.shape != first.reference.shape:
        return None
    try:
        zero, low, high = (
            _with_range(case, value, *ends)(first) for ends in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))
        )
    except MISFITS:
        return None
    matrix = np.stack([(low - zero).ravel(), (high - zero).ravel()], 1)
    found, *_ = np.linalg.lstsq(matrix, (first.candidate - zero).ravel(), rcond=None)
    scale = float(np.abs(found).max())
    ends = float(found[0]), float(found[1])
    if ends[0] == ends[1] or not fits(_with_range(case, value, *ends), first, first.candidate):
        return None
    first_atom, last_atom = (rounded(one) if abs(one) >= 1e-6 * scale else 0.0 for one in ends)
    return first_atom, last_atom


@cause("atoms-actions-order")
@first_fitting
def atoms_actions_order(case: Case) -> Iterator[Explanation]:
    """The outputs of a distributional head are split as atoms by actions, not actions by atoms.

    Looks like: every action gets the atoms of several; shapes fit, and nothing else does.
    Proof: the reference's head, its outputs reordered from (actions, atoms) to (atoms, actions),
        gives the candidate's value.
    """
    reference = inside_reference(case)
    for value in reference.entering:
        flat = reference.array(value)
        for actions, atoms, probable in _splits(case, flat.shape[-1]) if flat.ndim > 1 else ():
            if not (probable or flat.ndim == 2):
                continue  # groups of features, of which a mean is taken
            yield Explanation(
                "atoms-actions-order",
                _split_in_words(actions, atoms, probable),
                with_value(case, value, partial(_resplit, actions=actions, atoms=atoms)),
                parameters={"order": (("actions", "atoms"), ("atoms", "actions"))},
            )


def _split_in_words(actions: int, atoms: int, probable: bool) -> str:
    """Atoms are named where they have probabilities: of what is only reduced none is known."""
    now, was = f"{(atoms, actions)}", f"{(actions, atoms)}"
    if probable:
        now, was = f"{atoms} atoms by {actions} actions", f"{actions} actions by {atoms} atoms"
    return f"{actions * atoms} outputs are split as {now}; the reference splits them as {was}"


def _splits(case: Case, length: int) -> Iterator[tuple[int, int, bool]]:
    """How the reference splits an axis of atoms and actions, known by what is done to the atoms.

    Yields:
        The actions, the atoms, and whether they are made probabilities.
    """
    tape, run = case.reference.tape, case.repaired.reference.run
    seen = set()
    reading = [op for op in case.reference.ops if op.role != "move"]
    for op in (*reading, *case.reference.readers(OPS_TO_THE_ATOMS)):
        for value in op.inputs:
            shape = tape.values[value].shape
            result = [run.array(made) for made in op.outputs]
            for axis in range(len(shape) - 1):
                actions, atoms = shape[axis], shape[axis + 1]
                if actions * atoms != length or min(actions, atoms) < 2:
                    continue
                over = _is_over(result, shape, axis + 1)
                if (actions, atoms) in seen or over is None:
                    continue
                seen.add((actions, atoms))
                yield actions, atoms, over


def _is_over(results: list[Array], shape: tuple[int, ...], axis: int) -> bool | None:
    """True of an operation that makes probabilities over an axis, False of one that reduces it."""
    reduced = tuple(length for i, length in enumerate(shape) if i != axis)
    for one in results:
        if one.shape == shape:
            if is_probabilities(one, (axis,)) or is_probabilities(np.exp(one), (axis,)):
                return True
        elif one.shape == reduced:
            return False
    return None


def _resplit(flat: Array, actions: int, atoms: int) -> Array:
    """(..., actions * atoms) as a reader of (atoms, actions) finds them."""
    split = flat.reshape(*flat.shape[:-1], atoms, actions)
    return np.swapaxes(split, -1, -2).reshape(flat.shape)


@cause("quantile-fractions")
@first_fitting
def quantile_fractions(case: Case) -> Iterator[Explanation]:
    """The fractions of the quantiles are others: i / n or (i + 1) / n instead of (i + 1/2) / n.

    Looks like: a loss or an embedding that is a little off, the more the fewer the quantiles.
    Proof: the reference's operations with the candidate's fractions in the place of its own give
        the candidate's value.
    """
    reference = inside_reference(case)
    candidate = [array for _, array in _constants(inside_candidate(case))]
    for value, array in dict(_constants(reference)).items():
        fractions = _fractions(array)
        if fractions is None:
            continue
        for another in candidate:
            others = _fractions(another)
            if others is None or others.size != fractions.size or another.size != array.size:
                continue
            if np.allclose(others, fractions, 1e-6):
                continue
            named = _spelt(fractions), _spelt(others)
            yield Explanation(
                "quantile-fractions",
                f"the fractions of the {fractions.size} quantiles are {named[1]}; the reference's "
                f"are {named[0]}",
                with_leaves(case, {value: another.reshape(array.shape)}),
                parameters={"fractions": named},
            )
    yield from _complement(case, reference)


def _constants(inside: Inside) -> Iterator[tuple[int, Array]]:
    """What a region reads besides its inputs, and of what that is made."""
    yield from ((value, inside.array(value)) for value in read_constants(inside)[:CONSTANTS_TRIED])
    yield from ((leaf.id, leaf.array) for leaf in inside.view.leaves)
    # an embedding of fractions alone is computed before any input is read
    yield from ((value, inside.array(value)) for value in _computed_before(inside.view))


def _computed_before(view: RegionView) -> list[int]:
    """Vectors that operations make which no input reaches."""
    values = (value for op in static_ops(view) for value in op.outputs)
    return [v for v in values if 2 < view.tape.values[v].size == max(view.tape.values[v].shape)]


def _fraction_steps(array: Array) -> float | None:
    """Where in its step a fraction lies, 0.5 for (i + 1/2) / n; None for other numbers."""
    ends = progression(array)
    if ends is None:
        return None
    step = (ends[1] - ends[0]) / (array.size - 1)
    offset = ends[0] * array.size
    if abs(step * array.size - 1) > 1e-4 or not -1e-4 <= offset <= 1 + 1e-4:
        return None
    return offset


def _fractions(array: Array) -> Array | None:
    """The fractions that an array is, or that its angles pi * j * fraction are made from."""
    if array.dtype.kind != "f":
        return None
    if _fraction_steps(array) is not None:
        return array.ravel()
    if array.ndim < 2 or array.shape[-1] < 3:
        return None
    rows = array.reshape(-1, array.shape[-1])
    steps = np.diff(rows, axis=1)
    found: Array = steps[:, 0] / np.pi
    even = np.abs(steps - steps[:, :1]).max() <= 1e-5 * np.abs(rows).max()
    return found if even and _fraction_steps(found) is not None else None


def _spelt(fractions: Array) -> str:
    offset = fractions.ravel()[0] * fractions.size
    offset = shortest(float(offset), lambda one: abs(one - offset) < 1e-3)
    return "i / n" if abs(offset) < 1e-3 else f"(i + {offset:g}) / n"


def _complement(case: Case, reference: Inside) -> Iterator[Explanation]:
    """Fractions that are an input of the model, of which the candidate takes 1 - tau."""
    tape = case.reference.tape
    for value in reference.entering:
        tau = reference.array(value)
        if tape.producer(tape.before_moves(value)) is not None:
            continue  # computed, as a gate is
        if tau.size and 0 < tau.min() and tau.max() < 1 and not is_probabilities(tau):
            yield Explanation(
                "quantile-fractions",
                "the fractions are taken as 1 - tau; the reference takes tau",
                with_value(case, value, partial(np.subtract, 1.0)),
                parameters={"fractions": ("tau", "1 - tau")},
            )
