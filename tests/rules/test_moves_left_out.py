"""A shift or a selection is named where one model alone makes it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.rules.pairs import FIRST, SECOND, compare, kinds, summaries

draw = np.random.default_rng(41)
STEPS = draw.standard_normal((4, 6, 7)).astype("f")
MEMBERS = torch.tensor([0, 2, 3])


def weighed(x: torch.Tensor, shifted: bool) -> torch.Tensor:
    """Values of the steps that an episode lasts, weighed by how likely each is reached."""
    goes_on = torch.sigmoid(x @ FIRST)[..., 0]
    if shifted:
        goes_on = torch.cat([torch.ones(len(x), 1), goes_on[:, :-1]], 1)
    return torch.cumprod(goes_on, 1)[..., None] * torch.tanh(x @ FIRST) @ SECOND


@pytest.mark.parametrize("turned", [False, True])
def test_a_shift_by_a_step(turned) -> None:
    models = lambda x: weighed(x, True), lambda x: weighed(x, False)  # noqa: E731
    report = compare(*(models[::-1] if turned else models), inputs=STEPS)
    assert kinds(report) == ["op-extra" if turned else "op-missing"]
    assert "a shift 1 step later along axis 1" in summaries(report)
    assert "test_moves_left_out.py" in summaries(report)


def attended(x: torch.Tensor, shifts: bool) -> torch.Tensor:
    """Scores of positions that are relative, brought to where each query sees them."""
    scores = torch.tanh(x @ FIRST) @ torch.tanh(x @ FIRST).transpose(1, 2)
    relative = torch.sin(x @ FIRST)
    if shifts:
        padded = torch.nn.functional.pad(relative, (1, 0))
        relative = padded.reshape(4, 7, 6)[:, 1:].reshape(4, 6, 6)
    return torch.softmax(scores + relative, -1) @ x


def test_a_relative_shift() -> None:
    report = compare(lambda x: attended(x, True), lambda x: attended(x, False), inputs=STEPS)
    assert kinds(report) == ["op-missing"] and "slice" in summaries(report)


def returns(x: torch.Tensor, members: torch.Tensor | None, costs: bool = False) -> torch.Tensor:
    """What the best members of an ensemble expect, of a state that is read in two shapes."""
    angle = torch.tanh(x @ FIRST)
    seen = torch.cos(angle[..., :1])
    far = torch.tanh(torch.cat([seen, torch.sin(angle)], -1) @ FIRST).square().sum(-1)
    if costs:
        total = -seen[..., 0] + 0.125 * far
    else:
        total = torch.cos(angle[..., 0]) - 0.125 * far
    mean = (total if members is None else total[members]).mean(0)
    return -mean if costs else mean


@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_a_selection_before_a_mean(turned, costs) -> None:
    models = lambda x: returns(x, MEMBERS), lambda x: returns(x, None, costs)  # noqa: E731
    report = compare(*(models[::-1] if turned else models), inputs=STEPS)
    assert kinds(report) == ["op-extra" if turned else "op-missing"]
    assert "a selection of 3 of 4 along axis 0" in summaries(report)


def test_a_selection_of_others_is_not_one_that_is_missing() -> None:
    report = compare(
        lambda x: returns(x, MEMBERS),
        lambda x: returns(x, torch.tensor([0, 1, 3])),
        inputs=STEPS,
    )
    assert report.verdict == "diverged" and not {"op-missing", "op-extra"} & {*kinds(report)}


def test_what_is_shifted_the_other_way_is_not_missing() -> None:
    def other(x: torch.Tensor) -> torch.Tensor:
        goes_on = torch.sigmoid(x @ FIRST)[..., 0]
        goes_on = torch.cat([goes_on[:, 1:], torch.ones(len(x), 1)], 1)
        return torch.cumprod(goes_on, 1)[..., None] * torch.tanh(x @ FIRST) @ SECOND

    report = compare(lambda x: weighed(x, True), other, inputs=STEPS)
    assert report.verdict == "diverged" and not {"op-missing", "op-extra"} & {*kinds(report)}
