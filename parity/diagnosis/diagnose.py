"""From a divergence to its cause as the report tells it: explained, confirmed, with its share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from parity.diagnosis.case import case_of
from parity.diagnosis.edit import suggest
from parity.diagnosis.explain import Explained, explain
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.region import OutputPair, Parting
from parity.errors import ReplayError
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.report.summary import Capture, Cause, Guess
from parity.tape import Replay


@dataclass(frozen=True)
class Diagnosis:
    """The cause of a divergence if one could be proved, else what comes closest; its arrays.

    Attributes:
        shapes: of what the two lines of code give; None where nothing meets later.
        order: how the reference's axes lie in the candidate's; "" where that is not known.
    """

    cause: Cause | None = None
    closest: Guess | None = None
    capture: Capture | None = None
    shapes: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    order: str = ""


def diagnose(repaired: Match, parting: Parting, outputs: Sequence[OutputPair]) -> Diagnosis:
    """Explains a divergence.

    Args:
        repaired: the match in which every parting is repaired.
        outputs: of the models; a parting after which nothing meets is explained at the first.
    """
    apart = [pair for pair in outputs if not output_matches(repaired, pair)]
    ends = next(((pair.reference, pair.candidate) for pair in apart or outputs), None)
    case = case_of(repaired, parting, ends)
    if case is None:
        return Diagnosis()
    first = case.first
    written = [first.reference, first.candidate]
    if case.order is not None:
        written = [case.written.as_reference(array) for array in written]
    seen = Diagnosis(
        capture=Capture(first.inputs, *written),
        shapes=case.written.shapes if parting.values else None,
        order=str(case.written.order or "") if parting.order else "",
    )
    found = explain(case)
    if found is None:
        return seen
    told = found.explanation
    if not isinstance(found, Explained):
        return replace(seen, closest=Guess(told.kind, told.summary, found.share))
    site = parting.candidate.entry.site if parting.candidate.entry else None
    return replace(
        seen,
        cause=Cause(
            kind=told.kind,
            summary=told.summary,
            parameters=dict(told.parameters),
            # an explanation of the output itself mends it: nothing follows that could disagree
            confirmed=parting.met or (parting.values is None and len(apart) == 1),
            residual_before=parting.residual,
            residual_after=found.after,
            inputs=found.inputs,
            evidence=told.evidence,
            edit=suggest(site, told.edit) if site is not None and told.edit is not None else None,
            equally=found.equally,
        ),
    )


def repaired_alone(
    matched: Match, parting: Parting, outputs: Sequence[OutputPair]
) -> tuple[float | None, float | None]:
    """How far the outputs are apart as they are, and with one parting repaired and nothing else.

    Returns:
        The largest relative differences over the outputs, in float64; None where there is nothing
        to be subtracted, or an operation does not take what is put in.
    """
    if parting.values is None or parting.order is None:
        return None, None
    tape = matched.side.tape
    a, b = parting.values
    as_it_is = tape.replay("float64", matched.given)
    array = parting.order.apply(matched.reference.array(a))
    try:
        mended = tape.replay("float64", {b: array}, as_it_is)
    except ReplayError:  # outside what an operation takes
        return None, None
    return _apart(matched, as_it_is, outputs), _apart(matched, mended, outputs)


def _apart(matched: Match, run: Replay, outputs: Sequence[OutputPair]) -> float | None:
    found = []
    for pair in outputs:
        ours, theirs = matched.reference.array(pair.reference), run.array(pair.candidate)
        if ours.shape != theirs.shape:
            return None
        found.append(residual(ours, theirs))
    return float(np.max(found)) if found else None
