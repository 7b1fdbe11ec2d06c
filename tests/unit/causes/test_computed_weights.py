"""Weights that are computed with before they are read: what is said of their values is true."""

from __future__ import annotations

import torch

from tests.unit.causes.compared_pairs import Values, cause_of, compared, tensor

values = Values()

X = values(5, 6)


def test_noise_added_to_a_weight_is_not_called_other_values_in_it():
    means, deviations, noise = (tensor(values(6, 4)) for _ in range(3))

    def layer(noisy):
        def run(x):
            return torch.tanh(x @ (means + deviations * noise if noisy else means))

        return run

    cause = cause_of(layer(False), layer(True), X)
    assert "other numbers in" not in cause.summary
    assert "mul, add computes from it" in cause.summary


def test_a_weight_that_both_compute_differently_from_equal_ones_holds_no_other_values():
    start, weight = tensor(values(4, 6)), tensor(values(6, 6))

    def first_state(epsilon):
        def run(x):
            state = torch.tanh(start @ weight) / (start.std(-1, keepdim=True) + epsilon)
            return torch.tanh(x * state), torch.tanh(x)

        return run

    report = compared(first_state(0.0), first_state(0.4), X[:4])
    kinds = {one.cause.kind for one in report.divergences if one.cause is not None}
    assert "weight-values" not in kinds


def test_noise_in_two_layers_of_one_shape_is_not_confirmed_of_the_wrong_one():
    first, second, noise, other = (tensor(values(6, 4)) for _ in range(4))
    last, least = tensor(values(4, 4)), tensor(values(4, 4))

    def plain(x):
        value, gain = torch.relu(x @ first) @ last, torch.relu(x @ second) @ least
        return torch.softmax(value + gain - gain.mean(-1, keepdim=True), -1)

    def noisy(x):
        gain = torch.relu(x @ (second + noise)) @ least
        value = torch.relu(x @ (first + other)) @ last
        return torch.softmax(value + gain - gain.mean(-1, keepdim=True), -1)

    causes = [one.cause for one in compared(plain, noisy, X).divergences]
    for cause in causes:
        assert cause is None or not cause.confirmed or "computes from it" in cause.summary


def test_a_weight_that_is_read_at_another_place_is_not_confirmed_to_be_another():
    first, second, other = (tensor(values(6, 4)) for _ in range(3))

    def heads(one, two):
        return lambda x: (torch.tanh(x @ one), torch.sigmoid(torch.sin(x) @ two))

    causes = [
        one.cause for one in compared(heads(first, second), heads(other, first), X).divergences
    ]
    (cause,) = (one for one in causes if one and one.kind == "weight-values")
    assert not cause.confirmed
    assert "at another place" in cause.unproved


def test_a_weight_that_is_standardised_differently_is_not_called_a_multiple():
    """The parameters are equal; what is computed from them is a multiple."""
    weight = tensor(values(6, 9))

    def standardised(correction):
        def run(x):
            deviation = weight.std(0, correction=correction, keepdim=True)
            return torch.tanh(x @ ((weight - weight.mean(0, keepdim=True)) / deviation))

        return run

    cause = cause_of(standardised(0), standardised(1), X)
    assert cause.kind != "weight-scale" or "what is computed of" in cause.summary
