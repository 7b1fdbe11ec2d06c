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


@pytest.mark.parametrize("turned", [False, True])
def test_cut_off_on_the_other_side(turned: bool) -> None:
    def error(x: torch.Tensor, above: bool) -> torch.Tensor:
        x = torch.sin(x @ SQUARE)
        x = x.clamp(max=0.25) if above else torch.maximum(x, torch.tensor(0.25))
        return torch.tanh(x) @ OUT

    report = compare(lambda x: error(x, not turned), lambda x: error(x, turned), inputs=NODES)
    assert kinds(report) == ["operands-exchanged"]
    words = ("from above", "from below")[:: -1 if turned else 1]
    assert f"cut off {words[1]} at 0.25; the reference cuts off {words[0]}" in summaries(report)


def test_copies_are_tiled_or_repeated_also_where_both_counts_are_equal() -> None:
    frames = own.standard_normal((5, 4, 6)).astype("f")

    def upsampled(x: torch.Tensor, tiled: bool) -> torch.Tensor:
        x = torch.tanh(x)
        x = x.repeat(1, 4, 1) if tiled else x.repeat_interleave(4, 1)
        return torch.cumsum(x, 1) * torch.linspace(1, 2, 6)

    report = compare(lambda x: upsampled(x, False), lambda x: upsampled(x, True), inputs=frames)
    assert kinds(report) == ["axis-order"]
    assert "are tiled along axis 1" in summaries(report)


def test_an_axis_of_zero_is_said_in_a_formula() -> None:
    images = own.standard_normal((3, 1, 6, 6)).astype("f")
    kernels = torch.from_numpy(own.standard_normal((4, 9)).astype("f"))

    def blurred(x: torch.Tensor, by_kernel: bool) -> torch.Tensor:
        shares = kernels.exp() / kernels.exp().sum(1, keepdim=True)
        shares = shares if by_kernel else torch.softmax(kernels, 0)
        return torch.tanh(torch.conv2d(x, shares.reshape(4, 1, 3, 3)))

    report = compare(lambda x: blurred(x, True), lambda x: blurred(x, False), inputs=images)
    (cause,) = [one.cause for one in report.divergences if one.cause]
    assert "softmax(a, axis=0)" in cause.parameters["formula"][1]
