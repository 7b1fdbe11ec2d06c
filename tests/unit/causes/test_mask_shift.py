"""Masks that are one place off, as the diagonal of a causal one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()
X = values(3, 6, 8)
QUERY, KEY, VALUE, OUT = (tensor(values(8, 8, scale=0.4)) for _ in range(4))
LOW = -1e9


def attention(diagonal=0, fill=LOW, added=False):
    """Of one head; it sees steps up to `diagonal` after its own."""

    def run(x):
        scores = (x @ QUERY) @ (x @ KEY).transpose(1, 2) / 8**0.5
        hidden = torch.tril(torch.ones(x.shape[1], x.shape[1]), diagonal) == 0
        if added:
            scores = scores + hidden.float() * fill
        else:
            scores = scores.masked_fill(hidden, fill)
        return torch.softmax(scores, -1) @ (x @ VALUE) @ OUT

    return run


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(("reference", "candidate"), [(0, 1), (1, 0), (0, -1), (-1, 0)])
def test_the_diagonal_of_a_causal_mask(reference, candidate, added):
    cause = cause_of(attention(reference, added=added), attention(candidate, added=added), X)
    assert (cause.kind, cause.parameters) == ("mask-shift", {"shift": (0, candidate - reference)})
    assert cause.confirmed, cause.unproved


def pooled(lengths):
    """The mean over the steps of each sequence that are none of the padding."""
    seen = (np.arange(6) < np.array(lengths)[:, None]).astype(np.float32)

    def run(x):
        mask = tensor(seen)[:, :, None]
        return (torch.tanh(x @ VALUE) * mask).sum(1) @ OUT

    return run


def test_the_last_step_of_sequences():
    """Which steps are kept says more than that all of them end one earlier."""
    assert kind(pooled([3, 5, 4]), pooled([2, 4, 3]), X) == "sequence-mask"


def test_a_mask_of_other_lengths_is_not_shifted():
    assert kind(pooled([3, 5, 4]), pooled([2, 4, 4]), X) != "mask-shift"


def test_another_number_in_a_mask_is_not_shifted():
    assert kind(attention(fill=-torch.inf), attention(fill=-1.0), X) == "attention-mask-value"
