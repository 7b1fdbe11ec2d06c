"""Rows that attend to each other, and rows of which each is a sequence of its own."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from tests.unit.causes.compared_pairs import Values, compared, tensor

values = Values()
ROWS, HEADS, DEPTH = 6, 2, 5
X = values(ROWS, HEADS * DEPTH)
PROJECTIONS = [tensor(values(HEADS * DEPTH, HEADS * DEPTH, scale=0.4)) for _ in range(4)]


def heads(x):
    return [(x @ one).unflatten(-1, (HEADS, DEPTH)).transpose(-3, -2) for one in PROJECTIONS[:3]]


def by_hand(x):
    q, k, v = heads(torch.tanh(x)[None])
    weights = torch.softmax(q @ k.transpose(-2, -1) / DEPTH**0.5, -1)
    return torch.relu((weights @ v).transpose(1, 2).reshape(ROWS, -1) @ PROJECTIONS[3])


def fused(x):
    rows = heads(torch.tanh(x)[:, None])
    mixed = F.scaled_dot_product_attention(*rows)
    return torch.relu(mixed.transpose(1, 2).reshape(ROWS, -1) @ PROJECTIONS[3])


def test_attention_is_not_missing_where_each_row_attends_to_itself():
    (found,) = compared(by_hand, fused, X).divergences
    assert found.cause.kind == "softmax-axis" and found.cause.confirmed
    assert found.cause.parameters == {"length": (ROWS, 1)}
