"""Biases that are missing, or added twice."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._attested import (
    adds,
    computes,
    is_added,
    numbers_added,
    part_of,
    times_added,
)
from parity.diagnosis.causes._limits import OPS_BESIDE_A_BIAS
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._weights import gives, held, same, with_leaves
from parity.diagnosis.causes.combinators import first_fitting, fix
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import LeafView, RegionView
from parity.matching.match import Side
from parity.operations import NORMS
from parity.tape import Array

# cause, what the reference's bias is multiplied by, in words, how often either side adds it
_BIASES = (
    ("bias-missing", 0.0, "{} is not added", (1, 0)),
    ("bias-doubled", 2.0, "twice {} is added", (1, 2)),
    ("bias-doubled", 0.5, "half of {} is added", (1, 0.5)),
)


@cause("bias-missing", "bias-doubled", "weight-values")
def bias(case: Case) -> Iterator[Explanation]:
    """A bias is not added, or added twice.

    Looks like: a difference that does not depend on the input and is the same for every sample.
    Proof: the reference with its bias set to zero, or to twice itself, gives the candidate's value.
    """
    if any(op.word in NORMS for op in case.reference.computing):
        return
    tape, (reference, candidate) = case.reference.tape, sides(case)
    for leaf in held(case, as_candidate=False):
        if not is_bias(leaf) or not leaf.array.any() or not is_added(case.reference, leaf):
            continue
        for kind, factor, text, times in _BIASES:
            predict = with_leaves(case, {leaf.id: factor * leaf.array})
            if not gives(case, predict):
                continue
            if not factor and _adds_zeros(candidate, reference, leaf):
                zeros = f"zeros are read in place of {_named(case.reference, leaf)}"
                yield Explanation("weight-values", zeros, predict)
                continue
            named = _named(case.reference, leaf, "the bias ")
            summary, before = text.format(named), 0
            if not factor:
                before = times_added(tape, leaf.id, tape.graph.ancestors(case.entering))
            if before and _goes_on(case):
                summary = f"{named} is not added at this step"
            elif before:
                whole = before + times_added(tape, leaf.id, {op.index for op in case.reference.ops})
                kind, times = "bias-doubled", (whole, before)
                often = [{1: "once", 2: "twice"}.get(n, f"{n} times") for n in times]
                summary = f"{named} is added {often[1]}; the reference adds it {often[0]}"
            yield Explanation(kind, summary, predict, parameters={"bias": times})


def _goes_on(case: Case) -> bool:
    """Whether a region is a further step of a recurrence: a matrix is read again on the way."""
    tape = case.reference.tape
    before = tape.graph.ancestors(case.entering)
    whole = before | {op.index for op in case.reference.ops}
    return any(
        readers & before and len(readers & whole) > 1 for readers in tape.graph.readers_of_matrices
    )


def _named(view: RegionView, leaf: LeafView, before: str = "") -> str:
    unnamed = f"{before or 'a bias '}of {leaf.array.shape}"
    return part_of(view, leaf) + (before + leaf.name if leaf.name else unnamed)


def _adds_zeros(side: CaseSide, other: CaseSide, bias: LeafView) -> bool:
    """Whether a side adds zeros where the other adds a bias: there, or next before or behind it."""
    view, most = side.view, numbers_added(other.view, bias)
    before = (computes(view.tape, value) for value in side.entering)
    return any(
        not view.tape.is_live(value)
        and 1 < view.tape.values[value].size <= most
        and not side.model.array(value).any()
        for op in (*before, *view.ops, *view.readers())
        if op is not None and adds(op)
        for value in op.inputs
    )


@cause("bias-missing", "bias-doubled", "weight-values")
@first_fitting
def bias_in_addition(case: Case) -> Iterator[Explanation]:
    """The candidate adds a bias where the reference has none, or has added it elsewhere.

    Looks like: a difference that does not depend on the input and is the same for every sample;
        a cell's one bias is loaded into both of its products.
    Proof: the candidate with that bias set to zero gives the reference's value.
    """
    ops = case.candidate.computing
    if len(ops) > OPS_BESIDE_A_BIAS or any(op.word in NORMS for op in ops):
        return
    biases = sum(is_bias(leaf) for leaf in held(case, as_candidate=False))
    added = [leaf for leaf in held(case, as_candidate=True) if is_bias(leaf) and leaf.array.any()]
    if len(added) <= biases:
        return
    known = [one.ravel() for one in _held(case)]
    for leaf in added:
        if not is_added(case.candidate, leaf):
            continue
        fixed = partial(_without, case, leaf)
        name = _named(case.candidate, leaf, "the bias ")
        if any(_holds(one, leaf.array) for one in known):
            often = [_times(side.model, leaf.array) for side in sides(case)]
            if 0 < often[0] < often[1]:
                text = f"{name} is added once more than the reference adds it"
                yield fix(fixed, "bias-doubled", text, parameters={"bias": (1, 2)})
        elif _adds_zeros(*sides(case), leaf):
            yield fix(fixed, "weight-values", f"{name} is read in place of zeros")
        else:
            text = f"{name} is added; the reference adds none"
            yield fix(fixed, "bias-missing", text, parameters={"bias": (0, 1)})


def _times(model: Side, bias: Array) -> int:
    """How often a model adds a vector, in all of its program."""
    tape = model.tape
    leaves = (one for one in tape.values if one.op < 0 and one.kind != "input")
    alike = (one.id for one in leaves if one.size == bias.size and one.id in model.run)
    equal = (one for one in alike if same(model.array(one).ravel(), bias.ravel()))
    return sum(times_added(tape, one, tape.used) for one in equal)


def _without(case: Case, leaf: LeafView, trial: Trial) -> Array:
    return case.run_candidate(trial.given, {leaf.id: 0.0 * leaf.array})


def _holds(whole: Array, part: Array) -> bool:
    """Whether all values of a vector are among others: biases may be kept as one."""
    values = np.concatenate([[-np.inf], np.sort(whole.astype(np.float32), axis=None), [np.inf]])
    wanted = part.astype(np.float32).ravel()
    at = np.searchsorted(values, wanted).clip(1)
    nearest = np.minimum(np.abs(values[at - 1] - wanted), np.abs(values[at] - wanted))
    return bool((nearest <= 1e-7 * np.abs(wanted).max()).all())


@cause("bias-doubled")
@first_fitting
def bias_added_again(case: Case) -> Iterator[Explanation]:
    """A bias that what came before holds already is added once more.

    Looks like: `linear(x, w, b) + b`.
    Proof: the reference's operations on its input plus the candidate's bias give the candidate's
        value, and that bias is one of the reference's.
    """
    entering = [root for root, x in case.first.given.items() if x.dtype.kind == "f"]
    if len(entering) != 1:
        return
    (root,) = entering
    x, known = case.first.given[root], _held(case)
    for leaf in case.candidate.leaves:
        if not is_bias(leaf) or not is_added(case.candidate, leaf):
            continue
        if not any(same(leaf.array.ravel(), one.ravel()) for one in known):
            continue
        name = _named(case.candidate, leaf, "the bias ")
        for axis in range(x.ndim - 1, -1, -1):
            if x.shape[axis] == leaf.array.size:
                shape = [-1 if i == axis else 1 for i in range(x.ndim)]
                yield Explanation(
                    "bias-doubled",
                    f"{name} is added once more than the reference adds it",
                    partial(_plus, case, root, leaf.array.reshape(shape)),
                    parameters={"bias": (1, 2)},
                )


def is_bias(leaf: LeafView) -> bool:
    """Whether a leaf has one number for each entry of one axis; ones that are summed count."""
    array = leaf.array
    is_vector = array.dtype.kind == "f" and array.size in array.shape
    return is_vector and (bool(leaf.name) or not (array.size > 1 and (array == 1).all()))


def _held(case: Case) -> list[Array]:
    side = case.repaired.reference
    arrays = [
        side.array(value.id)
        for value in side.tape.values
        if value.op < 0 and value.kind != "input" and len(value.shape) == 1
    ]
    return [array for array in arrays if array.dtype.kind == "f"]


def _plus(case: Case, root: int, bias: Array, trial: Trial) -> Array:
    return case.run_reference({**trial.given, root: trial.given[root] + bias})
