"""Parts of an index, shares of a mean, and a sum with a transpose, of which one half is there."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.rules.pairs import compare, kinds, summaries

own = np.random.default_rng(41)
NODES = own.standard_normal((6, 5)).astype("f")
EDGES = own.integers(0, 6, (9, 2))
OUT, SQUARE = (torch.from_numpy(own.standard_normal(s).astype("f")) for s in ((5, 4), (5, 5)))


def messages(x: torch.Tensor, edges: torch.Tensor, sender: int) -> torch.Tensor:
    sent = torch.tanh(x @ OUT)[edges[:, sender]]
    return torch.zeros(6, 4).index_add(0, edges[:, 1 - sender], sent) + torch.relu(x @ OUT)


@pytest.mark.parametrize("sender", [0, 1])
def test_senders_and_receivers_exchanged(sender: int) -> None:
    report = compare(
        lambda x, edges: messages(x, edges, sender),
        lambda x, edges: messages(x, edges, 1 - sender),
        inputs=(NODES, EDGES),
    )
    assert kinds(report) == ["operands-exchanged"]
    assert "are read in each other's place" in summaries(report)


def test_other_weights_are_no_exchange_of_an_index() -> None:
    def other(x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        sent = torch.sigmoid(x @ OUT)[edges[:, 0]]
        return torch.zeros(6, 4).index_add(0, edges[:, 1], sent) + torch.relu(x @ OUT)

    report = compare(lambda x, e: messages(x, e, 0), other, inputs=(NODES, EDGES))
    assert "each other's place" not in summaries(report)


BLEND = torch.linspace(0, 1, 5) ** 0.7


def blended(x: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    return torch.tanh((1 - share) * torch.tanh(x @ SQUARE) + share * torch.sigmoid(x)) @ OUT


def test_shares_of_a_mean_exchanged() -> None:
    def other(x: torch.Tensor) -> torch.Tensor:
        a, b = torch.tanh(x @ SQUARE), torch.sigmoid(x)
        return torch.tanh(b + BLEND * (a - b)) @ OUT

    report = compare(lambda x: blended(x, BLEND), other, inputs=NODES)
    assert kinds(report) == ["operands-exchanged"]
    assert "the shares of a weighted mean are exchanged" in summaries(report)


def test_another_share_is_none_that_is_exchanged() -> None:
    report = compare(lambda x: blended(x, BLEND), lambda x: blended(x, BLEND**2), inputs=NODES)
    assert "exchanged" not in summaries(report)


def products(x: torch.Tensor, form: str) -> torch.Tensor:
    left, change = torch.tanh(x[:, :, None] * SQUARE), torch.sin(x[:, None] * SQUARE)
    if form == "twice":
        return torch.tanh((2 * (change @ left.transpose(1, 2))) @ OUT)
    both = torch.cat([change, left], 2) @ torch.cat([left, change], 2).transpose(1, 2)
    return torch.tanh(both @ OUT)


@pytest.mark.parametrize("missing", [True, False])
def test_a_transpose_that_is_not_added(missing: bool) -> None:
    names = ("both", "twice") if missing else ("twice", "both")
    report = compare(lambda x: products(x, names[0]), lambda x: products(x, names[1]), inputs=NODES)
    assert kinds(report) == ["op-missing" if missing else "op-extra"]
    assert f"a transpose is {'not ' * missing}added here" in summaries(report)


def in_turns(x: torch.Tensor) -> torch.Tensor:
    """Two turns of a blend, of which one share is what the next turn multiplies with."""
    share = torch.linspace(0, 1, 5) ** 0.7
    for _ in range(2):
        new = torch.sigmoid(torch.relu(torch.tanh(x @ SQUARE) @ SQUARE) @ SQUARE * 0.3)
        x = (1 - share) * new + share * x
    return x


def otherwise_in_turns(x: torch.Tensor) -> torch.Tensor:
    share = torch.linspace(0, 1, 5) ** 0.7
    for _ in range(2):
        new = torch.sigmoid(torch.relu(torch.tanh(x @ SQUARE) @ SQUARE) @ SQUARE * 0.3)
        x = x + share * (new - x)
    return x


def test_shares_exchanged_in_every_turn_are_one_divergence() -> None:
    report = compare(in_turns, otherwise_in_turns, inputs=NODES)
    assert kinds(report) == ["operands-exchanged"]
    assert report.divergences[0].times == 2
