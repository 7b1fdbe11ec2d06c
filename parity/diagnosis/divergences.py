"""Divergences as the report has them: each explained, then held against the others.

Each is located with every other one repaired, so a cause that holds at its place may yet be an
effect of how the others were repaired. What several of them say together decides what is proved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parity import budget
from parity.diagnosis import limits
from parity.diagnosis.backward_pass import without_consequences
from parity.diagnosis.case import case_of
from parity.diagnosis.deduplicate import merge
from parity.diagnosis.explain import Explained, explain
from parity.diagnosis.host_decisions import decided_by_the_host
from parity.diagnosis.joint_repair import (
    Finding,
    is_repaired_before,
    not_undone,
    without_effect,
    without_proof,
)
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.proof import Proofs
from parity.diagnosis.region import DifferingLeaf, Mismatch, Region, reference_values
from parity.diagnosis.sample_order import without_sorted
from parity.diagnosis.suggested_fix import suggest
from parity.diagnosis.unshared import cause_of
from parity.errors import ReplayError
from parity.findings import FORMULA, Capture, Cause, Divergence, Guess, LeafDifference, Note
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.tape import Replay, Site, Tape

Words = tuple[tuple[str, ...], tuple[str, ...]]  # of the operations of both regions
Siblings = defaultdict[Words, list[Explained]]


def sites_of(mismatch: Mismatch) -> tuple[Site, Site]:
    return site_of(mismatch.reference), site_of(mismatch.candidate)


def site_of(region: Region) -> Site:
    return region.entry.site if region.entry else Site("nothing", "")


def explained(
    proofs: Proofs,
    faults: Sequence[tuple[Mismatch, str]],
    progress: Callable[..., Any] | None = None,
) -> tuple[list[Divergence], list[tuple[Mismatch, Note]]]:
    """The divergences, explained; and those that change nothing on these inputs, as notes.

    The rest of many at one pair of sites is like the first few. What the budget is spent for before
    is not explained.

    Args:
        faults: where the models diverge, with what else is known of it.
        progress: called after each.
    """
    found: dict[tuple[Site, Site], list[Finding]] = {}
    siblings: Siblings = defaultdict(list)
    idle: list[tuple[Mismatch, Note]] = []
    matched, repaired = proofs.matched, proofs.repaired
    kept = without_sorted(matched, repaired, [mismatch for mismatch, _ in faults], proofs.outputs)
    for mismatch, detail in faults:
        if not any(mismatch is one for one in kept) or is_repaired_before(proofs, mismatch, kept):
            continue
        here = found.setdefault(sites_of(mismatch), [])
        spent = budget.EXPLANATIONS in budget.current().missed
        if len(here) >= (1 if spent else limits.EXPLAINED_AT_A_SITE):
            last = here[-1].divergence
            here[-1] = replace(here[-1], divergence=replace(last, times=last.times + 1))
        elif len(faults) > 1 and (kind := _idle(proofs, mismatch)):
            idle.append((mismatch, Note(kind, *sites_of(mismatch), mismatch.residual)))
            continue
        else:
            here.append(Finding(mismatch, _within_budget(proofs, mismatch, detail, siblings)))
        if progress is not None:
            progress()
    findings = [one for here in found.values() for one in here]
    listed = not_undone(without_proof(findings, matched))
    return [*map(_as_described, without_consequences(merge(listed)))], idle


def _as_described(found: Divergence) -> Divergence:
    """A divergence without a cause that merely states two formulas, and does not prove them."""
    cause = found.cause
    if cause is None or cause.kind != FORMULA or cause.confirmed:
        return found
    ((reference, candidate),) = cause.parameters.values()
    stated = f"formula: {reference} -> {candidate}", *cause.evidence
    return replace(found, cause=None, closest=Guess(FORMULA, cause.summary, 1.0, stated))


def _idle(proofs: Proofs, mismatch: Mismatch) -> str:
    """The kind of note that a mismatch is which is none of its own; "" for any other."""
    if without_effect(proofs, mismatch):
        return "no-effect"
    return "host-decided" if decided_by_the_host(proofs, mismatch) else ""


def _within_budget(
    proofs: Proofs, mismatch: Mismatch, detail: str, siblings: Siblings
) -> Divergence:
    """A divergence, explained if that takes no more than what is left of the budget."""
    found = _divergence(proofs.matched, mismatch, detail)
    if mismatch.unshared:
        return replace(found, cause=cause_of(mismatch))
    left, missed = budget.current(), budget.EXPLANATIONS
    try:
        if not left.holds(_needed(mismatch)):
            missed = budget.MEMORY
        else:
            with budget.until(budget.EXPLAINING):
                before, after = _repaired_alone(proofs, mismatch)
                found = replace(found, output_before=before, output_after=after)
                return diagnose(proofs, mismatch, found, siblings)
    except budget.Spent:
        pass
    left.miss(missed)
    detail = "; ".join(filter(None, (detail, budget.NOT_EXPLAINED)))
    return _divergence(proofs.matched, mismatch, detail)


def _needed(mismatch: Mismatch) -> float:
    """About how many bytes the explanation of a divergence takes."""
    sizes = [one.tape.values[value].size for one in mismatch.regions for value in one.made]
    return 8.0 * limits.RUNS_TO_EXPLAIN * max(sizes, default=0)


def _divergence(matched: Match, mismatch: Mismatch, detail: str) -> Divergence:
    """A divergence as it is located, not explained yet."""
    reference, candidate = sites_of(mismatch)
    return Divergence(
        reference=reference,
        candidate=candidate,
        residual=mismatch.residual,
        reference_region=_distinct(mismatch.reference),
        candidate_region=_distinct(mismatch.candidate),
        shapes=_shapes(matched, mismatch),
        leaves=tuple(dict.fromkeys(_leaf(matched, leaf) for leaf in mismatch.leaves)),
        reconverges=mismatch.reconverges,
        random=mismatch.random,
        detail=detail,
    )


def diagnose(
    proofs: Proofs, mismatch: Mismatch, found: Divergence, siblings: Siblings
) -> Divergence:
    """A divergence with its cause if one could be proved, else with what comes closest.

    Args:
        proofs: knows the models and their outputs; a mismatch after which nothing reconverges is
            explained at the first output.
        siblings: what explains other places, by the operations there; what is found is added.
    """
    repaired, outputs = proofs.repaired, proofs.outputs
    differing = [pair for pair in outputs if not output_matches(repaired, pair)]
    ends = next((pair.values for pair in differing or outputs), None)
    case = case_of(repaired, mismatch, ends)
    if case is None:
        return found
    first = case.first
    written = [first.reference, first.candidate]
    if case.order is not None:
        written = [case.written.as_reference(array) for array in written]
    found = replace(found, capture=Capture(first.inputs, *written))
    if mismatch.values:
        found = replace(found, shapes=case.written.shapes)
    if mismatch.order:
        found = replace(found, order=str(case.written.order or ""))
    alike = siblings[_words(mismatch)]
    explained = explain(case, alike)
    if explained is None:
        return found
    explanation = explained.explanation
    if not isinstance(explained, Explained):
        guess = Guess(explanation.kind, explanation.summary, explained.share)
        return replace(found, closest=guess)
    alike.append(explained)
    sites = zip(explanation.places, sites_of(mismatch), strict=True)
    reference, candidate = (op.site if op is not None else site for op, site in sites)
    found = replace(found, reference=reference, candidate=candidate)
    site = mismatch.candidate.entry.site if mismatch.candidate.entry else None
    edit, doubt = explanation.edit, proofs.doubt(mismatch, explained)
    cause = Cause(
        kind=explanation.kind,
        summary=explanation.summary,
        parameters={name: _as_stated(*both) for name, both in explanation.parameters.items()},
        confirmed=not doubt,
        unproved=doubt,
        residual_before=mismatch.residual,
        residual_after=explained.after,
        inputs=explained.inputs,
        evidence=explanation.evidence,
        edit=suggest(site, edit) if site is not None and edit is not None else None,
        alternatives=explained.alternatives,
    )
    return replace(found, cause=cause)


def _as_stated(reference: Any, candidate: Any) -> tuple[Any, Any]:
    """A parameter's two values; zeros have no sign, so that what states the same reads the same."""
    first, second = (one + 0.0 if type(one) is float else one for one in (reference, candidate))
    return first, second


