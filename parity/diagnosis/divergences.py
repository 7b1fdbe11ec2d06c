"""Divergences as the report has them: each explained, then held against the others.

Each is located with every other one repaired, so a cause that holds at its place may yet be an
effect of how the others were repaired. What several of them say together decides what is proved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from parity import budget
from parity.diagnosis import limits
from parity.diagnosis.deduplicate import merge
from parity.diagnosis.diagnose import Diagnosis, diagnose, repaired_alone
from parity.diagnosis.joint_repair import Finding, without_effect, without_proof
from parity.diagnosis.proof import Proofs
from parity.diagnosis.region import DifferingLeaf, Mismatch, Region
from parity.diagnosis.sample_order import without_sorted
from parity.diagnosis.unshared import cause_of
from parity.findings import Divergence, LeafDifference, Note
from parity.matching.match import Match
from parity.tape import Site, Tape


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
    idle: list[tuple[Mismatch, Note]] = []
    matched, repaired = proofs.matched, proofs.repaired
    told = without_sorted(matched, repaired, [mismatch for mismatch, _ in faults], proofs.outputs)
    for mismatch, detail in faults:
        if not any(mismatch is one for one in told):
            continue
        if len(faults) > 1 and without_effect(proofs, mismatch):
            idle.append((mismatch, Note("no-effect", *sites_of(mismatch), mismatch.residual)))
            continue
        here = found.setdefault(sites_of(mismatch), [])
        spent = budget.EXPLANATIONS in budget.current().missed
        if len(here) < (1 if spent else limits.EXPLAINED_AT_A_SITE):
            here.append(Finding(mismatch, _within_budget(proofs, mismatch, detail)))
        else:
            last = here[-1].divergence
            here[-1] = replace(here[-1], divergence=replace(last, times=last.times + 1))
        if progress is not None:
            progress()
    return merge(without_proof([one for here in found.values() for one in here])), idle


def _within_budget(proofs: Proofs, mismatch: Mismatch, detail: str) -> Divergence:
    """A divergence, explained if that takes no more than what is left of the budget."""
    if mismatch.unshared:
        return _divergence(proofs, mismatch, detail, Diagnosis(cause_of(mismatch)), (None, None))
    left, missed = budget.current(), budget.EXPLANATIONS
    try:
        if not left.holds(_needed(proofs, mismatch)):
            missed = budget.MEMORY
        else:
            with budget.until(budget.EXPLAINING):
                effect = repaired_alone(proofs, mismatch)
                return _divergence(proofs, mismatch, detail, diagnose(proofs, mismatch), effect)
    except budget.Spent:
        pass
    left.miss(missed)
    detail = "; ".join(filter(None, (detail, budget.NOT_EXPLAINED)))
    return _divergence(proofs, mismatch, detail, Diagnosis(), (None, None))


def _needed(proofs: Proofs, mismatch: Mismatch) -> float:
    """About how many bytes the explanation of a divergence takes."""
    sides = (
        (mismatch.reference, proofs.matched.reference.tape),
        (mismatch.candidate, proofs.matched.side.tape),
    )
    sizes = [tape.values[v].size for region, tape in sides for v in region.made]
    return 8.0 * limits.RUNS_TO_EXPLAIN * max(sizes, default=0)


def _divergence(
    proofs: Proofs,
    mismatch: Mismatch,
    detail: str,
    diagnosis: Diagnosis,
    effect: tuple[float | None, float | None],
) -> Divergence:
    reference, candidate = sites_of(mismatch)
    before, after = effect
    matched = proofs.matched
    return Divergence(
        reference=reference,
        candidate=candidate,
        residual=mismatch.residual,
        reference_region=_distinct(mismatch.reference),
        candidate_region=_distinct(mismatch.candidate),
        shapes=diagnosis.shapes or _shapes(matched, mismatch),
        order=diagnosis.order,
        leaves=tuple(dict.fromkeys(_leaf(matched, leaf) for leaf in mismatch.leaves)),
        reconverges=mismatch.reconverges,
        random=mismatch.random,
        detail=detail,
        cause=diagnosis.cause,
        closest=diagnosis.closest,
        capture=diagnosis.capture,
        output_before=before,
        output_after=after,
    )


def _shapes(matched: Match, mismatch: Mismatch) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    if mismatch.values is None:
        return None
    a, b = mismatch.values
    return matched.reference.tape.values[a].shape, matched.side.tape.values[b].shape


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

    return LeafDifference(
        name(matched.reference.tape, leaf.reference),
        name(matched.side.tape, leaf.candidate),
        leaf.relation,
    )
