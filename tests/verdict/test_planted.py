"""Small planted faults are found and located; without the fault there is parity."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

import pytest

from benchmarks.verdict.inputs import draw
from benchmarks.verdict.planted import DIRECTIONS, KINDS

CASES = [
    pytest.param(kind, two, id=f"{kind.name}, {' to '.join(two)}")
    for kind, two in zip(KINDS, cycle(DIRECTIONS), strict=False)
]


def report_on(kind, two, size):
    pair = kind.build(*two, size)
    ((_, inputs),) = draw(pair.inputs, 1, kind.styles)
    return replace(pair, inputs=inputs).compare()


@pytest.mark.parametrize(("kind", "two"), CASES)
def test_a_small_fault_is_found_and_placed(kind, two):
    report = report_on(kind, two, kind.size)

    assert report.verdict == "diverged", str(report)
    first = report.divergences[0]
    assert kind.is_at(first.reference, first.candidate), str(report)
    assert len(report.divergences) == 1


@pytest.mark.parametrize(("kind", "two"), CASES)
def test_without_the_fault_there_is_parity(kind, two):
    report = report_on(kind, two, 0.0)

    assert report.verdict == "parity", str(report)


@pytest.mark.parametrize("two", DIRECTIONS, ids=" to ".join)
def test_a_faint_fault_before_maps_of_one_length_is_found(two):
    """What is near lies in one order of axes, though with axes of one length others would fit."""
    kind = next(kind for kind in KINDS if kind.name == "pixels over 256 for 255")
    pair = kind.build(*two, kind.size)
    *_, (style, inputs) = draw(pair.inputs, 6, kind.styles)
    assert style == "a constant example"

    report = replace(pair, inputs=inputs).compare()

    assert report.verdict == "diverged", str(report)
    first = report.divergences[0]
    assert kind.is_at(first.reference, first.candidate), str(report)
    assert first.cause is not None and first.cause.kind == "input-scale"
