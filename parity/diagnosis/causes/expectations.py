"""A mean that is weighed by probabilities, and a maximum or a plain mean in its place."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._reduced import REDUCING, Reduction, reduce, reduced_by
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._substitution import (
    Form,
    Inside,
    Substituted,
    close,
    inside_candidate,
    inside_reference,
    is_probabilities,
    spell,
)
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.tape import Array


@cause("reduction-kind", tier=2)
@first_fitting
def weighed(case: Case) -> Iterator[Explanation]:
    """A mean weighed by probabilities, as by a softmax, is a maximum or a plain mean in one model.

    Looks like: a target with the greatest value in the place of the expected one.
    Proof: one side's operations with the other side's reduction in the place of the weighed mean
        give the other side's value.
    """
    both = inside_reference(case), inside_candidate(case)
    for side, inside, other in zip(sides(case), both, both[::-1], strict=True):
        kinds = dict.fromkeys(_reductions(other))
        for mean in _weighed_means(inside) if kinds else ():
            axis = spell(mean.axes, inside.array(mean.source).ndim)
            for kind in kinds:
                names = ("weighed mean", kind)
                a, b = (
                    f"the {name} over axis {axis}"
                    for name in names[:: -1 if side.is_candidate else 1]
                )
                yield side.changed(
                    Explanation(
                        "reduction-kind",
                        f"{b} is taken; the reference takes {a}",
                        Substituted(partial(_reduced, side, mean, kind)),
                        parameters={"kind": names[::-1] if side.is_candidate else names},
                    )
                )


def _reductions(inside: Inside) -> Iterator[str]:
    """The kinds of reductions that single operations of a region compute."""
    for op in inside.view.ops:
        if op.word in REDUCING and not op.static and len(op.inputs) == len(op.outputs) == 1:
            found = reduced_by(inside.array(op.inputs[0]), inside.array(op.outputs[0]))
            if found is not None:
                yield found[0]


def _weighed_means(inside: Inside) -> Iterator[Reduction]:
    """Values that are the sum of another one times probabilities."""
    arrays = inside.arrays
    for weights, w in arrays.items():
        axes = is_probabilities(w)
        if axes is None:
            continue
        for source, x in arrays.items():
            if source == weights or x.shape != w.shape:
                continue
            wanted = (w * x).sum(axis=axes)
            for value in inside.computed:
                made = arrays[value]
                if made.size == wanted.size and close(wanted.ravel(), made.ravel()):
                    yield Reduction(source, value, "mean", axes, keeps=made.ndim == x.ndim)
                    break


def _reduced(side: CaseSide, mean: Reduction, kind: str, trial: Trial, change: Form) -> Array:
    (x,) = side.values(trial.given, (mean.source,))
    made = reduce(x, kind, mean.axes, mean.keeps)
    return side.run(trial.given, {mean.value: change(made)})
