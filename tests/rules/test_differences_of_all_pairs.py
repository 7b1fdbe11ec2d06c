"""A difference of all pairs taken the other way round is its own transpose: it is no layout."""

from __future__ import annotations

import pytest
import torch

from tests.unit.causes.compared_pairs import Values, compared, tensor

values = Values()
BATCH, AGENTS, WIDTH = 4, 3, 5
PLACES, FEATURES = values(BATCH, AGENTS, 2), values(BATCH, AGENTS, WIDTH)
SEEN, OUT = tensor(values(2, WIDTH)), tensor(values(WIDTH, 6))


def model(turned):
    def run(places, features):
        first, second = places[:, None], places[:, :, None]
        apart = second - first if turned else first - second
        weights = torch.relu(torch.floor(2 * apart) @ SEEN)
        heard = torch.einsum("bijw,bjw->biw", weights, features)
        return torch.tanh(heard @ OUT)

    return run


@pytest.mark.parametrize("turned", [False, True])
def test_where_it_begins_and_what_it_is(turned):
    report = compared(model(turned), model(not turned), PLACES, FEATURES)
    (found,) = report.divergences
    assert found.reference.code.startswith("apart = ")
    assert found.candidate.code.startswith("apart = ")
    assert found.cause.kind == "operands-exchanged" and found.cause.confirmed
