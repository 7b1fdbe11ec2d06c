"""From a divergence to its cause as reported: explained, confirmed, with its share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from parity.diagnosis.case import case_of
from parity.diagnosis.explain import Explained, explain
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.proof import Proofs
from parity.diagnosis.region import Mismatch
from parity.diagnosis.suggested_fix import suggest
from parity.errors import ReplayError
from parity.findings import Capture, Cause, Guess
from parity.numerics.difference import residual
from parity.tape import Replay


@dataclass(frozen=True)
class Diagnosis:
    """The cause of a divergence if one could be proved, else what comes closest; its arrays.

    Attributes:
        shapes: of what the two lines of code give; None where nothing reconverges later.
        order: how the reference's axes lie in the candidate's; "" where that is not known.
    """

    cause: Cause | None = None
    closest: Guess | None = None
    capture: Capture | None = None
    shapes: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    order: str = ""


def diagnose(proofs: Proofs, mismatch: Mismatch) -> Diagnosis:
    """Explains a divergence.

    Args:
        proofs: knows the models and their outputs; a mismatch after which nothing reconverges is
            explained at the first output.
    """
    repaired, outputs = proofs.repaired, proofs.outputs
    apart = [pair for pair in outputs if not output_matches(repaired, pair)]
    ends = next(((pair.reference, pair.candidate) for pair in apart or outputs), None)
    case = case_of(repaired, mismatch, ends)
    if case is None:
        return Diagnosis()
    first = case.first
    written = [first.reference, first.candidate]
    if case.order is not None:
        written = [case.written.as_reference(array) for array in written]
    seen = Diagnosis(
        capture=Capture(first.inputs, *written),
        shapes=case.written.shapes if mismatch.values else None,
        order=str(case.written.order or "") if mismatch.order else "",
    )
    found = explain(case)
    if found is None:
        return seen
    told = found.explanation
    if not isinstance(found, Explained):
        return replace(seen, closest=Guess(told.kind, told.summary, found.share))
    site = mismatch.candidate.entry.site if mismatch.candidate.entry else None
    doubt = proofs.doubt(mismatch, found)
    return replace(
        seen,
        cause=Cause(
            kind=told.kind,
            summary=told.summary,
            parameters=dict(told.parameters),
            confirmed=not doubt,
            unproved=doubt,
            residual_before=mismatch.residual,
            residual_after=found.after,
            inputs=found.inputs,
            evidence=told.evidence,
            edit=suggest(site, told.edit) if site is not None and told.edit is not None else None,
            alternatives=found.alternatives,
        ),
    )


def repaired_alone(proofs: Proofs, mismatch: Mismatch) -> tuple[float | None, float | None]:
    """How far the outputs are apart on the same draws, and with one mismatch alone repaired.

    Returns:
        The largest relative differences over the outputs, in float64; None where there is nothing
        to be subtracted, or an operation refuses what is substituted.
    """
    if mismatch.values is None or mismatch.order is None:
        return None, None
    a, b = mismatch.values
    array = mismatch.order.apply(proofs.matched.reference.array(a))
    try:
        fixed = proofs.with_value(b, array)
    except ReplayError:  # outside what an operation takes
        return None, None
    return _apart(proofs, proofs.drawn), _apart(proofs, fixed)


def _apart(proofs: Proofs, run: Replay) -> float | None:
    found = []
    for pair in proofs.outputs:
        if pair.candidate in proofs.draws:
            continue  # it is the reference's, substituted, as draws inside it have no counterpart
        reference, candidate = (
            proofs.matched.reference.array(pair.reference),
            run.array(pair.candidate),
        )
        if reference.shape != candidate.shape:
            return None
        found.append(residual(reference, candidate))
    return float(np.max(found)) if found else None
