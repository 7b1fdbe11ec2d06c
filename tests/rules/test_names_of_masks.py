"""A mask hides something, before or after the softmax: what is added as 0 and 1 is no mask."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.rules.pairs import FIRST, compare, kinds, summaries, weights

SEEN = torch.ones(5, 5).tril()


def attends(x: torch.Tensor, before: bool, behind: bool) -> torch.Tensor:
    h = x @ FIRST
    scores = h @ h.T
    shares = torch.softmax(scores.masked_fill(SEEN == 0, -1e9) if before else scores, -1)
    return (shares * SEEN if behind else shares) @ h


def test_a_mask_behind_the_softmax_is_distinguished_from_none() -> None:
    reports = [
        compare(
            lambda x: attends(x, True, False), lambda x, behind=behind: attends(x, False, behind)
        )
        for behind in (False, True)
    ]
    assert [kinds(one) for one in reports] == [["attention-mask-missing"]] * 2
    assert "here is not masked" in summaries(reports[0])
    assert "not masked there, but behind it" in summaries(reports[1])


BAND = torch.ones(5, 5).tril()
STEP, TALL = torch.eye(5)[:, :1], weights(5, 6)


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (
            lambda x: torch.softmax((x @ FIRST) @ (x @ FIRST).T + BAND, -1) @ x,
            lambda x: torch.softmax((x @ FIRST) @ (x @ FIRST).T, -1) @ x,
        ),
        (lambda x: torch.tanh(x + STEP) @ FIRST, lambda x: torch.tanh(x) @ FIRST),
        (lambda x: torch.tanh(x * (1 + STEP)) @ FIRST, lambda x: torch.tanh(x) @ FIRST),
        (lambda x: torch.tanh(x @ FIRST - BAND @ TALL), lambda x: torch.tanh(x @ FIRST)),
    ],
    ids=["bonus of scores", "first step", "twice the first step", "a product of it"],
)
@pytest.mark.parametrize("turned", [False, True])
def test_what_is_added_as_0_and_1_masks_nothing(reference, candidate, turned) -> None:
    models = (candidate, reference) if turned else (reference, candidate)
    report = compare(*models)
    assert report.verdict == "diverged" and "mask" not in summaries(report)


@pytest.mark.parametrize(
    "masked",
    [
        lambda s: s + (1 - BAND) * -1e9,
        lambda s: s * BAND + (1 - BAND) * -1e9,
        lambda s: torch.where(BAND > 0, s, -1e9),
        lambda s: s + torch.log(BAND + 1e-30).clamp(min=-1e9) * 1e9,
    ],
    ids=["added", "by both", "chosen", "logarithm"],
)
def test_a_mask_in_any_form_is_named_where_it_is_missing(masked) -> None:
    def model(mask):
        return lambda x: torch.softmax(mask((x @ FIRST) @ (x @ FIRST).T), -1) @ x

    report = compare(model(masked), model(lambda scores: scores))
    assert kinds(report) == ["attention-mask-missing"]


@pytest.mark.parametrize("hidden", [-1e9, torch.finfo(torch.float32).min])
def test_logits_of_zeros_are_masked_by_any_large_constant(hidden) -> None:
    """An input of zeros shows nothing else: no difference, and no proof either."""
    allowed = torch.tensor([True, False, True, True, False, True])

    def masked(value: float):  # type: ignore[no-untyped-def]
        return lambda x: (x @ FIRST).masked_fill(~allowed, value)

    report = compare(masked(-torch.inf), masked(hidden), inputs=np.zeros((5, 7), "f"))
    assert report.verdict == "unverified" and not report.divergences
    assert compare(masked(0.5), masked(hidden), inputs=np.zeros((5, 7), "f")).verdict == "diverged"
