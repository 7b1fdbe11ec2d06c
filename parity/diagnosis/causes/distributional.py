"""Distributional heads: the support, the order of atoms and actions, the fractions of quantiles."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, Predict, cause
from parity.diagnosis.causes._reduced import Reduction, changes
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
from parity.diagnosis.view import RegionView
from parity.tape import Array

_FEW = 8  # constants of each side that are tried
_LATER = 2


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

    Looks like: an output with as many numbers as there are atoms, where there should be actions.
    Proof: the reference's weighted atoms, summed over the other axis, give the candidate's value.
    """
    for change in changes(case):
        one = change.reduction
        if change.kind != one.kind or not is_weighted(case, one):
            continue
        ours, theirs = change.named
        wanted = in_candidate_layout(case, one.source, one.axes)
        yield Explanation(
            "expectation-axis",
            f"the expectation is summed over axis {theirs}; the reference sums over the atoms, "
            f"axis {ours}",
            change.predict,
            parameters={"axis": (ours, theirs)},
            edit=Edit(("sum", "reduce_sum"), ("axis", "dim"), repr(wanted), 1),
        )


@cause("expectation-axis")
def expectation_over_another_axis(case: Case) -> Iterator[Explanation]:
    """The expectation of as many distributions as there are atoms is taken the other way.

    Looks like: expected values of the right shape that have nothing in common with the reference's,
        from equal probabilities.
    Proof: the reference's operations on the probabilities with the two axes exchanged give the
        candidate's value; the support is weighed along one of them.
    """
    ours = inside_reference(case)
    for value in ours.entering:
        x = ours.array(value)
        if x.ndim < 2 or is_probabilities(x) is None:
            continue
        for first, second in itertools.combinations(range(x.ndim), 2):
            weighed = _weighed(ours, x, (first, second))
            exchange = partial(np.swapaxes, axis1=first, axis2=second)
            predict = with_value(case, value, exchange)
            if weighed is None or not fits(predict, case.first, case.first.candidate):
                continue
            other = first + second - weighed
            axes = spell((weighed,), x.ndim), in_candidate_layout(case, value, (other,))
            yield Explanation(
                "expectation-axis",
                f"the expectation is summed over axis {axes[1]}; the reference sums over axis "
                f"{axes[0]}",
                predict,
                parameters={"axis": axes},
            )
            return


def _weighed(ours: Inside, x: Array, axes: tuple[int, int]) -> int | None:
    """Along which of two axes of a length the support lies in the reference's region."""
    count = x.shape[axes[0]]
    if x.shape[axes[1]] != count:
        return None
    made = [ours.array(value) for value in ours.computed]
    for constant in read_constants(ours)[:_FEW]:
        z = ours.array(constant)
        if z.size != count or progression(z) is None:
            continue
        for axis in axes:
            product = x * z.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
            if any(close(one, array) for one in (product, product.sum(axis)) for array in made):
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
    ours = inside_reference(case)
    for value in read_constants(ours)[:_FEW]:
        z = ours.array(value)
        ends = progression(z)
        if ends is None or _fraction_steps(z) is not None:
            continue
        if not _weighs_probabilities(case, value):
            continue
        theirs = _range(case, value)
        if theirs is None:
            continue
        theirs = _as_written(case, value, theirs)
        range_ = rounded(ends[0]), rounded(ends[1])
        if np.allclose(theirs, ends[::-1], 1e-5):
            kind = "support-order"
            summary = f"the support runs from {theirs[0]:g} to {theirs[1]:g}; the reference's runs "
            summary += f"from {range_[0]:g} to {range_[1]:g}"
        else:
            kind = "support-range"
            summary = f"the support reaches from {theirs[0]:g} to {theirs[1]:g}; the reference's "
            summary += f"from {range_[0]:g} to {range_[1]:g}"
        yield Explanation(
            kind,
            f"{summary} ({z.size} atoms)",
            _with_range(case, value, *theirs),
            parameters={"range": (range_, theirs)},
        )


def _weighs_probabilities(case: Case, support: int) -> bool:
    """Whether a constant is read together with probabilities over as many atoms."""
    tape, run = case.reference.tape, case.repaired.reference.run
    count = tape.values[support].size
    for op in case.reference.ops:
        if support not in op.inputs:
            continue
        for value in op.inputs:
            shape = tape.values[value].shape
            if value != support and count in shape:
                for axis in (i for i, length in enumerate(shape) if length == count):
                    if is_probabilities(run.array(value), (axis,)) is not None:
                        return True
    return False


def _atoms(like: Array, low: float, high: float) -> Array:
    return np.linspace(low, high, like.size).reshape(like.shape)


