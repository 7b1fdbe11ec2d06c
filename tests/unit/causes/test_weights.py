"""Weights that hold other values."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from parity.diagnosis.causes import weights
from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

X, WEIGHT, BIAS = values(5, 7), values(7, 6), values(6)
SQUARE = values(6, 6)


def dense(weight=WEIGHT, bias=BIAS):
    weight = tensor(weight)
    if bias is None:
        return lambda x: torch.tanh(torch.tanh(x) @ weight) * 2
    bias = tensor(bias)
    return lambda x: torch.tanh(torch.tanh(x) @ weight + bias) * 2


def test_a_bias_that_is_missing_or_added_twice():
    assert kind(dense(), dense(bias=None), X) == "bias-missing"
    assert kind(dense(), dense(bias=2 * BIAS), X) == "bias-doubled"


def test_a_bias_of_other_values():
    assert kind(dense(), dense(bias=values(6, scale=2.0)), X) == "weight-values"


@pytest.mark.parametrize("factor", [0.5, -1.0, 0.0125])
def test_a_weight_of_another_scale(factor):
    cause = cause_of(dense(), dense(weight=np.float32(factor) * WEIGHT), X)
    assert cause.kind == "weight-scale"
    assert cause.parameters["scale"] == (1.0, factor)


@pytest.mark.parametrize("way", [lambda x, by: x * by, lambda x, by: x / (1 / by)])
def test_a_value_at_another_scale(way):
    def model(by):
        return lambda x: torch.relu(way(torch.tanh(x @ tensor(WEIGHT)), by) @ tensor(SQUARE))

    cause = cause_of(model(0.4), model(0.4004), X)
    assert cause.kind == "weight-scale"
    assert cause.parameters["factor"] == (0.4, 0.4004)
    # a number that the candidate has not is no factor of its
    assert kind(model(0.4), lambda x: 1.001 * model(0.4)(x), X) != "weight-scale"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_rounded_weight(dtype):
    rounded = torch.from_numpy(WEIGHT).to(getattr(torch, dtype)).float().numpy()
    cause = cause_of(dense(), dense(weight=rounded), X)
    assert (cause.kind, cause.parameters["dtype"][1]) == ("weight-precision", dtype)


def test_weights_of_two_layers_swapped():
    one, two = values(7, 7), values(7, 7, scale=0.5)

    def model(first, second):
        first, second = tensor(first), tensor(second)
        return lambda x: torch.tanh(torch.sigmoid(torch.tanh(x) @ first) @ second)

    assert kind(model(one, two), model(two, one), X) == "weight-swapped"


def test_one_row_of_other_values():
    other = WEIGHT.copy()
    other[2] += 1
    cause = cause_of(dense(), dense(weight=other), X)
    assert cause.kind == "weight-values"
    assert "6 of 42 differ" in cause.summary


def test_equal_weights_under_another_function_are_no_weights():
    weight = tensor(WEIGHT)
    assert kind(
        lambda x: torch.tanh(x) @ weight + 1, lambda x: torch.tanh(x) ** 3 @ weight + 1, X
    ) not in {"weight-values", "weight-scale", "weight-swapped", "weight-precision"}


@pytest.mark.parametrize("outputs", [1, 6])
@pytest.mark.parametrize("as_candidate", [True, False])
def test_a_bias_on_one_side_only(outputs, as_candidate):
    w, b, x = tensor(values(outputs, 5)), tensor(values(outputs)), values(4, 5)
    models = [lambda x: F.linear(x, w, b), lambda x: F.linear(x, w)]
    cause = cause_of(*models[:: -1 if as_candidate else 1], x)
    assert cause.kind == "bias-missing"
    assert cause.parameters["bias"] == ((0, 1) if as_candidate else (1, 0))


def test_a_bias_of_which_the_reference_adds_twice_as_much():
    w, b, x = tensor(values(6, 5)), tensor(values(6)), values(4, 5)
    twice = 2 * b
    cause = cause_of(lambda x: F.linear(x, w, twice), lambda x: F.linear(x, w, b), x)
    assert (cause.kind, cause.parameters["bias"]) == ("bias-doubled", (1, 0.5))


def test_a_bias_at_another_scale_is_no_bias_twice():
    w, b, x = tensor(values(6, 5)), tensor(values(6)), values(4, 5)
    other = 3 * b
    assert kind(lambda x: F.linear(x, w, b), lambda x: F.linear(x, w, other), x) == "weight-scale"


def test_the_reference_is_rounded():
    w, x = tensor(values(6, 5)), values(4, 5)
    rounded = w.half().float()
    cause = cause_of(lambda x: F.linear(x, rounded), lambda x: F.linear(x, w), x)
    assert (cause.kind, cause.parameters["dtype"]) == ("weight-precision", ("float16", "float32"))


def test_of_many_values_not_every_pair_is_exchanged(monkeypatch):
    """Forty values have 780 pairs, and each costs a run of all that reads them."""
    tried = []
    monkeypatch.setattr(weights, "gives", lambda case, predict: bool(tried.append(predict)))
    monkeypatch.setattr(weights, "_with_weight", lambda case, inputs: True)
    fed = {value: values(2, 3) for value in range(40)}
    tape = SimpleNamespace(producer=lambda value: SimpleNamespace(inputs=()))
    case = SimpleNamespace(first=SimpleNamespace(given=fed), reference=SimpleNamespace(tape=tape))
    assert list(weights.operands_swapped(case)) == []
    assert 1 < len(tried) <= 40


def test_weights_of_features_that_each_side_flattens_in_an_order_of_its_own():
    """The rows of the candidate's kernel are put in the order of the reference's at first."""
    images, kernel = values(3, 4, 5, 6), values(120, 7)
    rows = np.arange(120).reshape(4, 5, 6)
    last = kernel[rows.transpose(1, 2, 0).ravel()]  # channels last
    off = last.copy()
    off[17, 3] *= 1.5

    def first(x):
        return torch.tanh(torch.tanh(x).flatten(1) @ tensor(kernel))

    def other(weight):
        return lambda x: torch.tanh(torch.tanh(x.permute(0, 2, 3, 1)).flatten(1) @ tensor(weight))

    cause = cause_of(first, other(off), images)
    assert (cause.kind, cause.confirmed) == ("weight-values", True)
    assert "1 of 840 differ" in cause.summary
    twice = last[rows.transpose(1, 2, 0).ravel()]
    cause = cause_of(first, other(twice), images)
    assert (cause.kind, cause.confirmed) == ("flatten-order", True)
