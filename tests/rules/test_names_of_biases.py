"""A bias is a leaf that is added unchanged; what is computed or joined from one is not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.rules.pairs import FIRST, SQUARE, compare, kinds, summaries, weights

X = np.random.default_rng(4).standard_normal((9, 7)).astype("f")
B, RHO, NOISE = weights(6), weights(6), weights(6)


def hidden(x: torch.Tensor) -> torch.Tensor:
    return x @ FIRST


def joined(x: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    rows = torch.cat([start.expand(1, 6), hidden(x)[:-1]])
    return torch.tanh(rows @ SQUARE)


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (lambda x: torch.tanh(hidden(x) + B.exp()), lambda x: torch.tanh(hidden(x))),
        (
            lambda x: torch.tanh(hidden(x) + (B + torch.nn.functional.softplus(RHO) * NOISE)),
            lambda x: torch.tanh(hidden(x) + B),
        ),
        (lambda x: joined(x, B), lambda x: joined(x, torch.zeros(6))),
    ],
    ids=["exp", "noise", "start"],
)
@pytest.mark.parametrize("turned", [False, True])
def test_what_is_not_added_as_it_is_is_no_bias(reference, candidate, turned) -> None:
    models = (candidate, reference) if turned else (reference, candidate)
    report = compare(*models, inputs=X)
    assert report.verdict == "diverged"
    assert "the bias " not in summaries(report)


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (lambda x: torch.tanh(hidden(x) + B), lambda x: torch.tanh(hidden(x))),
        (
            lambda x: torch.tanh(torch.nn.functional.linear(x, FIRST.T, B)),
            lambda x: torch.tanh(hidden(x)),
        ),
        (lambda x: torch.tanh(hidden(x) + B[None, :]), lambda x: torch.tanh(hidden(x))),
        (lambda x: torch.tanh(hidden(x) + (B + RHO)), lambda x: torch.tanh(hidden(x) + RHO)),
    ],
    ids=["added", "in the layer", "moved", "with another"],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_bias_that_is_not_added_is_named(reference, candidate, turned) -> None:
    models = (candidate, reference) if turned else (reference, candidate)
    assert kinds(compare(*models, inputs=X)) == ["bias-missing"]


def test_a_bias_that_was_copied_as_zeros_is_added_all_the_same() -> None:
    def layer(bias: torch.Tensor | None) -> torch.nn.Module:
        made = torch.nn.Linear(6, 6, bias=bias is not None)
        made.weight.data = SQUARE
        if bias is not None:
            made.bias.data = bias
        return made

    x = np.random.default_rng(0).standard_normal((5, 6)).astype("f")
    for candidate, kind, words in (
        (layer(torch.zeros(6)), "weight-values", "zeros are read in place of bias"),
        (layer(None), "bias-missing", "the bias bias is not added"),
    ):
        (found,) = compare(layer(torch.ones(6)), candidate, inputs=x).divergences
        assert (found.cause.kind, found.cause.summary) == (kind, words)


def test_zeros_in_place_of_a_bias_that_has_no_name_are_reported_by_its_shape() -> None:
    models = [lambda x, b=b: torch.tanh(hidden(x) + b) for b in (B, torch.zeros(6))]
    report = compare(*models, inputs=X)
    assert summaries(report) == "zeros are read in place of a bias of (6,)"


def product(bias: torch.Tensor) -> torch.nn.Module:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bias = torch.nn.Parameter(bias)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(torch.relu(hidden(x) + self.bias[:6]) + self.bias[6:])

    return Model()


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (torch.zeros(6), "zeros are read in place of a part of bias"),
        (2 * B, "twice a part of the bias bias is added"),
    ],
    ids=["zeros", "twice"],
)
def test_a_part_of_a_bias_is_not_the_bias(first, words) -> None:
    report = compare(product(torch.cat([B, RHO])), product(torch.cat([first, RHO])), inputs=X)
    assert summaries(report) == words


@pytest.mark.parametrize("turned", [False, True])
def test_zeros_that_are_added_before_a_region_are_no_missing_bias(turned) -> None:
    """What zeros are added to agrees with the sum: the addition lies outside the divergence."""

    def layer(bias: torch.Tensor) -> torch.nn.Module:
        class Model(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.bias = torch.nn.Parameter(bias)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                heads = (hidden(x) + self.bias).reshape(-1, 2, 3)
                return torch.softmax(heads @ heads.transpose(1, 2).exp(), -1)

        return Model()

    models = layer(B), layer(torch.zeros(6))
    report = compare(*(models[::-1] if turned else models), inputs=X)
    assert kinds(report) == ["weight-values"] and "zeros" in summaries(report)


@pytest.mark.parametrize(("times", "words"), [(2, "twice"), (3, "3 times")])
def test_a_bias_that_the_reference_adds_again_is_added(times, words) -> None:
    def model(times: int):
        def run(x: torch.Tensor) -> torch.Tensor:
            found = torch.nn.functional.linear(x, FIRST.T, B)
            for _ in range(times - 1):
                found = found + B
            return torch.tanh(found)

        return run

    (found,) = compare(model(times), model(1), inputs=X).divergences
    assert found.cause.kind == "bias-doubled" and found.cause.parameters == {"bias": (times, 1)}
    assert found.cause.summary.endswith(f"is added once; the reference adds it {words}")


def test_half_of_a_bias_is_half_of_it() -> None:
    report = compare(
        lambda x: torch.tanh(hidden(x) + B), lambda x: torch.tanh(hidden(x) + 0.5 * B), inputs=X
    )
    (found,) = report.divergences
    assert found.cause.parameters == {"bias": (1, 0.5)}
