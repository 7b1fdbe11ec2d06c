"""Reductions inside a region, found by their values, and what other ones in their place give.

Not a family: the families that name them differ only in what is reduced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, Predict
from parity.diagnosis.causes._limits import SLICES_RUN
from parity.diagnosis.causes._substitution import (
    Axes,
    Inside,
    alone,
    close,
    fits,
    in_candidate_layout,
    inside_candidate,
    inside_reference,
    laid_like,
    spell,
    subsets,
    with_value,
)
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.tape import Array

KINDS: Mapping[str, Callable[..., Array]] = {
    "mean": np.mean,
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
}


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
class OtherReduction:
    """A reduction of the reference, and another one that makes it the candidate.

    Attributes:
        kind: what the candidate does; "none" where it keeps what should be reduced.
        named: the two sides' axes as one writes them, each in its own layout.
        predict: the candidate's value.
    """

    reduction: Reduction
    kind: str
    named: tuple[int | Axes, int | Axes]
    predict: Predict

    @property
    def is_of_axes(self) -> bool:
        """Whether it is of the same kind, over other axes."""
        return self.kind == self.reduction.kind

    def explained(self, cause: str, summary: str, **fields: Any) -> Explanation:
        """Explains the candidate by it."""
        kinds = self.reduction.kind, self.kind
        parameters = {"axis": self.named} if self.is_of_axes else {"kind": kinds}
        return Explanation(cause, summary, self.predict, parameters=parameters, **fields)


def reductions(inside: Inside) -> Iterator[Reduction]:
    """The reductions in a region, however they are computed; nothing of a single element."""
    found = set()
    for value, source in inside.derived():
        made, x = inside.array(value), inside.array(source)
        reduced = reduced_by(x, made) if value not in found else None
        if reduced is not None and _chooses(inside.view, reduced[0], source, value):
            found.add(value)
            yield Reduction(source, value, *reduced, keeps=made.ndim == x.ndim > 0)


def reducing(inside: Inside) -> Iterator[Reduction]:
    """The reductions that one operation of a region computes."""
    for op in inside.view.ops:
        ways = [kind for kind, words in _TAKING.items() if op.word in words]
        if op.static or not ways:
            continue
        source, value = op.inputs[0], op.outputs[0]
        x, made = inside.array(source), inside.array(value)
        found = reduced_by(x, made)
        if found is not None and found[0] in ways:
            yield Reduction(source, value, *found, keeps=made.ndim == x.ndim > 0)


# of the greatest and the least: one that is looked up may be either by chance
_CHOOSING = {
    "max": {"max", "maximum", "max_pool", "adaptive_max_pool"},
    "min": {"min", "minimum"},
}
_BOTH = frozenset(("min_and_max", "sort", "top_k"))
# Operations that reduce in one of the ways, alone or with more.
_TAKING = {
    "mean": {"mean", "variance_and_mean"},
    "sum": {"sum", "log_sum_exp", "einsum"},
    "max": {"max", "argmax", "max_pool", "adaptive_max_pool", "min_and_max"},
    "min": {"min", "argmin", "min_and_max"},
}
# Any operation that leaves out the axes that it works along.
REDUCING = frozenset().union(*_TAKING.values()) - {"einsum", "max_pool", "adaptive_max_pool"} | {
    *("variance", "standard_deviation", "product", "norm")
}


def _chooses(view: RegionView, kind: str, source: int, value: int) -> bool:
    """Whether what makes a value of another one takes a maximum, or whatever else `kind` is."""
    if kind not in _CHOOSING:
        return True
    tape = view.tape
    start = view.ops[0].index if view.ops else 0
    walk = tape.graph.backward(
        [value], lambda at, op: at != source and not op.static and op.index >= start
    )
    behind = [op for at, op in walk if at != source and op is not None and not op.static]
    read = {one for op in behind for one in op.inputs if tape.is_live(one)}
    alone = read <= {one for op in behind for one in op.outputs} | {source}
    words = {op.word for op in behind}
    return not words.isdisjoint(_CHOOSING[kind] | _BOTH) or (alone and f"arg{kind}" in words)


def reduced_by(x: Array, made: Array) -> tuple[str, Axes] | None:
    """The kind and the axes by which an array is another one reduced."""
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


@lru_cache(maxsize=4)
def changes(case: Case) -> tuple[OtherReduction, ...]:
    """Other reductions in the place of one of the reference's that give the candidate's value."""
    return tuple(_changes(case))


def _changes(case: Case) -> Iterator[OtherReduction]:
    reference = inside_reference(case)
    found = list(reductions(reference))
    candidate = list(reductions(inside_candidate(case))) if found else []
    end = case.reference.tape.before_moves(case.reference.end)
    for one in found:
        named = _spelt(case.reference, one)
        for kind, axes in _alternatives(one, reference.array(one.source).ndim):
            predict = _predicting(case, one, kind, axes)
            if predict is None:
                continue
            other = _counterpart(case, one, kind, axes, candidate)
            if other is not None:
                yield OtherReduction(one, kind, (named, _spelt(case.candidate, other)), predict)
                break
            shown = one.value == end if kind == one.kind else _may_take(case, one, kind)
            if shown:
                there = in_candidate_layout(case, one.source, axes)
                yield OtherReduction(one, kind, (named, there), predict)
                break
        else:
            predict = _in_its_place(case, one, alone) or _unreduced(case, one)
            if predict is not None:
                yield OtherReduction(one, "none", (named, ()), predict)


def axis_edit(case: Case, one: Reduction, adds: bool = True) -> Edit:
    """The candidate's reduction over the reference's axes."""
    wanted = in_candidate_layout(case, one.source, one.axes)
    names = (one.kind, f"reduce_{one.kind}", f"a{one.kind}")
    return Edit(names, ("axis", "dim"), repr(wanted), position=1, adds=adds)


def reduce(x: Array, kind: str, axes: Axes, keeps: bool) -> Array:
    return np.asarray(KINDS[kind](x, axis=axes, keepdims=keeps))


def _alternatives(one: Reduction, rank: int) -> Iterator[tuple[str, Axes]]:
    yield from ((one.kind, axes) for axes in subsets(rank) if axes != one.axes)
    yield from ((kind, one.axes) for kind in KINDS if kind != one.kind)


def _predicting(case: Case, one: Reduction, kind: str, axes: Axes) -> Predict | None:
    kept = (True,) if one.keeps else (False, True)
    forms = (partial(reduce, kind=kind, axes=axes, keeps=keeps) for keeps in kept)
    return next(filter(None, (_in_its_place(case, one, form) for form in forms)), None)


def _in_its_place(case: Case, one: Reduction, form: Callable[[Array], Array]) -> Predict | None:
    """The rest of the region runs on another form of what is reduced, if that fits."""
    substituted = with_value(case, one.value, form, one.source)

    def predict(trial: Trial) -> Array:
        return laid_like(case, substituted(trial))

    return predict if fits(predict, case.first, case.first.candidate) else None


def _unreduced(case: Case, one: Reduction) -> Predict | None:
    """The rest runs for each slice of what is not reduced by itself: it takes no further axis."""
    if len(one.axes) != 1 or case.order is not None:
        return None
    axis = one.axes[0]
    count = case.reference.tape.values[one.source].shape[axis]
    wanted = case.first.candidate.shape
    if count > SLICES_RUN or case.first.reference.size * count != case.first.candidate.size:
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
    case: Case, one: Reduction, kind: str, axes: Axes, candidate: list[Reduction]
) -> Reduction | None:
    """The candidate's reduction of a kind over as many elements.

    Without one a reduction over another axis proves nothing where more follows: what a mean over
    the atoms takes off, softmax takes off again.
    """
    shape, values = case.reference.tape.values[one.source].shape, case.candidate.tape.values
    count = math.prod(shape[axis] for axis in axes)
    for other in candidate:
        if other.kind == kind and values[other.source].size == count * values[other.value].size:
            return other
    return None


def _may_take(case: Case, one: Reduction, kind: str) -> bool:
    """Whether an operation of the candidate's reduces as many elements by a kind.

    Or in a way that its word does not say, as a loss does.
    """
    tapes = case.reference.tape, case.candidate.tape
    count = tapes[0].values[one.source].size // tapes[0].values[one.value].size
    for op in case.candidate.ops:
        sizes = [[tapes[1].values[at].size for at in ids] for ids in (op.inputs, op.outputs)]
        if op.static or not any(size == count * sizes[1][0] for size in sizes[0]):
            continue
        ways = [name for name in KINDS if op.word in _TAKING[name]]
        if kind in ways or not ways:
            return True
    return False


def _spelt(view: RegionView, one: Reduction) -> int | Axes:
    """The axes of a reduction, with those of length 1 that are gone as well."""
    x, made = (view.tape.values[value].shape for value in (one.source, one.value))
    single = {axis for axis, length in enumerate(x) if length == 1} - set(one.axes)
    whole = tuple(sorted({*one.axes, *single}))
    return spell(whole if len(x) - len(made) == len(whole) else one.axes, len(x))
