"""A first state that one model takes from elsewhere, where the other begins with zeros."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from parity.diagnosis.causes._sources import named_apart
from parity.frameworks import load
from tests.rules.pairs import compare, kinds, summaries

STEPS = np.random.default_rng(8).standard_normal((4, 3, 7)).astype("f")
own = np.random.default_rng(9)
INTO, BACK, OTHER, GATES, HIDDEN = (
    torch.from_numpy(own.standard_normal(shape).astype("f"))
    for shape in ((7, 6), (6, 6), (7, 6), (7, 24), (6, 24))
)


def recurrent(x: torch.Tensor, begins_with_zeros: bool) -> torch.Tensor:
    context = torch.tanh(x[:, -1] @ OTHER)
    h = torch.zeros(4, 6) if begins_with_zeros else context
    for step in range(3):
        h = torch.tanh(x[:, step] @ INTO + h @ BACK)
    return torch.cat([h, context], 1)


def lstm(x: torch.Tensor, begins_with_zeros: bool) -> torch.Tensor:
    h = torch.tanh(x[:, -1] @ OTHER)
    c = torch.zeros(4, 6) if begins_with_zeros else torch.tanh(x[:, 0] @ OTHER)
    for step in range(3):
        i, f, g, o = (x[:, step] @ GATES + h @ HIDDEN).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return h


@pytest.mark.parametrize("model", [recurrent, lstm])
@pytest.mark.parametrize("right", [True, False])
def test_a_first_state_of_zeros_and_another(model, right: bool) -> None:
    report = compare(lambda x: model(x, right), lambda x: model(x, not right), inputs=STEPS)
    assert kinds(report) == ["wrong-source"]
    assert ("the reference reads zeros" in summaries(report)) == right
    assert ("what is read is zeros" in summaries(report)) != right


def test_a_term_more_is_no_state_though_zeros_are_there() -> None:
    """Zeros of that size are multiplied by other weights than the term is."""

    def with_term(x: torch.Tensor) -> torch.Tensor:
        h = torch.zeros(4, 6)
        for step in range(3):
            h = torch.tanh(x[:, step] @ INTO + h @ BACK + (x[:, -1] @ OTHER) @ BACK.abs())
        return h

    def without(x: torch.Tensor) -> torch.Tensor:
        h = torch.zeros(4, 6)
        for step in range(3):
            h = torch.tanh(x[:, step] @ INTO + h @ BACK)
        return h

    report = compare(without, with_term, inputs=STEPS)
    assert "reads zeros" not in summaries(report)


def test_parts_at_one_place_of_two_values_are_not_zero_steps_apart() -> None:
    def parts(x: torch.Tensor) -> torch.Tensor:
        made = [torch.tanh(x[:, 0] @ weights)[:, 12:18] for weights in (GATES, 2 * GATES)]
        return made[0] * made[1]

    tape = load("torch").record(parity.wrap(parts, framework="torch", inputs=STEPS), (STEPS,))
    cut = [op.outputs[0] for op in tape.ops if tape.values[op.outputs[0]].shape == (4, 6)]
    first, second = cut[:2]
    names = named_apart(tape, tape.replay("float64"), first, second)
    assert names[0].endswith("the earlier one") and names[1].endswith("the later one"), names
