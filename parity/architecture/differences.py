"""The list that a report shows: steps that are made otherwise, missing, extra or others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from parity.architecture.align import align
from parity.architecture.conv_pool import Windows
from parity.architecture.program import Program
from parity.architecture.step import FAMILIES, Step, text
from parity.architecture.unmatched_steps import Place, Places
from parity.findings import StructuralDifference
from parity.tape import Tape

_HANDED_ON = ("inputs", "over", "normalised")  # sizes that come from what is before
_TOLERANCE = 1e-5  # relative: 0.001 in float32 is 0.001


def structural_differences(
    reference: Tape, candidate: Tape, outputs: Sequence[tuple[int, int]] = ()
) -> tuple[StructuralDifference, ...]:
    """Where two models are made of other steps, whatever their weights are.

    Args:
        outputs: pairs of value ids that are the same output.

    Returns:
        Differences in the order of the data flow; none where nothing can be known.
    """
    ours, theirs = (
        Program(tape, {pair[side]: f"output {number}" for number, pair in enumerate(outputs)})
        for side, tape in enumerate((reference, candidate))
    )
    if not (ours.graph.followed and theirs.graph.followed):
        return ()
    pairs = align(ours, theirs)
    places = Places(ours, theirs, pairs)
    found: list[tuple[float, StructuralDifference]] = [
        (a, difference)
        for a, b in pairs.items()
        if places.certain(a)
        for difference in _parameters(ours.steps[a], theirs.steps[b])
    ]
    found += [(place.at, one) for place in places.differing() for one in _steps(place)]
    told = [difference for _, difference in sorted(found, key=lambda item: item[0])]
    if places.unpaired:  # a product may be split among several, or a bias stand among the inputs
        told = [one for one in told if one.name != "inputs"]
    # what is handed on is told only where nothing before differs
    return tuple(one for n, one in enumerate(told) if not n or one.name not in _HANDED_ON)


def _parameters(ours: Step, theirs: Step) -> Iterator[StructuralDifference]:
    """What two steps that are the same step tell of themselves, each in its own words."""
    both = {
        name: (value, theirs.parameters[name])
        for name, value in ours.parameters.items()
        if name in theirs.parameters and _differ(name, value, theirs.parameters[name])
    }
    if {"kernel", "dilation"} <= set(both) and _reach(ours) == _reach(theirs):
        return  # a kernel with zeros in its gaps
    for name, (a, b) in both.items():
        shown = text(a), text(b)
        if isinstance(a, Windows):
            shown = a.padding_beside(b), b.padding_beside(a)
        told = f"{name}: {shown[0]} -> {shown[1]}"
        yield StructuralDifference("parameter", ours.words, name, told, ours.site, theirs.site)


def _differ(name: str, ours: Any, theirs: Any) -> bool:
    if name == "inputs":
        return bool(abs(ours - theirs) > 1)  # one more may be a bias
    if isinstance(ours, Windows):
        return ours.pads_unlike(theirs)
    if isinstance(ours, float) and isinstance(theirs, float):
        return not math.isclose(ours, theirs, rel_tol=_TOLERANCE)
    return bool(ours != theirs)


def _reach(step: Step) -> tuple[int, ...]:
    """How many pixels a window spans, by axis."""
    kernel, dilation = step.parameters["kernel"], step.parameters["dilation"]
    return tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))


def _steps(place: Place) -> Iterator[StructuralDifference]:
    """What to tell of the steps without a partner at one place."""
    if place.ours and place.theirs:
        if len(place.ours) == len(place.theirs):
            for a, b in zip(place.ours, place.theirs, strict=True):
                yield from _replaced(a, b)
        return
    near = place.near
    sites = [step.site if step else None for step in near]
    for step in place.ours:
        after = f" after {near[1].words}" if near[1] else ""
        told = f"{step.words} is missing{after}"
        yield StructuralDifference("missing", step.words, "", told, step.site, sites[1])
    for step in place.theirs:
        after = f" after {near[0].words}" if near[0] else ""
        told = f"{step.words} stands{after} where the reference has none"
        yield StructuralDifference("extra", step.words, "", told, sites[0], step.site)


def _replaced(ours: Step, theirs: Step) -> Iterator[StructuralDifference]:
    if ours.kind == theirs.kind:
        yield from _parameters(ours, theirs)
    elif any({ours.kind, theirs.kind} <= family for family in FAMILIES):
        told = f"{ours.words} -> {theirs.words}"
        yield StructuralDifference("other", ours.words, "", told, ours.site, theirs.site)
