"""What one model alone reads, or computes of what is stored, is named where it belongs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tests.rules.pairs import FIRST, SECOND, SQUARE, compare, kinds, summaries, weights

draw = np.random.default_rng(51)
MEAN, SCALE = weights(7, 6), weights(7, 6)
NOISE = weights(7), weights(6)
STEPS = draw.standard_normal((5, 8, 7)).astype("f")


def root(x):
    return x.sign() * x.abs().sqrt()


class Noisy(nn.Module):
    def __init__(self, *forms, by_the_host: bool = False) -> None:
        super().__init__()
        self.mean, self.scale = nn.Parameter(MEAN), nn.Parameter(SCALE)
        self.rows, self.columns = nn.Buffer(NOISE[0]), nn.Buffer(NOISE[1])
        self.forms, self.by_the_host = forms, by_the_host

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = [form(one) for form, one in zip(self.forms, (self.rows, self.columns), strict=True)]
        noise = torch.outer(*made)
        if self.by_the_host:
            noise = torch.from_numpy(noise.detach().numpy().copy())
        return torch.tanh(x @ (self.mean + self.scale * noise))


def as_it_is(x):
    return x


@pytest.mark.parametrize("by_the_host", [False, True])
def test_noise_without_its_transform(by_the_host) -> None:
    report = compare(Noisy(root, root, by_the_host=by_the_host), Noisy(root, as_it_is))
    assert kinds(report) == ["op-missing"] and "columns" in summaries(report)
    assert "other numbers" not in summaries(report)


def test_noise_that_is_transformed_though_the_reference_does_not() -> None:
    report = compare(Noisy(as_it_is, as_it_is), Noisy(root, root))
    assert kinds(report) == ["op-extra"]


def test_other_noise_has_no_transform_that_is_missing() -> None:
    report = compare(Noisy(root, root, by_the_host=True), Noisy(root, torch.sin))
    assert report.verdict == "diverged" and not kinds(report)


def summed(x: torch.Tensor, masked: bool, at_once: bool = True) -> torch.Tensor:
    """Log-probabilities of the parts of an action, by how much each step counts."""
    counts = torch.sigmoid(x[..., 0])
    parts = [torch.log_softmax(x @ FIRST, -1)[..., i] * (i + 1) for i in range(3)]
    if at_once:
        made = torch.stack(parts).sum(0)
        return (made * counts if masked else made).sum(1)
    total = 0.0
    for part in parts:
        total = total + (part * counts if masked else part).sum(1)
    return total


def test_a_factor_in_a_sum_that_is_written_otherwise() -> None:
    models = lambda x: summed(x, True, at_once=False), lambda x: summed(x, False)  # noqa: E731
    report = compare(*models, inputs=STEPS)
    assert kinds(report) == ["branch-missing"] and "mul by" in summaries(report)
    assert len(report.divergences) == 1
    report = compare(*models[::-1], inputs=STEPS)
    assert "op-extra" in {one.cause and one.cause.kind for one in report.divergences}


def test_another_factor_is_none_that_is_missing() -> None:
    def other(x: torch.Tensor) -> torch.Tensor:
        parts = [torch.log_softmax(x @ FIRST, -1)[..., i] * (i + 1) for i in range(3)]
        return (torch.stack(parts).sum(0) * torch.cos(x[..., 1])).sum(1)

    report = compare(lambda x: summed(x, True, at_once=False), other, inputs=STEPS)
    assert report.verdict == "diverged" and "branch-missing" not in kinds(report)


AFTER = weights(8, 4)


def expected(x: torch.Tensor, kind: str) -> torch.Tensor:
    values = torch.tanh(x @ FIRST)
    if kind == "weighed":
        return torch.tanh((values * torch.softmax(values, -1)).sum(-1) @ AFTER)
    return torch.tanh(getattr(values, kind)(-1) @ AFTER)


@pytest.mark.parametrize(
    "kinds_of", [("weighed", "amax"), ("weighed", "mean"), ("amax", "weighed")]
)
def test_a_greatest_value_in_the_place_of_the_expected_one(kinds_of) -> None:
    models = [lambda x, kind=kind: expected(x, kind) for kind in kinds_of]
    report = compare(*models, inputs=STEPS)
    assert kinds(report) == ["reduction-kind"] and "weighed mean" in summaries(report)


def rows(x: torch.Tensor, grows: bool) -> torch.Tensor:
    """A triangle of a matrix, row by row."""
    entries, found, at = x @ FIRST, [], 0
    for i in range(3):
        last = entries[:, at + i : at + i + 1].clamp(-2, 1)
        last = last.exp() if grows else last
        found.append(torch.cat([entries[:, at : at + i], last, torch.zeros(len(x), 2 - i)], 1))
        at += i + 1
    return torch.stack(found, 1) @ SQUARE_OF_ROWS


SQUARE_OF_ROWS = weights(3, 4)
PLACES = torch.tril_indices(3, 3)


def at_once(x: torch.Tensor, grows: bool, places: torch.Tensor = PLACES) -> torch.Tensor:
    """The same with all entries put there together."""
    whole = torch.zeros(len(x), 3, 3)
    whole[:, places[0], places[1]] = x @ FIRST
    last = torch.diagonal(whole, dim1=1, dim2=2).clamp(-2, 1)
    last = last.exp() if grows else last
    return (torch.tril(whole, -1) + torch.diag_embed(last)) @ SQUARE_OF_ROWS


def test_what_a_line_misses_in_each_of_its_turns() -> None:
    report = compare(lambda x: rows(x, True), lambda x: at_once(x, False))
    assert kinds(report) == ["op-missing"] and "exp is missing here, in 3 places" in summaries(
        report
    )
    report = compare(lambda x: at_once(x, False), lambda x: rows(x, True))
    assert kinds(report) == ["op-extra"] and "in 3 places" in summaries(report)


def test_a_triangle_that_is_filled_by_columns() -> None:
    by_columns = torch.triu_indices(3, 3).flip(0)
    report = compare(lambda x: rows(x, True), lambda x: at_once(x, True, by_columns))
    assert kinds(report) == ["flatten-order"]
    assert "(0, 0), (1, 0), (2, 0)" in summaries(report)


def test_a_triangle_on_the_other_side_is_no_other_order() -> None:
    upper = PLACES.flip(0)
    report = compare(lambda x: rows(x, True), lambda x: at_once(x, True, upper))
    assert report.verdict == "diverged" and "flatten-order" not in kinds(report)


def pooled(x: torch.Tensor, by_steps: bool, before: bool = True) -> torch.Tensor:
    """The sums of the last three steps, of each."""
    x = torch.tanh(x @ FIRST)
    if by_steps:
        sums = [x[:, max(0, t - 2) : t + 1].sum(1) for t in range(x.shape[1])]
        return torch.stack([torch.tanh(one @ SECOND) for one in sums], 1)
    padded = nn.functional.pad(x, (0, 0, 2, 0) if before else (0, 0, 0, 2))
    return torch.tanh(sum(padded[:, i : i + x.shape[1]] for i in range(3)) @ SECOND)


def test_a_padding_at_the_other_end() -> None:
    report = compare(lambda x: pooled(x, True), lambda x: pooled(x, False, False), inputs=STEPS)
    assert kinds(report) == ["padding-asymmetry"] and "pads it before" in summaries(report)


def moved(x: torch.Tensor, by_steps: bool, before: bool = True) -> torch.Tensor:
    """How far each step goes into the direction of some steps before."""
    goals, x = torch.tanh(x @ FIRST), torch.sin(x @ FIRST)
    total, steps = 0.0, x.shape[1]
    if by_steps:
        found = []
        for t in range(steps):
            r = torch.zeros(len(x))
            for i in range(1, min(t, 2) + 1):
                r = r + torch.tanh((x[:, t] - x[:, t - i]) * goals[:, t - i]).sum(-1)
            found.append(r)
        return torch.stack(found, 1)
    for i in (1, 2):
        of = goals[:, :-i] if before else goals[:, i:]
        made = torch.tanh((x[:, i:] - x[:, :-i]) * of).sum(-1)
        total = total + nn.functional.pad(made, (i, 0))
    return total


def test_a_part_at_the_other_end() -> None:
    report = compare(lambda x: moved(x, True), lambda x: moved(x, False, False), inputs=STEPS)
    assert kinds(report) == ["index-value"] and "the reference reads the first" in summaries(report)


def test_the_number_and_the_line_of_what_is_missing_are_said():
    def halved(x):
        h = torch.tanh(x @ FIRST)
        return torch.log(1 + h * h) * 0.5 + h @ SQUARE

    def whole(x):
        h = torch.tanh(x @ FIRST)
        return torch.log(1 + h * h) + h @ SQUARE

    words = summaries(compare(halved, whole))
    assert (
        "mul by 0.5 at test_what_one_model_alone_computes.py:" in words
        and "is missing here" in words
    )
    words = summaries(compare(whole, halved))
    assert (
        "mul by 0.5 at test_what_one_model_alone_computes.py:" in words
        and "is applied here" in words
    )
