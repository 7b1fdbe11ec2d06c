"""Attention written by hand whose heads, or whose query and key, are taken otherwise."""

from __future__ import annotations

import pytest
import torch

from tests.unit.causes.compared_pairs import Values, cause_of, tensor

values = Values()
BATCH, STEPS, HEADS, DEPTH = 3, 6, 4, 5
WIDTH = HEADS * DEPTH
X = values(BATCH, STEPS, WIDTH)
QUERY, KEY, VALUE, OUT = (tensor(values(WIDTH, WIDTH, scale=0.3)) for _ in range(4))


def attention(exchanged=False, merged=True):
    def run(x):
        q, k, v = (
            (torch.tanh(x) @ kernel).reshape(BATCH, STEPS, HEADS, DEPTH).transpose(1, 2)
            for kernel in (QUERY, KEY, VALUE)
        )
        if exchanged:
            q, k = k, q
        seen = torch.softmax(q @ k.transpose(2, 3) / DEPTH**0.5, -1) @ v
        heads = seen.transpose(1, 2) if merged else seen
        return heads.reshape(BATCH, STEPS, WIDTH) @ OUT

    return run


@pytest.mark.parametrize(
    ("fault", "kind"),
    [({"exchanged": True}, "axis-order"), ({"merged": False}, "head-split-order")],
)
@pytest.mark.parametrize("of_reference", [False, True])
def test_what_is_taken_otherwise(fault, kind, of_reference):
    models = attention(), attention(**fault)
    cause = cause_of(*(models[::-1] if of_reference else models), X)
    assert cause.kind == kind
    assert cause.confirmed, cause.unproved
