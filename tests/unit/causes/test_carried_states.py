"""States that the one model carries from part to part of a sequence, and the other does not."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.unit.causes.compared_pairs import Values, compared, tensor

values = Values()

UNITS = 5
WEIGHTS = {
    "weight_ih_l0": values(3 * UNITS, UNITS, scale=0.5),
    "weight_hh_l0": values(3 * UNITS, UNITS, scale=0.5),
    "bias_ih_l0": values(3 * UNITS),
    "bias_hh_l0": values(3 * UNITS),
}
HEAD, X = tensor(values(UNITS, UNITS)), values(3, 5, UNITS)


def by_hand(x, h):
    """A GRU as torch has it, a step at a time."""
    w, u, b, ub = map(tensor, WEIGHTS.values())
    found = []
    for step in x.unbind(1):
        given, kept = (step @ w.T + b).chunk(3, -1), (h @ u.T + ub).chunk(3, -1)
        r, z = (torch.sigmoid(kept[k] + given[k]) for k in (0, 1))
        new = torch.tanh(given[2] + r * kept[2])
        h = (1 - z) * new + z * h
        found.append(h)
    return torch.stack(found, 1), h


def ready_made():
    module = nn.GRU(UNITS, UNITS, batch_first=True)
    module.load_state_dict({name: tensor(array) for name, array in WEIGHTS.items()})
    return module


@pytest.mark.parametrize("first", [2, 4])
def test_a_state_that_starts_from_zero_again(first):
    """In the second part, of one step or of several: the product with zeros is a constant there."""
    module = ready_made()

    def reference(x):
        before, h = by_hand(x[:, :first], torch.zeros(x.shape[0], UNITS))
        after, _ = by_hand(x[:, first:], h)
        return torch.cat([before, after], 1) @ HEAD

    def candidate(x):
        parts = [module(part)[0] for part in (x[:, :first], x[:, first:])]
        return torch.cat(parts, 1) @ HEAD

    causes = [one.cause for one in compared(reference, candidate, X).divergences]
    assert {cause and cause.kind for cause in causes} == {"state-not-carried"}
    assert all(cause.confirmed for cause in causes)
