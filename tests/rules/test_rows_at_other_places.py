"""What is read at another place is said so: which index, which order; never of rows by chance."""

from __future__ import annotations

import pytest
import torch

from tests.rules.pairs import SQUARE, compare, draw, summaries, weights

TOKENS = draw.standard_normal((3, 5, 4, 6)).astype("f")
ROWS = draw.standard_normal((4, 6)).astype("f")
TABLE = torch.from_numpy(draw.standard_normal((5, 6)).astype("f"))
KEPT = torch.tensor([[1.0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]])


def cause(reference, candidate, inputs=TOKENS):
    (found,) = compare(reference, candidate, inputs=inputs).divergences
    return found.cause


def read_at(*index):
    return lambda x: torch.sin(torch.tanh(x).cumsum(1).cumsum(2)[index] @ SQUARE)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ((slice(None), slice(None), 1), (slice(None), slice(None), 0), "index 0 of axis 2"),
        ((slice(None), -1), (slice(None), -2), "index 3 of axis 1"),
        ((slice(None), slice(1, None)), (slice(None), slice(0, -1)), "the range 0:4 of axis 1"),
    ],
)
def test_an_index_is_named_with_its_axis(right, wrong, said):
    found = cause(read_at(*right), read_at(*wrong))
    assert (found.kind, found.confirmed) == ("index-value", True)
    assert found.summary.startswith(said)


def test_rows_that_are_tiled_are_named_beside_those_that_are_repeated():
    def beside(lay):
        return lambda x: torch.sin(lay(torch.tanh(x @ SQUARE)) * TABLE.repeat(4, 1))

    found = cause(
        beside(lambda h: h.repeat_interleave(5, 0)), beside(lambda h: h.repeat(5, 1)), ROWS
    )
    assert (found.kind, found.confirmed) == ("axis-order", True)
    assert found.parameters == {"rows": ("repeated", "tiled")}


@pytest.mark.parametrize(
    ("lay", "kind", "said"),
    [
        (lambda t: t.flip(0), "axis-order", "in reverse order"),
        (lambda t: t.roll(1, 0), "roll-shift", "shifted by 1 place along axis 0"),
        (lambda t: t[[0, 2, 1, 4, 3]], "axis-order", "in the order 0, 2, 1, 4, 3"),
    ],
)
def test_the_rows_of_an_operand_are_in_an_order_that_is_said(lay, kind, said):
    def beside(lay):
        return lambda x: torch.sin(lay(torch.tanh(x @ SQUARE)) * TABLE)

    found = cause(beside(lambda h: h), beside(lay), draw.standard_normal((5, 6)).astype("f"))
    assert (found.kind, found.confirmed) == (kind, True)
    assert said in found.summary


def test_a_mask_of_other_steps_has_no_rows_in_another_order():
    kept = draw.permuted(KEPT.numpy(), axis=1)

    def masked(mask):
        return lambda x: (torch.tanh(x) * mask[..., None, None]).sum(2)

    found = compare(masked(KEPT), masked(torch.from_numpy(kept)), inputs=TOKENS)
    assert "rows" not in summaries(found)


def test_equal_rows_have_no_place():
    def read(at):
        return lambda x: torch.sin(x.mean(2, keepdim=True).expand(3, 5, 4, 6)[:, :, at] * 2)

    assert compare(read(1), read(0), inputs=TOKENS).verdict == "parity"


def test_a_mask_that_one_side_reads_as_numbers_is_the_other_sides():
    apart = torch.arange(5)[None, :] - torch.arange(5)[:, None]
    values, table = weights(9, 6), weights(9, 3)

    def numbers(x):
        bias = table[apart + 4].permute(2, 0, 1)[None]
        keep = (x != 0).float()
        scores = bias + (1 - keep[:, None, None]) * -1e9
        return (torch.softmax(scores, -1) @ values[x][:, None]) * keep[:, None, :, None]

    def masked(x):
        bias = table[4 - apart].permute(2, 0, 1)[None]
        keep = x != 0
        scores = bias.masked_fill(~keep[:, None, None], -1e9)
        return (torch.softmax(scores, -1) @ values[x][:, None]) * keep[:, None, :, None]

    found = cause(numbers, masked, draw.integers(0, 3, (4, 5)))
    assert (found.kind, found.confirmed) == ("axis-order", True)
    assert found.summary.endswith("exchanged: each distance along them has the other sign")
