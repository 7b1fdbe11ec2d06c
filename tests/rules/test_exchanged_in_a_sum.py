"""Two terms of a sum that have changed places are named, in whatever order each model adds."""

from __future__ import annotations

import numpy as np
import torch

from tests.rules.pairs import FIRST, compare, kinds, summaries, weights

draw = np.random.default_rng(56)
NOW, NEXT = (draw.standard_normal((8, 7)).astype("f") for _ in range(2))
DONE = (draw.uniform(size=8) > 0.6).astype("f")
REWARD, POTENTIAL, POLICY = weights(6, 1), weights(6, 1), weights(6, 3)


def parts(x: torch.Tensor, after: torch.Tensor) -> tuple[torch.Tensor, ...]:
    h, later = torch.tanh(x @ FIRST), torch.tanh(after @ FIRST)
    policy = torch.log_softmax(h @ POLICY, 1)[:, 0]
    return (h @ REWARD)[:, 0], (h @ POTENTIAL)[:, 0], (later @ POTENTIAL)[:, 0], policy


def reference(x: torch.Tensor, after: torch.Tensor, done: torch.Tensor) -> torch.Tensor:
    reward, before, later, policy = parts(x, after)
    shaped = reward + 0.9 * (1 - done) * later - before
    return torch.sigmoid(shaped - policy)


def test_two_potentials_that_are_exchanged() -> None:
    def candidate(x: torch.Tensor, after: torch.Tensor, done: torch.Tensor) -> torch.Tensor:
        reward, before, later, policy = parts(x, after)
        shaping = 0.9 * before * (1 - done) - later
        return torch.sigmoid(reward + shaping - policy)

    report = compare(reference, candidate, inputs=[NOW, NEXT, DONE])
    assert kinds(report) == ["wrong-source"] and len(report.divergences) == 1, str(report)
    assert "have changed places" in summaries(report)


def test_a_term_that_is_missing() -> None:
    def candidate(x: torch.Tensor, after: torch.Tensor, done: torch.Tensor) -> torch.Tensor:
        reward, _, later, policy = parts(x, after)
        return torch.sigmoid(reward + 0.9 * later * (1 - done) - policy)

    report = compare(reference, candidate, inputs=[NOW, NEXT, DONE])
    assert kinds(report) == ["branch-missing"], str(report)
    assert "have changed places" not in summaries(report)
