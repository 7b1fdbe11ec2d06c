"""Rules about verdicts: what was not compared is stated, and what proves nothing is no parity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity import candidate as one_candidate
from parity.diagnosis import classify, sorted_mismatches
from parity.diagnosis import verdict as judging
from parity.inputs.arrays import random_inputs
from parity.matching.fingerprint import fingerprint

from .pairs import FIRST, SECOND, SQUARE, X, compare, network, sites

# --- what is missing -----------------------------------------------------------------------------


def two_heads(x: torch.Tensor) -> dict[str, torch.Tensor]:
    h = torch.tanh(x @ FIRST)
    return {"q": h @ SECOND, "value": (h @ SQUARE).sum(1)}


def one_head(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"q": torch.tanh(x @ FIRST) @ SECOND}


@pytest.mark.parametrize("pair", [(two_heads, one_head), (one_head, two_heads)])
def test_a_missing_output_is_counted_and_printed(pair: tuple[Any, Any]) -> None:
    """An output without a partner that is skipped with a warning has PASSED."""
    report = compare(*pair)
    assert report.verdict == "unverified"
    assert report.coverage.outputs_compared == 1 and report.coverage.outputs_total == 2
    assert "'value'" in str(report) and "1 of 2 outputs compared" in str(report)


def test_a_missing_output_that_is_skipped_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    pair_outputs = one_candidate.pair_outputs
    monkeypatch.setattr(one_candidate, "pair_outputs", lambda a, b: (pair_outputs(a, b)[0], []))
    assert compare(two_heads, one_head).verdict == "parity"


def test_names_that_do_not_fit_are_not_guessed_by_position() -> None:
    """Of two outputs one has the same name; the others are reported, not paired."""

    def renamed(x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"q": two_heads(x)["q"], "baseline": two_heads(x)["value"]}

    report = compare(two_heads, renamed)
    assert report.verdict == "unverified"
    assert "'value'" in str(report) and "'baseline'" in str(report)


def test_unmatched_stages_are_printed() -> None:
    """A stage that only one model has is in the table, in its place."""

    def longer(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x @ FIRST)
        u = torch.exp(h @ SECOND)
        return u / u.sum(1, keepdim=True)

    report = compare(network, longer)
    assert report.verdict == "parity"
    assert report.coverage.values < 1
    unmatched = report.coverage.candidate_values - report.coverage.candidate_matched
    assert unmatched >= 1 and "informative values matched" in str(report)


# --- what proves nothing -------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 1.0, -2.5])
def test_constant_inputs_prove_nothing(value: float) -> None:
    """All weights seen through one number: tanh passes for the line through its point."""
    inputs = np.full((5, 7), value, "f")
    report = compare(network, lambda x: network(x), inputs=inputs)
    assert report.verdict == "unverified" and "every input is constant" in str(report)


def test_an_axis_fault_hides_behind_constant_inputs() -> None:
    """What the rule is for: two models that differ, and agree on every constant input."""

    def centred(axis: int) -> Any:
        return lambda x: {"q": torch.tanh((x - x.mean(axis, keepdim=True)) @ FIRST) + x[:, :6]}

    constant = np.full((5, 7), 0.7, "f")
    assert compare(centred(0), centred(1)).verdict == "diverged"
    assert compare(centred(0), centred(1), inputs=constant).verdict == "unverified"


def test_without_the_rule_it_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "vacuous", lambda *arguments: [])
    constant = np.full((5, 7), 0.7, "f")
    assert compare(network, lambda x: network(x), inputs=constant).verdict == "parity"


def test_positive_inputs_hide_what_signed_ones_show() -> None:
    """The inputs of these tests are signed and distinct, and so should the users' be."""
    assert (X < 0).any() and (X > 0).any() and np.unique(X).size == X.size
    assert fingerprint(X).informative and not fingerprint(np.ones_like(X)).informative
    leaky = (lambda x: torch.relu(x) @ FIRST, lambda x: torch.nn.functional.leaky_relu(x) @ FIRST)
    assert compare(*leaky, inputs=np.abs(X)).verdict == "parity"
    assert compare(*leaky, inputs=X).verdict == "diverged"


def test_inputs_that_parity_draws_are_signed_and_distinct() -> None:
    """Inputs in [0, 1) show no fault that depends on a sign."""
    drawn = random_inputs(["11,12,13"], seed=3)
    assert 0.4 < (drawn < 0).mean() < 0.6 and np.unique(drawn).size > 0.99 * drawn.size
    assert abs(float(drawn.mean())) < 0.1


