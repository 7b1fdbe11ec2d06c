"""Another activation within a region that goes on, where the two curves are in one place alone."""

from __future__ import annotations

from collections.abc import Iterator

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._curves import Curve, recognise
from parity.diagnosis.causes._limits import OPS_OF_A_LAYER
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._substitution import with_value
from parity.diagnosis.causes.activation import are_said_so, curves_within, stated_of
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.view import RegionView
from parity.tape import Op


@cause("activation-kind", "gelu-variant", "leaky-slope", "hard-sigmoid-slope", enclosures=True)
@first_fitting
def activation_within(case: Case) -> Iterator[Explanation]:
    """Another activation, or another slope of it, and more is computed of what it gives.

    Looks like: what `activation-kind` does, before a factor, a normalization or a concatenation
        after which alone the models could be compared.
    Proof: the reference's operations with the candidate's curve in the place of its own give the
        candidate's value.
    """
    reference, candidate = sides(case)
    if max(len(side.view.ops) for side in (reference, candidate)) > OPS_OF_A_LAYER:
        return
    own = list(curves_within(case, reference.view, reference.values))
    if not own:
        return
    others: dict[Curve, Op | None] = {
        curve: None for curve, _, _ in curves_within(case, candidate.view, candidate.values)
    }
    for a, before, after in own:
        place = _first_of(reference.view, before, after)
        passed_on = _passed_on(case, candidate, before)
        for b, op in {**passed_on, **others}.items():
            if not a.alike(b) and are_said_so(case, a, b):
                kind, text, (name, pair), edit = stated_of(a, b)
                yield Explanation(
                    kind,
                    text,
                    with_value(case, after, b, before),
                    parameters={name: pair},
                    edit=edit,
                    places=(place, op),
                )


def _first_of(view: RegionView, before: int, after: int) -> Op | None:
    """The first operation of a curve, which an enlarged region may start before."""
    needed = view.tape.graph.ancestors([after])
    return next((op for op in view.ops if op.index in needed and before in op.inputs), None)


def _passed_on(case: Case, candidate: CaseSide, before: int) -> dict[Curve, Op | None]:
    """Curves of a value that the candidate's region reads, with what makes them there."""
    run, tape = case.repaired.reference.run, candidate.view.tape
    found: dict[Curve, Op | None] = {}
    for value, partner in case.partners.items():
        x, y = run.array(before).ravel(), run.array(partner).ravel()
        curve = recognise(x, y) if before != partner and x.shape == y.shape else None
        if curve is not None:
            found[curve] = tape.producer(tape.before_moves(value))
    return found
