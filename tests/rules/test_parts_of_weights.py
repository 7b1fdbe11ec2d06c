"""Of one stored weight other rows are read: no other numbers, and another part."""

from __future__ import annotations

import numpy as np
import torch

import parity

X = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)


class Scores(torch.nn.Module):
    """Scores of all items but one, by a table with a row more."""

    def __init__(self, first, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.first = first
        self.layer = torch.nn.Linear(5, 4)
        self.table = torch.nn.Parameter(torch.randn(9, 4))

    def forward(self, x):
        hidden = torch.tanh(self.layer(x))
        return hidden @ self.table[self.first : self.first + 8].T


def cause_of(reference, candidate):
    report = parity.compare(reference, candidate, inputs=X)
    (divergence,) = report.divergences
    return divergence.cause


def test_rows_of_a_table_are_read_one_further():
    cause = cause_of(Scores(1), Scores(0))

    assert (cause.kind, cause.confirmed) == ("index-value", True)
    assert cause.parameters == {"rows": ("1 to 8", "0 to 7")}


def test_other_numbers_are_no_other_part():
    other = Scores(1)
    with torch.no_grad():
        other.table.mul_(torch.rand(9, 4) + 0.5)

    assert cause_of(Scores(1), other).kind == "weight-values"