def _words(mismatch: Mismatch) -> Words:
    """What is computed in both regions, whatever moves values there."""
    reference, candidate = (
        tuple(op.word for op in region.ops if op.role != "move") for region in mismatch.regions
    )
    return reference, candidate


def _repaired_alone(proofs: Proofs, mismatch: Mismatch) -> tuple[float | None, float | None]:
    """How far the outputs differ on the same draws, and with one mismatch alone repaired.

    Returns:
        The largest relative differences over the outputs, in float64; None where there is nothing
        to be subtracted, or an operation refuses what is substituted.
    """
    substituted = reference_values(proofs.matched, [mismatch])
    if not substituted:
        return None, None
    try:
        fixed = proofs.with_values(substituted)
    except ReplayError:  # outside what an operation takes
        return None, None
    return _difference(proofs, proofs.drawn), _difference(proofs, fixed)


def _difference(proofs: Proofs, run: Replay) -> float | None:
    found = []
    for pair in proofs.outputs:
        if pair.candidate in proofs.draws:
            continue  # it is the reference's, substituted, as draws inside it have no counterpart
        reference = proofs.matched.reference.array(pair.reference)
        candidate = run.array(pair.candidate)
        if reference.shape != candidate.shape:
            return None
        found.append(residual(reference, candidate))
    return float(np.max(found)) if found else None


def _shapes(matched: Match, mismatch: Mismatch) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    if mismatch.values is None:
        return None
    sides = zip(matched.tapes, mismatch.values, strict=True)
    reference, candidate = (tape.values[value].shape for tape, value in sides)
    return reference, candidate


def _distinct(region: Region) -> tuple[Site, ...]:
    """The sites of a region's operations, each line and layer once."""
    sites = {(op.site.layer, op.site.source, op.kind): op.site for op in region.ops}
    return tuple(sites.values())


def _leaf(matched: Match, leaf: DifferingLeaf) -> LeafDifference:
    def name(tape: Tape, value: int | None) -> str:
        if value is None:
            return ""
        found = tape.values[value]
        return found.name or f"{found.kind} {found.shape}"

    reference, candidate = matched.tapes
    return LeafDifference(
        name(reference, leaf.reference), name(candidate, leaf.candidate), leaf.relation
    )
