"""An activation is missing where it is nowhere: not where it comes later, or was half a formula."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from tests.rules.pairs import FIRST, SQUARE, compare, kinds, summaries


def gated(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x.mean(-1, keepdim=True) @ SQUARE[:1])


@pytest.mark.parametrize("turned", [False, True])
def test_an_activation_at_another_place_is_not_missing(turned) -> None:
    models = (
        lambda x: gated(F.hardswish(x @ FIRST)) @ SQUARE,
        lambda x: F.hardswish(gated(x @ FIRST)) @ SQUARE,
    )
    words = summaries(compare(*(models[::-1] if turned else models)))
    assert "no hard_swish" not in words and "no activation" not in words


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (lambda x: gated(F.hardswish(x @ FIRST)) @ SQUARE, lambda x: gated(x @ FIRST) @ SQUARE),
        (
            lambda x: F.relu(F.elu(x @ FIRST) @ SQUARE),
            lambda x: F.relu(x @ FIRST @ SQUARE),
        ),
        (
            lambda x: F.relu(F.relu(x @ FIRST) + x[:, :6]),
            lambda x: F.relu(x @ FIRST + x[:, :6]),
        ),
        (
            lambda x: torch.log1p(torch.exp(x @ FIRST)) @ SQUARE,
            lambda x: x @ FIRST @ SQUARE,
        ),
    ],
    ids=["before a gate", "before a layer", "before a sum", "written out"],
)
@pytest.mark.parametrize("turned", [False, True])
def test_an_activation_that_is_missing_is_named(reference, candidate, turned) -> None:
    models = (candidate, reference) if turned else (reference, candidate)
    report = compare(*models)
    assert kinds(report) == ["activation-extra" if turned else "activation-missing"]
    assert "further on" not in summaries(report)


@pytest.mark.parametrize("turned", [False, True])
def test_one_that_others_apply_to_what_is_read_is_not_further_on(turned) -> None:
    def heads(x: torch.Tensor, second: bool) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = x @ FIRST
        active = F.relu(hidden)
        return active @ SQUARE, (active if second else hidden) @ SQUARE.T

    models = (lambda x: heads(x, True), lambda x: heads(x, False))
    report = compare(*(models[::-1] if turned else models))
    assert kinds(report) == ["activation-extra" if turned else "activation-missing"]
    assert "further on" not in summaries(report)


def test_one_more_beside_one_that_both_apply() -> None:
    report = compare(
        lambda x: F.relu(x @ FIRST) @ SQUARE,
        lambda x: (F.relu(x @ FIRST) + F.relu(-(x @ FIRST))) @ SQUARE,
    )
    assert report.verdict == "diverged" and "no activation" not in summaries(report)


def test_another_alpha_is_said_to_be_one() -> None:
    report = compare(lambda x: F.elu(x @ FIRST), lambda x: F.elu(x @ FIRST, 0.5))
    assert summaries(report) == "elu with alpha 0.5; the reference has 1.0"


def test_half_of_a_curve_is_none() -> None:
    def held(x: torch.Tensor, exact: bool) -> torch.Tensor:
        rate = -torch.exp(x @ FIRST)
        return ((torch.exp(rate) - 1) if exact else rate) @ SQUARE

    report = compare(lambda x: held(x, True), lambda x: held(x, False))
    assert report.verdict == "diverged" and "elu" not in summaries(report)


def test_one_that_is_applied_once_and_not_twice_is_there() -> None:
    for curve in (torch.tanh, F.leaky_relu):
        report = compare(
            lambda x, curve=curve: curve(curve(x @ FIRST)) @ SQUARE,
            lambda x, curve=curve: curve(x @ FIRST) @ SQUARE,
        )
        assert kinds(report) == ["activation-missing"]
        assert "fewer here than the reference applies" in summaries(report)


GATE = torch.tensor(0.8)


def test_a_learned_factor_that_lacks_its_activation() -> None:
    def gated_by(gate: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return x @ FIRST + gate * torch.sin((x @ FIRST) @ SQUARE)

    def plain(x: torch.Tensor) -> torch.Tensor:
        return gated_by(GATE, x)

    def through_tanh(x: torch.Tensor) -> torch.Tensor:
        return gated_by(GATE.tanh(), x)

    held = GATE.tanh()
    missing, extra = compare(through_tanh, plain), compare(plain, through_tanh)
    assert (kinds(missing), kinds(extra)) == (["activation-missing"], ["activation-extra"])
    assert "does not go through tanh" in summaries(missing)
    # a number that merely is the curve's, which nothing computes
    assert kinds(compare(lambda x: gated_by(held, x), plain)) == ["weight-scale"]
