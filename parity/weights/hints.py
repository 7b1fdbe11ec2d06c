"""What would help where two models diverge although one has the other's weights."""

from __future__ import annotations

import json

from parity.diagnosis.unshared import UNSHARED
from parity.format import listed
from parity.report.report import Report
from parity.weights.pairing import Pairing, Side

_NAMES = 6  # that one sentence lists


def hints(
    report: Report,
    target: Side,
    found: Pairing,
    adapted: bool,
    written: bool,
    unmoved: bool,
) -> tuple[str, ...]:
    """Sentences, what helps most first; none where the two agree and all was moved.

    Args:
        adapted: whether variances took up other epsilons already.
        written: whether the target has the weights all the same.
        unmoved: whether the two agree although both have what was not moved.
    """
    hints = [_partners(found)] if any(found.left) else []
    if report.verdict != "diverged":
        return tuple(hints) if unmoved else ()
    if not adapted and _other_epsilons(target, found):
        hints.append(
            "batch norms have other epsilons: give both models the same, or let the variances take "
            "up the difference with adapt_variances=True (--adapt-variances)"
        )
    if all(one.cause is None or one.cause.kind != UNSHARED for one in report.divergences):
        hints.append(
            _where(report) if hints else f"every tensor has a partner, so {_where(report)}"
        )
    count = sum(len(pair.target_names) for pair in found.pairs)
    if count and not written:
        hints.append(
            f"force=True (--force) writes the {count} tensors that were paired all the same"
        )
    return tuple(hints)


def _partners(found: Pairing) -> str:
    """What has no partner, and how to name one."""
    names = " and ".join(
        f"{listed(left, _NAMES)} of the {side}"
        for left, side in zip(found.left, ("source", "target"), strict=True)
        if left
    )
    source, target = (json.dumps(left[:1] or ["..."]) for left in found.left)
    return (
        f"no partner was found for {names}: what belongs together can be given by a map. Add lines "
        f'as {{"role": "weight", "source": {source}, "target": {target}}} to the one that save_map '
        "(--save-map) writes, and give it as map= (--map). If nothing belongs there, the two are "
        "not built alike, and parity.structure shows where"
    )


def _where(report: Report) -> str:
    """Where the two compute something else, whatever their weights."""
    if report.divergences:
        one = report.divergences[0]
        place = " ".join(filter(None, (one.candidate.layer, one.candidate.source)))
        why = ""
        if one.cause is not None:
            why = f": {one.cause.summary}"
        elif one.closest is not None:
            why = f" (closest: {one.closest.summary})"
        at = place or one.candidate.op
        return f"the target computes something else at {at}{why}; the report shows it"
    return f"the target gives something else: {'; '.join(report.worst.reasons)}"


def _other_epsilons(target: Side, found: Pairing) -> bool:
    steps = target.program.steps
    return any(
        note.startswith("epsilon: ") and "added to" not in note for note in found.notes
    ) and any(
        pair.target.in_norm and steps[pair.target.step].kind == "batch_norm" for pair in found.pairs
    )
