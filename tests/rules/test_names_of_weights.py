"""A weight is said to hold other values where it does, not what is computed or read from it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tests.rules.pairs import SQUARE, compare, summaries, weights

GAIN, FIRST, TABLE = weights(6).abs() + 0.5, weights(7, 6), weights(9, 2)
OTHER = FIRST + 0.1 * weights(7, 6)


def normed(gained: bool):
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v, self.g = nn.Parameter(FIRST), nn.Parameter(GAIN)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            kernel = self.v / self.v.norm(dim=0, keepdim=True)
            return torch.tanh(x @ (self.g * kernel if gained else kernel))

    return Model()


def test_a_gain_of_a_normalised_weight_is_no_other_weight() -> None:
    words = summaries(compare(normed(True), normed(False)))
    assert "other numbers in v" not in words
    assert "the result of mul" in words


def looked_up(*at: int) -> nn.Module:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(TABLE)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(x @ FIRST + self.table[torch.tensor(at)].reshape(1, 6))

    return Model()


def test_a_table_looked_up_at_other_places_is_no_other_table() -> None:
    words = summaries(compare(looked_up(1, 4, 6), looked_up(2, 5, 7)))
    assert "other numbers in the result of index" in words and "made of table" in words


@pytest.mark.parametrize("start", [torch.zeros(6), None], ids=["zeros", "other"])
def test_what_is_read_in_the_place_of_a_weight_is_reported(start) -> None:
    def model(first: torch.Tensor):
        return lambda x: torch.tanh(torch.cat([first[None], x @ FIRST]) @ SQUARE)

    words = summaries(compare(model(GAIN), model(OTHER[0] if start is None else start)))
    assert ("zeros are read in place of" if start is not None else "other numbers in") in words


def test_a_weight_of_other_values_is_named() -> None:
    def model(kernel: torch.Tensor) -> nn.Module:
        layer = nn.Linear(7, 6, bias=False)
        layer.weight = nn.Parameter(kernel.T.contiguous())
        return nn.Sequential(layer, nn.Tanh())

    assert "other numbers in 0.weight" in summaries(compare(model(FIRST), model(OTHER)))


def test_one_weight_stands_in_for_one_alone() -> None:
    """A bias in the place of three: added, subtracted and added, it is wrong each time."""
    mean, offset, bias = weights(6), weights(6), weights(6)
    spread = weights(6).abs() + 0.5

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(nn.functional.batch_norm(x @ FIRST + bias, mean, spread, None, offset))

    factor = 1 / torch.sqrt(spread + 1e-5)
    kernel, folded = FIRST * factor, offset + bias * factor

    report = compare(reference, lambda x: torch.tanh(x @ kernel + folded))
    assert report.verdict == "diverged" and "other numbers in" not in summaries(report)


def test_what_is_computed_in_another_order_has_no_other_values() -> None:
    x = np.random.default_rng(1).standard_normal((400, 7)).astype("f")

    def waves(halves: bool):
        def model(x: torch.Tensor) -> torch.Tensor:
            steps = torch.arange(400.0)[:, None]
            exponents = torch.arange(3.0) / 3
            at = (
                steps * torch.exp(-exponents * float(np.log(10000)))
                if halves
                else steps / 10000**exponents
            )
            both = torch.sin(at), torch.cos(at)
            table = torch.cat(both, -1) if halves else torch.stack(both, -1).reshape(400, 6)
            return torch.tanh(x @ FIRST + table)

        return model

    words = summaries(compare(waves(False), waves(True), inputs=x))
    assert "other numbers" not in words


def test_a_table_of_turned_rows_is_read_at_the_same_places() -> None:
    rows = weights(5, 6)

    def model(table: torch.Tensor, by: int) -> nn.Module:
        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.places = nn.Embedding.from_pretrained(table)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.tanh(x @ FIRST + self.places((torch.arange(5) + by) % 5))

        return Model()

    (found,) = compare(model(rows, 0), model(rows.roll(1, 0), 0)).divergences
    assert found.cause.summary == "places.weight holds its rows in another order: 4, 0, 1, 2, 3"
    (found,) = compare(model(rows, 0), model(rows, 1)).divergences
    assert found.cause.kind == "position-ids"


def test_a_sum_that_is_left_out_is_no_other_weight() -> None:
    report = compare(
        lambda x: torch.tanh(x[:, :6] @ (SQUARE + torch.eye(6))),
        lambda x: torch.tanh(x[:, :6] @ SQUARE),
    )
    assert report.verdict == "diverged" and "another weight" not in summaries(report)


def test_rows_that_are_equal_have_no_order() -> None:
    mask = torch.tensor([1.0, 0, 1, 0, 1])[:, None].expand(5, 6).contiguous()
    report = compare(
        lambda x: torch.tanh(x @ FIRST * mask), lambda x: torch.tanh(x @ FIRST * (1 - mask))
    )
    assert report.verdict == "diverged" and "holds its rows" not in summaries(report)
