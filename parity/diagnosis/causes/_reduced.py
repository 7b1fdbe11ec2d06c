"""Reductions inside a region, found by their values, and what other ones in their place give.

Not a family: the families that name them differ only in what is reduced.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Predict
from parity.diagnosis.causes._substitution import (
    Axes,
    Inside,
    close,
    fits,
    in_candidate_layout,
    inside_candidate,
    inside_reference,
    laid_like,
    spell,
    subsets,
    varies,
    with_value,
)
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView, plain_kind
from parity.tape import Array
from parity.walk_once import Once

KINDS: Mapping[str, Callable[..., Array]] = {
    "mean": np.mean,
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
}
_ELEMENTS = 5  # a smaller factor may be any factor
_SLICES = 64  # of an axis that was not reduced, at most: the rest runs once for each


@dataclass(frozen=True)
class Reduction:
    """A value that is another one reduced.

    Attributes:
        source, value: ids of what is reduced, and of what comes of it.
        keeps: whether the reduced axes stay, with length 1.
    """

    source: int
    value: int
    kind: str
    axes: Axes
    keeps: bool


@dataclass(frozen=True)
class Change:
    """A reduction of the reference, and another one that makes it the candidate.

    Attributes:
        kind, axes: what the candidate does; "none" where it keeps what should be reduced.
        named: the two sides' axes as one writes them, each in its own layout.
        predict: the candidate's value.
    """

    reduction: Reduction
    kind: str
    axes: Axes
    named: tuple[int | Axes, int | Axes]
    predict: Predict


def reductions(inside: Inside) -> Iterator[Reduction]:
    """The reductions in a region, however they are computed; nothing of a single element."""
    for value in inside.computed:
        made = inside.array(value)
        sources = inside.sources(value)
        for source in inside.values:
            if source not in sources:
                continue
            x = inside.array(source)
            found = _reduction(x, made)
            if found is not None and _chooses(inside.view, found[0], source, value):
                kind, axes = found
                yield Reduction(source, value, kind, axes, made.ndim == x.ndim > 0)
                break


# of the greatest and the least: one that is looked up may be either by chance
_CHOOSING = {"max": ("max", "sort", "topk"), "min": ("min", "sort", "topk")}


def _chooses(view: RegionView, kind: str, source: int, value: int) -> bool:
    """Whether what makes a value of another one takes a maximum, or whatever else `kind` is."""
    if kind not in _CHOOSING:
        return True
    tape, ops, stack = view.tape, set[int](), Once([value])
    read = set[int]()
    for at in stack:
        op = tape.producer(at)
        if at != source and op is not None and not op.static:
            ops.add(op.index)
            read.update(one for one in op.inputs if tape.is_live(one))
            if not view.ops or op.index >= view.ops[0].index:
                stack.add(op.inputs)
    made = {one for index in ops for one in tape.ops[index].outputs}
    alone = read <= made | {source}
    kinds = [plain_kind(tape.ops[index]) for index in ops]
    return any(_is_chosen(one, kind) and (alone or "arg" not in one) for one in kinds)


def _is_chosen(operation: str, kind: str) -> bool:
    return "softmax" not in operation and any(word in operation for word in _CHOOSING[kind])


def _reduction(x: Array, made: Array) -> tuple[str, Axes] | None:
    if not made.size or x.size <= made.size or x.size % made.size or x.dtype.kind != "f":
        return None
    for axes in subsets(x.ndim):
        if np.prod([x.shape[axis] for axis in axes]) != x.size // made.size:
            continue
        kept = [n for i, n in enumerate(x.shape) if i not in axes and n > 1]
        if kept != [n for n in made.shape if n > 1]:
            continue
        for kind, reduce in KINDS.items():
            if close(reduce(x, axis=axes).ravel(), made.ravel()):
                return kind, axes
    return None


def changes(case: Case) -> Iterator[Change]:
    """Other reductions in the place of one of the reference's that give the candidate's value."""
    ours = inside_reference(case)
    found = list(reductions(ours))
    if not found:
        return
    theirs = list(reductions(inside_candidate(case)))
    for one in found:
        for kind, axes in _alternatives(one, ours.array(one.source).ndim):
            predict = _predicting(case, one, kind, axes)
            if predict is not None:
                other = _counterpart(case, one, kind, axes, theirs)
                at_the_end = case.reference.tape.before_moves(case.reference.end) == one.value
                if other is None and kind == one.kind and not at_the_end:
                    continue
                if other is None and kind != one.kind and not _may_take(case, one, kind):
                    continue
                yield Change(one, kind, axes, _named(case, one, axes, other), predict)
                break
        else:
            for predict in (_left_out(case, one), _unreduced(case, one)):
                if predict is not None:
                    named = _named(case, one, one.axes, None)
                    yield Change(one, "none", (), (named[0], ()), predict)
                    break


def without(case: Case) -> Iterator[tuple[Reduction, Predict]]:
    """Reductions of the reference with nothing in their place: a mean that is not taken off."""
    ours = inside_reference(case)
    found = list(reductions(ours))
    theirs = [other.kind for other in reductions(inside_candidate(case))] if found else []
    end = case.reference.tape.before_moves(case.reference.end)
    for one in found:
        if one.value == end:
            continue  # zeros for the whole result leave nothing of the reference
        if theirs.count(one.kind) >= sum(one.kind == another.kind for another in found):
            continue
        predict = with_value(case, one.value, np.zeros_like)
        if fits(predict, case.first, case.first.candidate):
            yield one, predict


def reduce(x: Array, kind: str, axes: Axes, keeps: bool) -> Array:
    result: Array = np.asarray(KINDS[kind](x, axis=axes, keepdims=keeps))
    return result


def _alternatives(one: Reduction, rank: int) -> Iterator[tuple[str, Axes]]:
    for axes in subsets(rank):
        if axes != one.axes:
            yield one.kind, axes
    for kind in KINDS:
        if kind != one.kind:
            yield kind, one.axes


def _predicting(case: Case, one: Reduction, kind: str, axes: Axes) -> Predict | None:
    for keeps in (one.keeps, True) if not one.keeps else (True,):
        form = partial(reduce, kind=kind, axes=axes, keeps=keeps)
        predict = _laid(case, with_value(case, one.value, form, one.source))
        if fits(predict, case.first, case.first.candidate):
            return predict
    return None


def _laid(case: Case, predict: Predict) -> Predict:
    return lambda trial: laid_like(case, predict(trial))


def _left_out(case: Case, one: Reduction) -> Predict | None:
    """The rest of the region runs on what should have been reduced."""
    predict = _laid(case, with_value(case, one.value, lambda x: x, one.source))
    return predict if fits(predict, case.first, case.first.candidate) else None


def _unreduced(case: Case, one: Reduction) -> Predict | None:
    """The same where the rest takes no further axis: it runs for each slice by itself."""
    if len(one.axes) != 1 or case.order is not None:
        return None
    axis = one.axes[0]
    count = case.reference.tape.values[one.source].shape[axis]
    wanted = case.first.candidate.shape
    if count > _SLICES or case.first.reference.size * count != case.first.candidate.size:
        return None

    def predict(at: int, trial: Trial) -> Array:
        x = case.reference_values(trial.given, [one.source])[0]
        slices = [
            case.run_reference(
                trial.given,
                {one.value: np.take(x, [i], axis) if one.keeps else np.take(x, i, axis)},
            )
            for i in range(count)
        ]
        return np.stack(slices, at)

    for at in range(len(wanted)):
        if wanted[at] == count and fits(partial(predict, at), case.first, case.first.candidate):
            return partial(predict, at)
    return None


def _counterpart(
    case: Case, one: Reduction, kind: str, axes: Axes, theirs: list[Reduction]
) -> Reduction | None:
    """The candidate's reduction of a kind over as many elements.

    Without one a reduction over another axis proves nothing where more follows: what a mean over
    the atoms takes off, softmax takes off again.
    """
    source = case.reference.tape.values[one.source].shape
    count = np.prod([source[axis] for axis in axes])
    for other in theirs:
        shape = case.candidate.tape.values[other.source].shape
        if other.kind == kind and np.prod([shape[axis] for axis in other.axes]) == count:
            return other
    return None


def _may_take(case: Case, one: Reduction, kind: str) -> bool:
    """Whether an operation of the candidate's reduces as many elements by a kind.

    Or by none that its name tells, as a loss does.
    """
    tapes = case.reference.tape, case.candidate.tape
    count = tapes[0].values[one.source].size // tapes[0].values[one.value].size
    for op in case.candidate.ops:
        sizes = [[tapes[1].values[at].size for at in ids] for ids in (op.inputs, op.outputs)]
        if op.static or not any(size == count * sizes[1][0] for size in sizes[0]):
            continue
        told = [name for name in KINDS if name in plain_kind(op)]
        if kind in told or not told:
            return True
    return False


def _named(
    case: Case, one: Reduction, axes: Axes, other: Reduction | None
) -> tuple[int | Axes, int | Axes]:
    """The axes on both sides; the candidate's as it has them itself, if its reduction is seen."""
    mine = _spelt(case.reference, one)
    if other is None:
        return mine, in_candidate_layout(case, one.source, axes)
    return mine, _spelt(case.candidate, other)


