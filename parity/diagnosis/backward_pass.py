"""What differs in the backward pass because it does in the forward pass is not reported again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parity.findings import Divergence
from parity.tape import Site

_TOO = "its backward pass differs there too: compare the gradients again once this is fixed"


def without_consequences(divergences: Sequence[Divergence]) -> list[Divergence]:
    """The divergences, but those of the backward pass of what differs in the forward pass.

    An operation and its derivative are one line of code. What else may be wrong in the backward
    pass of that line shows once the line is right.
    """
    forward = [one for one in divergences if not any(site.stage for site in _sites(one))]
    wrong = {place for one in forward for place in _places(one)}
    found, followed = [], set()
    for one in divergences:
        here = _places(one) & wrong if one not in forward else set()
        if here:
            followed |= here
        else:
            found.append(one)
    return [
        replace(one, detail="; ".join(filter(None, (one.detail, _TOO))))
        if one in forward and _places(one) & followed
        else one
        for one in found
    ]


def _sites(one: Divergence) -> list[Site]:
    return [one.reference, one.candidate, *one.reference_region, *one.candidate_region]


def _places(one: Divergence) -> set[tuple[str, str]]:
    return {(site.layer, site.source) for site in _sites(one) if site.layer or site.source}
