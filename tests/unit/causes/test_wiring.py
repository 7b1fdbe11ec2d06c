"""Wiring: another source, an operation or branch missing, or one too many."""

from __future__ import annotations

import torch

from tests.unit.causes.told import kind, numbers, tensor

X = numbers(5, 7)
FIRST, SECOND, THIRD = tensor(numbers(7, 6)), tensor(numbers(6, 6)), tensor(numbers(6, 6))


def layers(x):
    h = torch.tanh(x @ FIRST)
    return h, torch.sigmoid(h @ SECOND)


def test_another_layer_is_read():
    def reference(x):
        h, g = layers(x)
        return g, torch.sin(g @ THIRD)

    def candidate(x):
        h, g = layers(x)
        return g, torch.sin(h @ THIRD)

    assert kind(reference, candidate, X) == "wrong-source"


def test_operands_change_places():
    def reference(x):
        h, g = layers(x)
        return torch.sin(h - 2 * g), g

    def candidate(x):
        h, g = layers(x)
        return torch.sin(g - 2 * h), g

    assert kind(reference, candidate, X) == "wrong-source"


def test_a_branch_is_not_added():
    def reference(x):
        h, g = layers(x)
        return torch.sin(h + g)

    def candidate(x):
        h, g = layers(x)
        return torch.sin(g)

    assert kind(reference, candidate, X) == "branch-missing"


def test_an_operation_too_few_or_too_many():
    def plain(x):
        return torch.sin(layers(x)[1] @ THIRD)

    def cumulative(x):
        return torch.sin(torch.cumsum(layers(x)[1], 1) @ THIRD)

    assert kind(plain, cumulative, X) == "op-extra"
    assert kind(cumulative, plain, X) == "op-missing"


def test_two_faults_in_one_region_are_neither():
    def reference(x):
        return torch.cumsum(layers(x)[1] ** 2, 1) @ THIRD

    def candidate(x):
        return torch.cumprod(layers(x)[1], 1) @ THIRD

    assert kind(reference, candidate, X) not in ("wrong-source", "op-missing", "op-extra")
