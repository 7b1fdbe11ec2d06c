"""Reductions over another axis, of another kind, or missing."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

X = values(5, 7, 4)
WEIGHT = tensor(values(4, 6))


def test_the_axis_of_a_mean_that_is_taken_off():
    def over(axis):
        return lambda x: torch.tanh(torch.sin(x) - torch.sin(x).mean(axis, keepdim=True))

    cause = cause_of(over(1), over(0), X)
    assert (cause.kind, cause.parameters["axis"]) == ("reduction-axis", (1, 0))


def test_the_axis_where_the_shape_changes_with_it():
    cause = cause_of(lambda x: torch.sin(x).amax(1), lambda x: torch.sin(x).amax(2), X)
    assert (cause.kind, cause.parameters["axis"]) == ("reduction-axis", (1, -1))


def test_a_mean_by_hand_for_a_maximum():
    cause = cause_of(
        lambda x: torch.sin(x).amax(1) @ WEIGHT, lambda x: torch.sin(x).sum(1) / 7 @ WEIGHT, X
    )
    assert (cause.kind, cause.parameters["kind"]) == ("reduction-kind", ("max", "mean"))


def test_a_loss_in_one_operation():
    y = tensor(values(5, 7, 4))
    cause = cause_of(
        lambda x: F.mse_loss(x, y, reduction="sum"), lambda x: ((x - y) ** 2).mean() * 1.0, X
    )
    assert (cause.kind, cause.parameters["kind"]) == ("reduction-kind", ("sum", "mean"))


def test_a_sum_of_which_the_mean_is_taken_over_the_batch():
    cause = cause_of(lambda x: torch.sin(x).sum(), lambda x: torch.sin(x).sum((1, 2)).mean(), X)
    assert cause.kind == "reduction-kind"
    assert cause.parameters["kind"] == ("sum", "mean over axis 0, sum over the rest")


def test_what_is_not_reduced():
    assert (
        kind(lambda x: torch.sin(x).mean(1) @ WEIGHT, lambda x: torch.sin(x) @ WEIGHT, X)
        == "reduction-missing"
    )


def test_a_median_is_none_of_these():
    reference = lambda x: torch.sin(x).mean(1) @ WEIGHT  # noqa: E731
    assert not kind(reference, lambda x: torch.sin(x).median(1)[0] @ WEIGHT, X).startswith("reduc")
