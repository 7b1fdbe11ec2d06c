"""A layer that is used twice is named with the one that it stands for, also where it is folded."""

from __future__ import annotations

import torch
from torch import nn

from tests.rules.pairs import SQUARE, compare, draw, summaries

ROWS = draw.standard_normal((9, 6)).astype("f")


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.BatchNorm1d(6), nn.BatchNorm1d(6)
        for norm in (self.first, self.second):
            with torch.no_grad():
                for held in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
                    held.copy_(torch.from_numpy(draw.uniform(0.5, 2, 6)))

    def forward(self, x):
        h = torch.relu(self.first(x @ SQUARE))
        return torch.sin(self.second(torch.tanh(h @ SQUARE)) @ SQUARE)


def folded(norm):
    scale = (norm.weight / (norm.running_var + norm.eps).sqrt()).detach()
    return scale, (norm.bias - norm.running_mean * scale).detach()


def by_hand(first, second):
    def model(x):
        h = torch.relu(x @ SQUARE * first[0] + first[1])
        return torch.sin((torch.tanh(h @ SQUARE) * second[0] + second[1]) @ SQUARE)

    return model


def test_the_first_norm_of_a_block_is_used_as_its_second() -> None:
    block = Block().eval()
    wrong = by_hand(folded(block.first), folded(block.first))
    (found,) = compare(block, wrong, inputs=ROWS).divergences
    assert (found.cause.kind, found.cause.confirmed) == ("weight-swapped", True)
    assert found.cause.parameters == {"layer": ("second", "first")}


def test_a_norm_of_other_numbers_is_no_other_layer() -> None:
    block, other = Block().eval(), Block().eval()
    wrong = by_hand(folded(block.first), folded(other.second))
    assert "stands where" not in summaries(compare(block, wrong, inputs=ROWS))