def _spelt(view: RegionView, one: Reduction) -> int | Axes:
    """The axes of a reduction, with those of length 1 that are gone as well."""
    x, made = (view.tape.values[value].shape for value in (one.source, one.value))
    single = {axis for axis, length in enumerate(x) if length == 1} - set(one.axes)
    whole = tuple(sorted({*one.axes, *single}))
    return spell(whole if len(x) - len(made) == len(whole) else one.axes, len(x))


def mixed(case: Case) -> Iterator[tuple[Reduction, Axes, Predict]]:
    """Sums of which the candidate takes the mean over some of the axes, or the other way round."""
    ours = inside_reference(case)
    for one in reductions(ours):
        if one.kind not in ("mean", "sum") or len(one.axes) < 2:
            continue
        shape = ours.array(one.source).shape
        for count in range(1, len(one.axes)):
            for some in itertools.combinations(one.axes, count):
                size = float(np.prod([shape[axis] for axis in some]))
                factor = 1 / size if one.kind == "sum" else size
                predict = with_value(case, one.value, partial(np.multiply, factor))
                if fits(predict, case.first, case.first.candidate):
                    yield one, some, predict


def by_count(case: Case) -> tuple[str, str] | None:
    """Sum and mean where the loss is one operation: they are the number of elements apart."""
    first = case.first
    if first.reference.shape != first.candidate.shape or not varies(first.x):
        return None
    count = first.x.size // max(first.reference.size, 1)
    if count < _ELEMENTS or any(reductions(inside_reference(case))):
        return None
    for kinds, factor in ((("sum", "mean"), 1 / count), (("mean", "sum"), float(count))):
        if close(first.reference * factor, first.candidate):
            return kinds
    return None
