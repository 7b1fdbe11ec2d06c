"""Positions that are looked up, from another number on; words that are moved are no positions."""

from __future__ import annotations

import numpy as np
import torch

from tests.rules.pairs import compare, kinds, summaries, weights

WORDS = np.random.default_rng(8).integers(1, 9, (3, 6))
WORDS[1, 4:] = 0
TABLE, OUT = weights(12, 5), weights(5, 4)


def embedded(words: torch.Tensor, start: int, of_words: int = 0) -> torch.Tensor:
    seen = (words != 0).long()
    places = seen.cumsum(1) * seen + start
    return torch.tanh(TABLE[places] + torch.sin(TABLE[words + of_words])) @ OUT


def test_positions_from_another_number() -> None:
    report = compare(lambda x: embedded(x, 1), lambda x: embedded(x, 3), inputs=WORDS)
    assert kinds(report) == ["position-ids"]
    assert "positions are counted +2 from the reference's" in summaries(report)


def test_words_are_no_positions() -> None:
    report = compare(lambda x: embedded(x, 1), lambda x: embedded(x, 1, 2), inputs=WORDS)
    assert report.verdict == "diverged" and "position-ids" not in kinds(report)
