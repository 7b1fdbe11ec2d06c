"""Seed 002: other Q-values from a dueling C51 network. Each fault is found on its line of both."""

from __future__ import annotations

import numpy as np
import pytest

from . import c51, layered
from .c51_sizes import SUPPORT

each_framework_pair = pytest.mark.parametrize(("reference", "candidate"), c51.FRAMEWORK_PAIRS)


@pytest.mark.parametrize("build", c51.BUILDERS)
@pytest.mark.parametrize("fault", c51.FAULTS)
@each_framework_pair
def test_the_fault_is_the_one_divergence(build, reference, candidate, fault):
    report = c51.BUILDERS[build](reference, candidate, fault).compare()

    assert report.verdict == "diverged"
    assert c51.FAULTS[fault].is_at(report.divergences[0], reference, candidate), str(report)
    assert len(report.divergences) == 1, str(report)


@pytest.mark.parametrize("build", c51.BUILDERS)
@each_framework_pair
def test_softmax_over_a_batch_of_one_is_found(build, reference, candidate):
    """Every probability is 1, and every Q-value the sum of the support."""
    pair = c51.BUILDERS[build](reference, candidate, "softmax-axis-0", batch=1)
    (q,) = pair.candidate.forward(pair.candidate_inputs()).values()
    assert np.allclose(q, SUPPORT.sum(), atol=1e-4)

    report = pair.compare()

    assert report.verdict == "diverged"
    fault = c51.FAULTS["softmax-axis-0"]
    assert fault.is_at(report.divergences[0], reference, candidate), str(report)


@pytest.mark.parametrize(("reference", "candidate"), layered.PAIRS)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_softmax_layer_is_told_by_its_name(reference, candidate, axis):
    report = layered.softmax_layer_pair(reference, candidate, axis).compare()

    assert report.verdict == "diverged"
    (divergence,) = report.divergences
    assert layered.is_at_softmax(divergence), str(report)


@each_framework_pair
def test_outputs_of_other_shapes_are_told(reference, candidate):
    report = c51.network_pair(reference, candidate, "expectation-axis").compare()

    assert "(5, 6)" in str(report)
    assert "(5, 51)" in str(report)