def _with_range(case: Case, value: int, low: float, high: float) -> Predict:
    return with_value(case, value, partial(_atoms, low=low, high=high))


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
    ends = float(found[0]), float(found[1])
    if ends[0] == ends[1] or not fits(_with_range(case, value, *ends), first, first.candidate):
        return None
    return ends


def _as_written(case: Case, value: int, ends: tuple[float, float]) -> tuple[float, float]:
    low, high = ends
    scale = max(abs(low), abs(high))
    low = 0.0 if abs(low) < 1e-6 * scale else low
    high = 0.0 if abs(high) < 1e-6 * scale else high
    return rounded(low), rounded(high)


@cause("atoms-actions-order")
def atoms_actions_order(case: Case) -> Iterator[Explanation]:
    """The outputs of a distributional head are split as atoms by actions, not actions by atoms.

    Looks like: every action gets the atoms of several; shapes fit, and nothing else does.
    Proof: the reference's head, its outputs reordered from (actions, atoms) to (atoms, actions),
        gives the candidate's value.
    """
    ours = inside_reference(case)
    for value in ours.entering:
        flat = ours.array(value)
        if flat.ndim < 2:
            continue
        for actions, atoms, probable in _splits(case, flat.shape[-1]):
            if not (probable or flat.ndim == 2):
                continue  # groups of features, of which a mean is taken
            form = partial(_resplit, actions=actions, atoms=atoms)
            predict = with_value(case, value, form)
            if fits(predict, case.first, case.first.candidate):
                yield Explanation(
                    "atoms-actions-order",
                    _split_in_words(actions, atoms, probable),
                    predict,
                    parameters={"order": (("actions", "atoms"), ("atoms", "actions"))},
                )
                return


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
    for op in (*reading, *case.reference.readers(_LATER)):
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
def quantile_fractions(case: Case) -> Iterator[Explanation]:
    """The fractions of the quantiles are others: i / n or (i + 1) / n instead of (i + 1/2) / n.

    Looks like: a loss or an embedding that is a little off, the more the fewer the quantiles.
    Proof: the reference's operations with the candidate's fractions in the place of its own give
        the candidate's value.
    """
    ours, other = inside_reference(case), inside_candidate(case)
    theirs = [other.array(value) for value in read_constants(other)[:_FEW]]
    mine = [(value, ours.array(value)) for value in read_constants(ours)[:_FEW]]
    for leaf in case.reference.leaves:
        mine.append((leaf.id, leaf.array))
    theirs += [leaf.array for leaf in case.candidate.leaves]
    # an embedding of fractions alone is computed before any input is read
    mine += [(value, ours.array(value)) for value in _computed_before(case.reference)]
    theirs += [other.array(value) for value in _computed_before(case.candidate)]
    tried = set()
    for value, array in mine:
        fractions = _fractions(array)
        if fractions is None or value in tried:
            continue
        tried.add(value)
        for another in theirs:
            others = _fractions(another)
            if others is None or others.size != fractions.size or another.size != array.size:
                continue
            predict = _replacing(case, value, another.reshape(array.shape))
            if np.allclose(others, fractions, 1e-6) or not fits(
                predict, case.first, case.first.candidate
            ):
                continue
            named = _spelt(fractions), _spelt(others)
            yield Explanation(
                "quantile-fractions",
                f"the fractions of the {fractions.size} quantiles are {named[1]}; the reference's "
                f"are {named[0]}",
                predict,
                parameters={"fractions": named},
            )
            return
    yield from _complement(case)


def _computed_before(view: RegionView) -> list[int]:
    """Vectors that operations make which no input reaches."""
    values = (value for op in static_ops(view) for value in op.outputs)
    return [v for v in values if 2 < view.tape.values[v].size == max(view.tape.values[v].shape)]


def _replacing(case: Case, value: int, array: Array) -> Predict:
    return lambda trial: case.run_reference(trial.given, {value: array})


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


def _complement(case: Case) -> Iterator[Explanation]:
    """Fractions that come in as an input, of which the candidate takes 1 - tau."""
    ours = inside_reference(case)
    tape = case.reference.tape
    for value in ours.entering:
        tau = ours.array(value)
        if tape.producer(tape.before_moves(value)) is not None:
            continue  # computed, as a gate is
        if not tau.size or tau.min() <= 0 or tau.max() >= 1 or is_probabilities(tau):
            continue
        predict = with_value(case, value, _one_minus)
        if fits(predict, case.first, case.first.candidate):
            yield Explanation(
                "quantile-fractions",
                "the fractions are taken as 1 - tau; the reference takes tau",
                predict,
                parameters={"fractions": ("tau", "1 - tau")},
            )
            return


def _one_minus(tau: Array) -> Array:
    result: Array = 1 - tau
    return result
