"""One model computes with zeros and ones, the other compares them: they are drawn as flags."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.rules.pairs import FIRST, SQUARE, compare, kinds, summaries, weights

draw = np.random.default_rng(51)
NODES = draw.standard_normal((4, 8, 7)).astype("f")
EDGES = (draw.random((4, 8, 8)) < 0.3).astype("f")
EDGES[:, np.arange(8), (np.arange(8) + 1) % 8] = 1  # each has a neighbour
EDGES[:, np.arange(8), np.arange(8)] = 0
BACK = weights(6, 7)


def attended(x: torch.Tensor, seen: torch.Tensor, adds: bool) -> torch.Tensor:
    h = torch.tanh(x @ FIRST)
    scores = (h @ SQUARE) @ h.transpose(1, 2)
    if adds:
        scores = scores + (1.0 - seen) * -1e9
    else:
        scores = scores.masked_fill(~(seen > 0), -torch.inf)
    return torch.softmax(scores, -1) @ h


def graph(x: torch.Tensor, edges: torch.Tensor, loops: bool, adds: bool) -> torch.Tensor:
    if loops:
        edges = torch.maximum(edges, torch.eye(8))
    return attended(torch.sin(attended(x, edges, adds) @ BACK), edges, adds)


@pytest.mark.parametrize("loops, adds", [((1, 0), True), ((1, 0), False), ((0, 1), False)])
def test_the_diagonal_is_missing_from_a_mask(loops, adds) -> None:
    report = compare(
        lambda x, edges: graph(x, edges, loops[0], adds),
        lambda x, edges: graph(x, edges, loops[1], not adds),
        inputs=(NODES, EDGES),
    )
    assert kinds(report) == ["op-missing" if loops[0] else "op-extra"]
    assert "maximum" in summaries(report)


@pytest.mark.parametrize("loops", [True, False])
def test_masks_that_hide_the_same_are_equal(loops) -> None:
    report = compare(
        lambda x, edges: graph(x, edges, loops, True),
        lambda x, edges: graph(x, edges, loops, False),
        inputs=(NODES, EDGES),
    )
    assert report.verdict == "parity"


def test_another_diagonal_is_not_one_that_is_missing() -> None:
    def shifted(x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        return graph(x, torch.maximum(edges, torch.eye(8).roll(2, 0)), False, False)

    report = compare(lambda x, edges: graph(x, edges, True, True), shifted, inputs=(NODES, EDGES))
    assert report.verdict == "diverged"
    assert not {"op-missing", "op-extra", "attention-mask-missing"} & {*kinds(report)}
