"""Another part of a value is read than the reference's, or a value that is filled, or another."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from tests.rules.pairs import FIRST, SECOND, SQUARE, compare, kinds, summaries, weights

random = np.random.default_rng(8)
STEPS = random.standard_normal((4, 6, 7)).astype("f")
OUT = weights(10, 3)


class LastStates(nn.Module):
    """A classifier of what both directions have read."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.lstm = nn.LSTM(7, 5, batch_first=True, bidirectional=True)
        self.out = nn.Linear(10, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _, (h, _) = self.lstm(x)
        return self.out(torch.cat([h[0], h[1]], -1))


class LastStep(LastStates):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.lstm(x)[0][:, -1])


def test_the_last_step_of_both_directions() -> None:
    report = compare(LastStates().eval(), LastStep().eval(), inputs=STEPS)
    assert kinds(report) == ["wrong-source"]
    assert "[:, -1] is read; the reference reads" in summaries(report)


def matched(x: torch.Tensor, step: int) -> torch.Tensor:
    """Each step beside one of them, as the last one of a forward pass."""
    states = torch.tanh(x @ FIRST)
    left, right = states.chunk(2, -1)
    return (left * right[:, step : step + 1 or None]) @ OUT[:3]


def test_the_last_step_for_the_first_of_half_the_channels() -> None:
    report = compare(lambda x: matched(x, 0), lambda x: matched(x, -1), inputs=STEPS)
    assert kinds(report) == ["index-value"]
    assert "index -1 of axis 1 of" in summaries(report)
    assert "the reference reads index 0" in summaries(report)


def smoothed(x: torch.Tensor, start: torch.Tensor, first: int) -> torch.Tensor:
    level = start
    for step in range(first, x.shape[1]):
        level = level + 0.3 * (x[:, step] - level)
    return torch.tanh(level @ FIRST) @ SECOND


def test_a_mean_that_starts_from_zeros() -> None:
    report = compare(
        lambda x: smoothed(x, x[:, 0], 1),
        lambda x: smoothed(x, torch.zeros_like(x[:, 0]), 0),
        inputs=STEPS,
    )
    assert kinds(report) == ["wrong-source"]
    assert "what is read is zeros; the reference reads the input '0'[:, 0]" in summaries(report)


def paired(x: torch.Tensor, exchanged: bool) -> torch.Tensor:
    """Every step beside every other."""
    states = torch.tanh(x @ FIRST)
    ours, theirs = states[:, :, None], states[:, None]
    both = [ours.expand(4, 6, 6, 6), theirs.expand(4, 6, 6, 6)]
    return torch.tanh(torch.cat(both[::-1] if exchanged else both, -1) @ PAIRS).mean(2)


PAIRS = weights(12, 4)


def test_two_that_are_each_other_transposed_are_joined_in_the_other_order() -> None:
    report = compare(lambda x: paired(x, False), lambda x: paired(x, True), inputs=STEPS)
    assert kinds(report) == ["concat-order"]


def hidden(x: torch.Tensor, tokens: torch.Tensor, others: torch.Tensor, own: bool) -> torch.Tensor:
    mask = (tokens if own else others) > 0
    scores = torch.where(mask[:, None], x @ x.transpose(1, 2), torch.tensor(-1e7))
    return torch.softmax(scores, -1) @ x


def test_another_mask_is_another_value_that_is_read() -> None:
    """Not a formula: each side reads one value."""
    tokens, others = (random.integers(0, 3, (4, 6)) for _ in range(2))
    tokens[:, 0] = others[:, 1] = 1
    report = compare(
        lambda *given: hidden(*given, True),
        lambda *given: hidden(*given, False),
        inputs=(STEPS, tokens, others),
    )
    assert kinds(report) == ["wrong-source"]


def test_an_offset_of_the_index_that_is_missing() -> None:
    """All graphs of a batch read the nodes of the first."""
    index = random.integers(0, 3, (4, 3, 2))

    def gathered(x: torch.Tensor, index: torch.Tensor, offset: bool) -> torch.Tensor:
        nodes = torch.tanh(x @ FIRST).reshape(12, 6)
        first = torch.arange(4)[:, None, None] * 3
        return nodes[((index + first) if offset else index).reshape(12, 2)].sum(1) @ SECOND

    report = compare(
        lambda *given: gathered(*given, True),
        lambda *given: gathered(*given, False),
        inputs=(STEPS[:, :3], index),
    )
    assert kinds(report) == ["op-missing"]
    assert "add of" in summaries(report)


def test_an_axis_of_a_maximum_is_simpler_than_another_split_of_what_it_is_of() -> None:
    """Over the pedestrian itself, of pairs that lie in one row."""

    def pooled(x: torch.Tensor, axis: int) -> torch.Tensor:
        y = torch.tanh(x @ FIRST)
        pairs = torch.relu(y[:, None] + 2 * y[:, :, None]).reshape(64, 6)
        return (pairs @ SQUARE).reshape(4, 4, 4, 6).amax(axis) @ SECOND

    report = compare(lambda x: pooled(x, 2), lambda x: pooled(x, 1), inputs=STEPS[:, :4])
    assert kinds(report) == ["reduction-axis"]
