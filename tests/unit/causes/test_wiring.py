"""Wiring: another source, an operation or branch missing, or one too many."""

from __future__ import annotations

import torch

from tests.unit.causes.compared_pairs import Values, kind, tensor

values = Values()

X = values(5, 7)
FIRST, SECOND, THIRD = tensor(values(7, 6)), tensor(values(6, 6)), tensor(values(6, 6))


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


def test_what_the_reference_reads_no_more_is_read():
    def model(last):
        def run(x):
            h, g = layers(x)
            return torch.sin(torch.tanh((g if last else h) @ THIRD) @ THIRD)

        return run

    assert kind(model(False), model(True), X) == "wrong-source"


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


def test_a_block_too_few_or_too_many():
    def plain(x):
        return torch.sin(layers(x)[1] @ THIRD)

    def blocked(x):
        y = layers(x)[1]
        for _ in range(8):
            y = torch.cumsum(y, 1)
        return torch.sin(y @ THIRD)

    assert kind(plain, blocked, X) == "op-extra"
    assert kind(blocked, plain, X) == "op-missing"


def test_two_faults_in_one_region_are_neither():
    def reference(x):
        return torch.cumsum(layers(x)[1] ** 2, 1) @ THIRD

    def candidate(x):
        return torch.cumprod(layers(x)[1], 1) @ THIRD

    assert kind(reference, candidate, X) not in ("wrong-source", "op-missing", "op-extra")


def test_another_value_is_added_from_which_the_rest_is_computed():
    w = tensor(values(6, 6))

    def model(swapped):
        def run(x):
            before = torch.softmax(x, -1)
            dense = before @ w
            return (before if swapped else dense) + torch.nn.functional.leaky_relu(dense)

        return run

    assert kind(model(False), model(True), values(5, 6)) == "wrong-source"


def test_a_clip_that_cuts_nothing_off_hides_nothing():
    w, x = tensor(values(6, 4)), values(5, 6, scale=0.1)

    def model(scale, clip):
        def run(x):
            x = torch.tanh(x) * 0.2
            return (clip(x) @ (scale * w)).relu()

        return run

    reference = model(1.0, lambda x: x.clamp(-1, 1))
    candidate = model(
        2.0, lambda x: torch.minimum(torch.maximum(x, -torch.ones(())), torch.ones(()))
    )
    assert kind(reference, candidate, x) == "weight-scale"
