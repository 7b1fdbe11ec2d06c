"""The scenarios are what they say: correct pairs agree when simply called, faulty ones differ."""

from __future__ import annotations

import pytest

from benchmarks.corpus.scenarios import broken, c51, clean, layered, nature_dqn
from benchmarks.corpus.scenarios.pair import tagged_lines

ROUNDING = 2e-5  # of the largest output, float32
DIFFERS = 1e-3


@pytest.mark.parametrize("name", clean.PAIRS)
def test_a_clean_pair_agrees(name):
    assert clean.PAIRS[name]().plain_difference() < ROUNDING


@pytest.mark.parametrize("build", c51.BUILDERS)
@pytest.mark.parametrize("fault", c51.FAULTS)
@pytest.mark.parametrize(("reference", "candidate"), c51.FRAMEWORK_PAIRS)
def test_c51_with_a_fault_differs(build, reference, candidate, fault):
    assert c51.BUILDERS[build](reference, candidate, fault).plain_difference() > DIFFERS


@pytest.mark.parametrize("fault", c51.FAULTS.values(), ids=lambda fault: fault.name)
@pytest.mark.parametrize("framework", c51.FRAMEWORKS.values(), ids=c51.FRAMEWORKS)
def test_the_lines_of_a_fault_are_tagged_in_every_framework(fault, framework):
    stages = [f"stage: {stage}" for stage in fault.reference]
    assert len(tagged_lines(framework.__file__, *stages)) == len(stages)
    assert len(tagged_lines(framework.__file__, fault.candidate)) == 1 + (fault.name == "reshape")


@pytest.mark.parametrize(("reference", "candidate"), layered.PAIRS)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_softmax_layer_over_another_axis_differs(reference, candidate, axis):
    assert layered.softmax_layer_pair(reference, candidate, -1).plain_difference() < ROUNDING
    assert layered.softmax_layer_pair(reference, candidate, axis).plain_difference() > DIFFERS


@pytest.mark.parametrize("name", [n for n, c in nature_dqn.CONVERSIONS.items() if c.wrong_layers])
def test_a_wrong_conversion_differs(name):
    assert nature_dqn.conversion_pair(name).plain_difference() > DIFFERS


@pytest.mark.parametrize("frameworks", broken.FRAMEWORK_PAIRS)
def test_broken_nets_differ_only_by_their_ending(frameworks):
    assert broken.broken_pair(frameworks, ("", "")).plain_difference() < ROUNDING
    assert broken.broken_pair(frameworks, ("nan", "nan")).plain_difference() < ROUNDING
    for ending in ("zeros", "nan", "two outputs", "dropout"):
        pair = broken.broken_pair(frameworks, ("", ending))
        assert pair.plain_difference() > DIFFERS, ending
