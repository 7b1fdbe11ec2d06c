"""Vacuous and broken models: never parity, and the message says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import torch

from benchmarks.corpus.scenarios import broken
from benchmarks.corpus.scenarios.pair import place_of, tagged_lines

each_framework_pair = pytest.mark.parametrize("frameworks", broken.FRAMEWORK_PAIRS)


@each_framework_pair
def test_a_candidate_that_returns_zeros_diverges(frameworks):
    assert broken.broken_pair(frameworks, ("", "zeros")).compare().verdict == "diverged"


@each_framework_pair
def test_two_models_that_return_zeros_are_unverified(frameworks):
    report = broken.broken_pair(frameworks, ("zeros", "zeros")).compare()

    assert report.verdict == "unverified"
    assert "zero" in str(report) or "informative" in str(report)


@each_framework_pair
@pytest.mark.parametrize("biases", [True, False])
def test_an_input_of_zeros_is_no_evidence(frameworks, biases):
    """With biases the outputs are not zero, but the first kernel has no part in them."""
    report = broken.broken_pair(frameworks, ("", ""), zero_input=True, biases=biases).compare()

    assert report.verdict == "unverified"
    assert "input" in str(report)


@each_framework_pair
@pytest.mark.parametrize("endings", [("two outputs", "one output"), ("one output", "two outputs")])
def test_an_output_missing_on_one_side_is_reported_by_name(frameworks, endings):
    report = broken.broken_pair(frameworks, endings).compare()

    assert report.verdict != "parity"
    assert "value" in str(report)


@each_framework_pair
@pytest.mark.parametrize("side", [0, 1])
def test_nan_on_one_side_diverges_where_it_arises(frameworks, side):
    endings = ("", "nan") if side else ("nan", "")
    report = broken.broken_pair(frameworks, endings).compare()

    assert report.verdict == "diverged"
    site = report.divergences[0].candidate if side else report.divergences[0].reference
    assert place_of(site) in tagged_lines(broken.__file__, "fault: nan")
    assert "nan" in str(report).lower()


@each_framework_pair
def test_nan_at_the_same_places_is_no_divergence(frameworks):
    report = broken.broken_pair(frameworks, ("nan", "nan")).compare()

    assert report.verdict == "parity", str(report)


@each_framework_pair
def test_random_layers_on_both_sides_are_compared_with_the_same_draws(frameworks):
    np.random.seed(0)
    torch.manual_seed(0)
    tf.random.set_seed(0)
    report = broken.broken_pair(frameworks, ("dropout", "dropout")).compare()

    assert report.verdict == "parity", str(report)
    assert [note.kind for note in report.worst.notes if note.kind == "random"] == ["random"]
    assert "draws paired" in " ".join(str(report).split())


@each_framework_pair
@pytest.mark.parametrize("endings", [("", "dropout"), ("dropout", "")])
def test_a_random_layer_on_one_side_is_reported(frameworks, endings):
    report = broken.broken_pair(frameworks, endings).compare()

    assert report.verdict != "parity"
    assert "dropout" in str(report) or "random" in str(report)
