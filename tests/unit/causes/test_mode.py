"""Dropout."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

X = values(20, 7)
WEIGHT, OUT = tensor(values(7, 60)), tensor(values(60, 3))


def hidden(x):
    return torch.sin(x @ WEIGHT)


def test_dropout_on_one_side_only():
    def plain(x):
        return hidden(x) @ OUT

    def active(x):
        return F.dropout(hidden(x), 0.35) @ OUT

    cause = cause_of(plain, active, X)
    assert (cause.kind, cause.parameters["rate"]) == ("dropout-active", (0.0, 0.35))
    cause = cause_of(active, plain, X)
    assert (cause.kind, cause.parameters["rate"]) == ("dropout-active", (0.35, 0.0))


def test_another_share():
    cause = cause_of(lambda x: F.dropout(hidden(x), 0.1), lambda x: F.dropout(hidden(x), 0.7), X)
    assert (cause.kind, cause.parameters["rate"]) == ("dropout-rate", (0.1, 0.7))


def test_noise_that_is_added_is_no_dropout():
    def noisy(x):
        return (hidden(x) + 0.1 * torch.randn(20, 60)) @ OUT

    assert not kind(lambda x: hidden(x) @ OUT, noisy, X).startswith("dropout")
