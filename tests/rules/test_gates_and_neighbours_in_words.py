"""What is named is what is there: gates by their place, neighbours without ties, scales by exp."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn.functional import interpolate

import parity
from tests.rules.pairs import compare, draw, summaries, weights

X = draw.standard_normal((5, 7)).astype("f")
STATE = draw.standard_normal((5, 4)).astype("f")
IMAGES = draw.standard_normal((2, 3, 6, 6)).astype("f")
TOKENS = draw.standard_normal((3, 5, 6)).astype("f")
GATES, FOUR, HEAD, POSITIONS = weights(11, 12), weights(11, 16), weights(6, 6), weights(5, 6)


def cause(reference: Any, candidate: Any, *inputs: np.ndarray) -> Any:
    report = compare(reference, candidate, inputs=inputs if len(inputs) > 1 else inputs[0])
    return report.divergences[0].cause


def gru(order: tuple[int, ...] = (0, 1, 2), shift: float = 0.0) -> Any:
    def model(x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        parts = (torch.cat([x, h], 1) @ GATES).chunk(3, 1)
        reset, update, new = (parts[i] for i in order)
        update = torch.sigmoid(update + shift if shift else update)
        return update * h + (1 - update) * torch.tanh(torch.sigmoid(reset) * new)

    return model


def test_the_gate_that_stands_in_is_reported_by_its_place() -> None:
    found = cause(gru(), gru((1, 0, 2)), X, STATE)
    assert found.kind == "gate-order" and "gate 1 of 3 is read as gate 2" in found.summary


def lstm(shift: float) -> Any:
    def model(x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        i, f, g, o = (torch.cat([x, c], 1) @ FOUR).chunk(4, 1)
        f = torch.sigmoid(f + shift if shift else f)
        return torch.sigmoid(o) * torch.tanh(f * c + torch.sigmoid(i) * torch.tanh(g))

    return model


def test_a_gru_forgets_nothing_and_zero_is_not_added() -> None:
    found = cause(gru(shift=-1.0), gru(), X, STATE)
    assert found.kind == "gate-shift" and found.summary.startswith("nothing is added to the gate")
    found = cause(lstm(0.0), lstm(1.0), X, STATE)
    assert (found.kind, found.parameters) == ("forget-bias", {"bias": (0.0, 1.0)})


def test_no_rounding_of_ties_where_there_are_none() -> None:
    def resized(size: int, mode: str) -> Any:
        return lambda x: torch.tanh(interpolate(torch.tanh(x), (size, size), mode=mode))

    found = cause(resized(12, "bilinear"), resized(12, "nearest-exact"), IMAGES)
    assert found.kind == "resize-method" and "half down" not in str(found.summary)
    found = cause(resized(3, "nearest"), resized(3, "nearest-exact"), IMAGES)
    assert found.kind == "resize-rounding" and "half" in str(found.parameters)


def test_rows_of_a_table_are_stated_in_plain_numbers() -> None:
    def added(table: torch.Tensor) -> Any:
        return lambda x: torch.tanh((x + table) @ HEAD)

    found = cause(added(POSITIONS), added(POSITIONS[[3, 1, 0, 4, 2]]), TOKENS)
    assert found is None or "int64" not in found.summary

    def embedded(order: list[int]) -> Any:
        places = torch.tensor(order)
        return lambda x: torch.tanh((x + POSITIONS[places]) @ HEAD)

    found = cause(embedded([0, 1, 2, 3, 4]), embedded([3, 1, 0, 4, 2]), TOKENS)
    assert found.kind == "position-ids" and "3, 1, 0, 4, 2 for 0, 1, 2, 3, 4" in found.summary
    assert "4 of 5" in found.summary


def test_a_scale_is_an_exponential_only_where_one_is_computed() -> None:
    def scaled(form: Any) -> Any:
        return lambda x, h: form(torch.sin(h)) * x[:, :4] * h

    found = cause(scaled(lambda s: s), scaled(torch.exp), X, STATE)
    assert found.kind == "scale-parameterisation"
    found = parity.compare(
        parity.wrap(scaled(lambda s: s), framework="torch"),
        parity.wrap(scaled(lambda s: 1 + s + s * s / 2 + s**3 / 6), framework="torch"),
        inputs=(X, STATE),
    )
    assert "exp(" not in str(found)


def test_what_is_reshaped_has_no_gates() -> None:
    dense = weights(7, 8)

    def spread(x: torch.Tensor, curve: Any) -> torch.Tensor:
        return curve((x @ dense).reshape(-1, 4, 2)) + 0.1

    report = compare(
        lambda x: spread(x, torch.nn.functional.softplus), lambda x: spread(x, torch.exp)
    )
    assert report.verdict == "diverged" and "gate" not in summaries(report)
