"""Softmax: its axis, temperature, logarithm, and a second one."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import parity
from tests.unit.causes.compared_pairs import cause_of, kind, tensor, values

X = values(5, 7)
WEIGHT = tensor(values(7, 6))
OUT = tensor(values(6, 4))


def logits(x):
    return torch.tanh(x @ WEIGHT) * 3


def test_another_axis_by_hand():
    def by_hand(x):
        e = torch.exp(logits(x))
        return (e / e.sum(0, keepdim=True)) @ OUT

    cause = cause_of(lambda x: logits(x).softmax(-1) @ OUT, by_hand, X)
    assert (cause.kind, cause.parameters["axis"]) == ("softmax-axis", (-1, 0))


def test_flattened_axes_are_stated_in_the_references_numbers():
    z = values(3, 4, 5)
    cause = cause_of(
        lambda z: torch.sin(z).softmax(-1),
        lambda z: torch.sin(z).flatten(1).softmax(1).view_as(z),
        z,
    )
    assert (cause.kind, cause.parameters["axis"]) == ("softmax-flattened", (-1, (1, -1)))


def test_probabilities_and_their_logarithms():
    def by_hand(x):
        return logits(x) - logits(x).exp().sum(-1, keepdim=True).log()

    assert kind(lambda x: logits(x).softmax(-1), by_hand, X) == "log-softmax-vs-softmax"


def test_the_temperature_is_solved_for():
    cause = cause_of(
        lambda x: (logits(x) / 0.7).softmax(-1), lambda x: F.softmax(logits(x) * 1.25, 1), X
    )
    assert (cause.kind, cause.parameters["temperature"]) == ("softmax-temperature", (0.7, 0.8))


def test_the_temperature_of_logits_that_are_masked_afterwards():
    mask = tensor(values(5, 6)) > 0

    def at(temperature):
        return lambda x: (logits(x) / temperature).masked_fill(mask, -1e9).softmax(-1) @ OUT

    cause = cause_of(at(2.0), at(0.5), X)
    assert (cause.kind, cause.parameters["temperature"]) == ("softmax-temperature", (2.0, 0.5))


def test_twice_on_either_side():
    def once(x):
        return logits(x).softmax(-1) @ OUT

    def twice(x):
        return logits(x).softmax(-1).softmax(-1) @ OUT

    assert kind(once, twice, X) == "double-softmax"
    assert kind(twice, once, X) == "double-softmax"


def test_twice_in_a_cross_entropy():
    y = torch.arange(5) % 6
    assert (
        kind(
            lambda x: F.cross_entropy(logits(x), y),
            lambda x: F.cross_entropy(logits(x).softmax(1), y),
            X,
        )
        == "double-softmax"
    )


def test_another_function_of_the_logits_is_no_softmax():
    def sparse(x):
        return F.normalize(torch.relu(logits(x)), p=1, dim=-1) @ OUT

    assert not kind(lambda x: logits(x).softmax(-1) @ OUT, sparse, X).startswith(
        ("softmax", "log-softmax", "double")
    )


@pytest.mark.parametrize("as_candidate", [True, False])
def test_flattened_on_one_side_only(as_candidate):
    def flat(x):
        return torch.tanh(x).flatten(1).softmax(1).view(-1, 3, 4) ** 2

    models = [flat, lambda x: torch.tanh(x).softmax(-1) ** 2]
    cause = cause_of(*models[:: -1 if as_candidate else 1], values(5, 3, 4))
    assert cause.kind == "softmax-flattened"
    assert cause.parameters["axis"] == ((-1, (1, -1)) if as_candidate else ((1, -1), -1))


def test_an_input_at_another_scale_is_no_temperature():
    w, x = tensor(values(6, 4)), values(5, 6)
    cause = kind(lambda x: ((x * 2) @ w).softmax(-1), lambda x: ((x * 3) @ w).softmax(-1), x)
    assert cause == "input-scale"


def test_an_input_that_a_line_of_its_own_scales_is_no_temperature():
    def prepared(by):
        def run(x):
            x = x / by
            return x.softmax(-1) @ OUT

        return run

    def tempered(by):
        return lambda x: (x / by).softmax(-1) @ OUT

    x = values(5, 6)
    assert kind(prepared(2.0), prepared(3.0), x) == "input-scale"
    assert kind(tempered(2.0), tempered(3.0), x) == "softmax-temperature"


def test_a_slope_before_softmax_is_no_temperature():
    """Only what softmax reads as it is are logits: here a maximum lies between."""
    x = values(4, 6)

    def leaky(slope):
        return lambda x: torch.softmax(torch.maximum(torch.tanh(x), slope * torch.tanh(x)), -1)

    assert kind(leaky(0.2), leaky(0.3), x) != "softmax-temperature"


def compared(reference, candidate, x):
    """The first divergence of two functions, and the row in which it ends."""
    models = (parity.wrap(one, framework="torch") for one in (reference, candidate))
    report = parity.compare(*models, inputs=x)
    return report.divergences[0], report.layers[-1]


@pytest.mark.parametrize("as_candidate", [True, False])
def test_what_a_call_transposes_inside_is_stated_as_its_line_gives_it(as_candidate):
    def transposing(x):
        y = torch.tanh(x)
        return y.transpose(1, 2).softmax(-1).transpose(1, 2)

    models = [transposing, lambda x: torch.tanh(x).softmax(-1)]
    found, row = compared(*models[:: -1 if as_candidate else 1], values(3, 4, 5))
    assert (row.reference_shape, row.candidate_shape, row.order) == ((3, 4, 5), (3, 4, 5), "same")
    axes = (-1, 1) if as_candidate else (1, -1)
    assert found.shapes == ((3, 4, 5), (3, 4, 5)) and found.order == "same"
    assert found.capture.reference.shape == (3, 4, 5)
    assert found.cause.parameters["axis"] == axes
    assert found.cause.summary.endswith(
        f"over axis {axes[1]} of (3, 4, 5); the reference takes axis {axes[0]}"
    )


def test_each_axis_is_stated_with_the_shape_that_it_is_of():
    def channels_last(x):
        y = torch.tanh(x).permute(0, 2, 3, 1)
        return y.softmax(1)

    found, row = compared(lambda x: torch.tanh(x).softmax(1), channels_last, values(2, 3, 4, 5))
    assert found.shapes == ((2, 3, 4, 5), (2, 4, 5, 3)) and found.order == row.order == "NHWC"
    assert found.cause.summary == (
        "softmax over axis 1 of (2, 4, 5, 3); the reference takes axis 1 of (2, 3, 4, 5)"
    )
