"""The list that a report shows: steps that are made otherwise, missing, extra or others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from parity.architecture.align import align
from parity.architecture.conv_pool import padding_text, pads_unlike
from parity.architecture.program import Program
from parity.architecture.step import FAMILIES, Step, text
from parity.architecture.unmatched_steps import Place, Places
from parity.findings import StructuralDifference
from parity.tape import Tape
from parity.windows import Geometry

_PASSED_ON = ("inputs", "over", "normalised")  # sizes that come from what is before
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
    first, second = (
        Program(tape, {pair[side]: f"output {number}" for number, pair in enumerate(outputs)})
        for side, tape in enumerate((reference, candidate))
    )
    if not (first.graph.followed and second.graph.followed):
        return ()
    pairs = align(first, second)
    places = Places(first, second, pairs)
    found: list[tuple[float, StructuralDifference]] = [
        (a, difference)
        for a, b in pairs.items()
        if places.certain(a)
        for difference in _parameters(first.steps[a], second.steps[b])
    ]
    found += [(place.at, one) for place in places.differing() for one in _steps(place)]
    ordered = [difference for _, difference in sorted(found, key=lambda item: item[0])]
    if places.unpaired:  # a product may be split among several, or a bias stand among the inputs
        ordered = [one for one in ordered if one.name != "inputs"]
    # what is passed on is reported only where nothing before differs
    return tuple(one for n, one in enumerate(ordered) if not n or one.name not in _PASSED_ON)


def _parameters(reference: Step, candidate: Step) -> Iterator[StructuralDifference]:
    """The parameters in which two paired steps differ."""
    both = {
        name: (value, candidate.parameters[name])
        for name, value in reference.parameters.items()
        if name in candidate.parameters and _differ(name, value, candidate.parameters[name])
    }
    if {"kernel", "dilation"} <= set(both) and _reach(reference) == _reach(candidate):
        return  # a kernel with zeros in its gaps
    for name, (a, b) in both.items():
        shown = text(a), text(b)
        if isinstance(a, Geometry):
            shown = padding_text(a, b), padding_text(b, a)
        message = f"{name}: {shown[0]} -> {shown[1]}"
        yield StructuralDifference(
            "parameter", reference.words, name, message, reference.site, candidate.site
        )


def _differ(name: str, reference: Any, candidate: Any) -> bool:
    if name == "inputs":
        return bool(abs(reference - candidate) > 1)  # one more may be a bias
    if isinstance(reference, Geometry):
        return pads_unlike(reference, candidate)
    if isinstance(reference, float) and isinstance(candidate, float):
        return not math.isclose(reference, candidate, rel_tol=_TOLERANCE)
    return bool(reference != candidate)


def _reach(step: Step) -> tuple[int, ...]:
    """How many pixels a window spans, by axis."""
    kernel, dilation = step.parameters["kernel"], step.parameters["dilation"]
    return tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))


def _steps(place: Place) -> Iterator[StructuralDifference]:
    """The differences at a place with steps that have no partner."""
    if place.reference and place.candidate:
        if len(place.reference) == len(place.candidate):
            for a, b in zip(place.reference, place.candidate, strict=True):
                yield from _replaced(a, b)
        return
    near = place.near
    sites = [step.site if step else None for step in near]
    for step in place.reference:
        after = f" after {near[1].words}" if near[1] else ""
        message = f"{step.words} is missing{after}"
        yield StructuralDifference("missing", step.words, "", message, step.site, sites[1])
    for step in place.candidate:
        after = f" after {near[0].words}" if near[0] else ""
        message = f"{step.words} stands{after} where the reference has none"
        yield StructuralDifference("extra", step.words, "", message, sites[0], step.site)


def _replaced(reference: Step, candidate: Step) -> Iterator[StructuralDifference]:
    if reference.kind == candidate.kind:
        yield from _parameters(reference, candidate)
    elif any({reference.kind, candidate.kind} <= family for family in FAMILIES):
        message = f"{reference.words} -> {candidate.words}"
        yield StructuralDifference(
            "other", reference.words, "", message, reference.site, candidate.site
        )
