"""Softmax: its axis, temperature, logarithm, and a second one."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import parity
from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

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


SUPPORT = torch.linspace(-2.0, 3.0, 5)
ROUNDED_SUPPORT = SUPPORT * (1 + 2**-23)  # as one computes it and the other stores it
Z = values(4, 3, 5)
OUT_OF_ATOMS = tensor(values(5, 2))


def by_hand(z, axis):
    e = torch.exp(z - z.amax(axis, keepdim=True))
    return e / e.sum(axis, keepdim=True)


def expected(probabilities):
    return (probabilities * ROUNDED_SUPPORT).sum(-1)


def test_axes_of_probabilities_that_only_one_kernel_reads():
    """The expectation of one model is a product: the probabilities have no place in both."""

    def flat(z):
        return by_hand(torch.sin(z).flatten(1), 1).view_as(z) @ SUPPORT

    cause = cause_of(lambda z: expected(torch.sin(z).softmax(-1)), flat, Z)
    assert (cause.kind, cause.parameters["axis"]) == ("softmax-flattened", (-1, (1, -1)))
    cause = cause_of(flat, lambda z: expected(torch.sin(z).softmax(-1)), Z)
    assert (cause.kind, cause.parameters["axis"]) == ("softmax-flattened", ((1, -1), -1))
    cause = cause_of(
        lambda z: torch.sin(z).softmax(-1) @ SUPPORT, lambda z: expected(by_hand(z.sin(), 1)), Z
    )
    assert (cause.kind, cause.parameters["axis"]) == ("softmax-axis", (-1, 1))


def test_the_temperature_of_probabilities_that_only_one_kernel_reads():
    cause = cause_of(
        lambda z: by_hand(0.5 * torch.sin(z), -1) @ SUPPORT,
        lambda z: expected(torch.sin(z).softmax(-1)),
        Z,
    )
    assert (cause.kind, cause.parameters["temperature"]) == ("softmax-temperature", (2.0, 1.0))


def test_the_temperature_of_a_log_softmax_by_hand():
    def by_its_sum(z):
        shifted = z - z.amax(-1, keepdim=True)
        return z - (shifted.exp().sum(-1, keepdim=True).log() + z.amax(-1, keepdim=True))

    cause = cause_of(
        lambda z: by_its_sum(torch.sin(z) * 0.5), lambda z: by_its_sum(torch.sin(z)), Z
    )
    assert cause.kind == "softmax-temperature"


@pytest.mark.parametrize("swapped", [False, True])
def test_logarithms_of_probabilities_that_only_one_kernel_reads(swapped):
    models = [
        lambda z: torch.sin(z).softmax(-1) @ SUPPORT,
        lambda z: expected(torch.sin(z).softmax(-1).log()),
    ]
    assert kind(*models[:: -1 if swapped else 1], Z) == "log-softmax-vs-softmax"


def test_what_is_missing_after_a_log_softmax_is_placed_there():
    def exponential(z):
        return torch.sin(z).log_softmax(-1).exp() @ OUT_OF_ATOMS

    def logarithm(z):
        return torch.sin(z).log_softmax(-1) @ OUT_OF_ATOMS

    for models in ((exponential, logarithm), (logarithm, exponential)):
        found, _ = compared(*models, Z)
        assert found.cause.kind == "log-softmax-vs-softmax"
        assert {found.reference.op, found.candidate.op} == {"exp", "log_softmax"}


def test_a_second_softmax_says_more_than_the_exponential_in_it():
    def twice(z):
        return torch.sin(z).log_softmax(-1).exp().softmax(-1)

    assert kind(twice, lambda z: torch.sin(z).softmax(-1), Z) == "double-softmax"
    assert kind(lambda z: torch.sin(z).softmax(-1), twice, Z) == "double-softmax"


def test_another_maximum_that_is_taken_off_before_is_no_place():
    """Softmax undoes it: the models diverge where the sums are taken over other axes."""

    def flat(z):
        return by_hand(torch.sin(z).flatten(1), 1).view_as(z) @ OUT_OF_ATOMS

    def rows(z):
        return by_hand(torch.sin(z), 2) @ OUT_OF_ATOMS

    assert kind(flat, rows, Z) == "softmax-flattened"


def test_a_factor_that_happens_to_be_a_root_of_another_layers_width_is_a_temperature():
    weight = tensor(values(7, 6))

    def at(scale):
        def model(x, y):
            product = x @ y.transpose(-1, -2)  # over four numbers: the root of which is 2
            return torch.softmax(scale * torch.tanh(product @ weight), -1)

        return model

    x, y = values(5, 4), values(7, 4)
    assert kind(at(1.0), at(2.0), x, y) == "softmax-temperature"
