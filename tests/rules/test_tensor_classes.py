"""Tensors that are not plain: of their own classes, sparse, nested, and of forward mode."""

from __future__ import annotations

import pytest
import torch
from torch.masked import masked_tensor

import parity
from tests.rules.pairs import FIRST, SQUARE, X, compare

pytestmark = pytest.mark.filterwarnings("ignore:.*(prototype|Sparse|sparse)")

LENGTHS = [2, 7, 3, 6, 1]


def masked(x, least=0.0):
    return torch.where(x > least, x, 0).sum(1) / (x > least).sum(1)


def in_a_masked_tensor(x, least=0.0):
    return masked_tensor(x, x > least).mean(1).get_data()


def slope(x, factor=1.0):
    return factor * (1 - torch.tanh(x) ** 2) * torch.ones_like(x) * 3


def by_forward_mode(x, factor=1.0):
    return torch.func.jvp(lambda x: torch.tanh(x) * 3, (x,), (factor * torch.ones_like(x),))[1]


def steps_in_a_row(x, lengths=LENGTHS):
    rows = [torch.tanh(one[:length]).sum() for one, length in zip(x, lengths, strict=True)]
    return torch.stack(rows)


def jagged(x, lengths=LENGTHS):
    rows = [one[:length, None] for one, length in zip(x, lengths, strict=True)]
    nested = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
    return torch.nested.to_padded_tensor(torch.tanh(nested), 0.0).sum((1, 2))


SPARSE = SQUARE * (SQUARE > 0)


def dense(x, matrix=SPARSE):
    return torch.tanh(x @ FIRST) @ matrix


def along_coo(x, matrix=SPARSE):
    return torch.sparse.mm(matrix.T.contiguous().to_sparse_coo(), torch.tanh(x @ FIRST).T).T


def along_csr(x, matrix=SPARSE):
    return torch.sparse.mm(matrix.T.contiguous().to_sparse_csr(), torch.tanh(x @ FIRST).T).T


@pytest.mark.parametrize(
    ("reference", "candidate", "wrong"),
    [
        (masked, in_a_masked_tensor, -1.0),
        (slope, by_forward_mode, 0.5),
        (steps_in_a_row, jagged, [2, 6, 3, 6, 1]),
        (dense, along_coo, SPARSE.T),
        (dense, along_csr, SPARSE.T),
    ],
    ids=["masked", "forward-mode", "jagged", "coo", "csr"],
)
def test_what_a_class_of_tensors_makes_of_an_operation_is_followed(
    reference, candidate, wrong
) -> None:
    assert compare(reference, candidate).verdict == "parity"
    assert compare(reference, lambda x: candidate(x, wrong)).verdict == "diverged"


def test_a_masked_tensor_is_compared_by_its_values_and_its_mask() -> None:
    def model(least, k=1.0):
        return lambda x: masked_tensor(k * torch.tanh(x), x > least)

    assert compare(model(0.0), model(0.0)).verdict == "parity"
    assert compare(model(0.0), model(0.1)).verdict == "diverged"
    assert compare(model(0.0), model(0.0, 1.01)).verdict == "diverged"


def test_a_nested_tensor_is_compared_by_its_rows() -> None:
    def model(k):
        rows = [slice(0, length) for length in LENGTHS]
        return lambda x: torch.nested.as_nested_tensor(
            [k * torch.tanh(one[row, None]) for one, row in zip(x, rows, strict=True)],
            layout=torch.jagged,
        )

    assert compare(model(1.0), model(1.0)).verdict == "parity"
    assert compare(model(1.0), model(1.01)).verdict == "diverged"


def test_a_nested_tensor_without_a_shape_is_refused_clearly() -> None:
    def model(x):
        return torch.nested.nested_tensor([x[0, :2], x[1]]).unbind()[0]

    with pytest.raises(parity.errors.ModelError, match=r"(?s)strided has no shape.*torch\.jagged"):
        compare(model, model, inputs=X)
