"""A factor where the other multiplies by 1; values that are turned by positions like others."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.rules.pairs import FIRST, SECOND, X, compare, kinds, summaries, weights

WORDS = np.random.default_rng(9).integers(0, 9, (3, 6))
TABLE, PLACES = weights(9, 7), weights(6, 7)


@pytest.mark.parametrize("factors", [(1.0, 2.5), (2.5, 1.0)])
def test_a_factor_where_the_other_model_multiplies_by_1(factors) -> None:
    def model(factor: float):
        return lambda x: torch.tanh(TABLE[x] * factor + PLACES) @ FIRST

    report = compare(*map(model, factors), inputs=WORDS)
    assert kinds(report) == ["weight-scale"]
    said = f"{factors[1]:g} is multiplied by; the reference multiplies by {factors[0]:g}"
    assert said in summaries(report)


def test_what_is_not_multiplied_at_all_has_no_factor() -> None:
    report = compare(
        lambda x: torch.tanh(x @ FIRST) @ SECOND, lambda x: torch.tanh(x @ FIRST * 3) @ SECOND
    )
    assert kinds(report) and "multiplies by" not in summaries(report)


WAVES = weights(5, 1) * torch.linspace(1, 0.1, 6)
COS, SIN = torch.cos(WAVES), torch.sin(WAVES)


def turned(x: torch.Tensor) -> torch.Tensor:
    halves = torch.stack([-x[:, 1::2], x[:, ::2]], -1).reshape(x.shape)
    return x * COS + halves * SIN


def attends(x: torch.Tensor, values_too: bool) -> torch.Tensor:
    q, k, v = (torch.tanh(x @ one) for one in KERNELS)
    shares = torch.softmax(turned(q) @ turned(k).T, -1)
    return torch.tanh(shares @ (turned(v) if values_too else v)) @ SECOND


KERNELS = [weights(7, 6) for _ in range(3)]


def test_values_are_turned_as_query_and_key_are() -> None:
    report = compare(lambda x: attends(x, False), lambda x: attends(x, True), inputs=X)
    assert kinds(report) == ["op-extra"]