def test_dead_outputs_prove_nothing() -> None:
    dead = lambda x: torch.relu(x @ FIRST - 1e3)  # noqa: E731
    report = compare(dead, lambda x: dead(x) * 1)
    assert report.verdict == "unverified"


def test_outputs_that_are_one_for_all_samples_prove_nothing() -> None:
    """After a dead ReLU only a bias is left, and what is before it may be anything."""

    def dead(inner: Any) -> Any:
        return lambda x: torch.relu(inner(x) - 100) @ SECOND + SECOND[0]

    found = compare(dead(lambda x: torch.tanh(x @ FIRST)), dead(lambda x: torch.sin(x @ FIRST)))
    assert found.verdict == "unverified"


def test_what_is_one_for_all_samples_for_a_reason_is_parity() -> None:
    """One output of two, one sample, equal samples: none of these is a dead ReLU."""

    def biased(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ FIRST - 100) @ SECOND + SECOND[0]

    both = lambda x: {"q": torch.tanh(x @ FIRST), "scale": biased(x)}  # noqa: E731
    assert compare(both, both).verdict == "parity"
    plain = lambda x: torch.tanh(x @ FIRST) @ SECOND  # noqa: E731
    assert compare(plain, plain, inputs=np.repeat(X[:1], 3, 0)).verdict == "parity"
    assert compare(biased, biased, inputs=X[:1]).verdict == "parity"
    # what goes into the dead ReLU was compared
    assert compare(biased, biased).verdict == "parity"


def test_outputs_without_inputs_prove_nothing() -> None:
    report = compare(lambda x: FIRST * 2, lambda x: FIRST + FIRST)
    assert report.verdict == "unverified"


# --- all of it, in one run -----------------------------------------------------------------------


def deep(*, first: str = "tanh", second: str = "tanh", head: int = 1, branch: float = 1.0) -> Any:
    activations = {
        "tanh": torch.tanh, "sigmoid": torch.sigmoid, "elu": torch.nn.functional.elu,
    }  # fmt: skip

    def model(x: torch.Tensor) -> dict[str, torch.Tensor]:
        h = activations[first](x @ FIRST)
        h = activations[second](h @ SQUARE)
        logits = h @ SECOND
        return {"p": torch.softmax(logits, head), "norm": torch.exp(h * branch).sum(1)}

    return model


def test_all_independent_divergences_in_one_run() -> None:
    """Fixing one fault only to be shown the next is a day's work for what one run can say."""
    report = compare(deep(), deep(first="sigmoid", second="elu", head=0))
    assert sites(report) == [("tanh", "sigmoid"), ("tanh", "elu"), ("softmax", "softmax")]
    # each was confirmed: with the reference's value substituted, what follows agrees
    assert all(found.reconverges for found in report.divergences)
    report = compare(deep(), deep(first="elu", head=0))
    assert sites(report) == [("tanh", "elu"), ("softmax", "softmax")]


def test_a_fault_downstream_is_not_a_consequence_nor_a_consequence_a_fault() -> None:
    assert len(compare(deep(), deep(first="sigmoid")).divergences) == 1
    assert sites(compare(deep(), deep(head=0))) == [("softmax", "softmax")]
    assert not compare(deep(), deep()).divergences


def test_a_search_that_stops_at_the_first_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    locate = one_candidate.locate

    def first_only(*arguments: Any) -> Any:
        mismatches, repaired = locate(*arguments)
        return mismatches[:1], repaired

    monkeypatch.setattr(one_candidate, "locate", first_only)
    report = compare(deep(), deep(first="sigmoid", second="elu", head=0))
    assert sites(report) == [("tanh", "sigmoid")]


def test_a_function_of_numpy_without_float64_is_named_without_a_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def narrow(x: Any) -> Any:
        return np.tanh(x @ FIRST.numpy()).astype("f")

    monkeypatch.setattr(
        classify, "_without_float64", lambda *_: classify.MismatchKind("no-float64")
    )
    reference = parity.wrap(lambda x: torch.tanh(x @ FIRST), framework="torch")
    found = parity.compare(reference, parity.wrap(narrow, framework="numpy"), inputs=X)
    reasons = found.comparisons[0].reasons
    assert reasons == (
        "narrow has no float64: rounding cannot be distinguished from a fault there",
    )


def test_what_no_output_shows_is_put_down_to_rounding_only_where_it_is_small() -> None:
    (found,) = compare(
        lambda x: torch.clamp(x, min=-1), lambda x: torch.clamp(x, min=-0.5)
    ).worst.divergences
    assert sorted_mismatches._as_note(found, 2e-8).kind == "no-effect"
    assert (
        sorted_mismatches._as_note(replace(found, residual=2e-8), 2e-8).kind == "constant-precision"
    )
