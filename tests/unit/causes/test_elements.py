"""Both models pick elements of one value, each by a rule of its own: which elements is said."""

from __future__ import annotations

import pytest
import torch

from tests.unit.causes.compared_pairs import Values, cause_of, tensor

values = Values()
BATCH, LENGTH, WIDTH = 3, 6, 5
X = values(BATCH, LENGTH, WIDTH)
RELATIVE = tensor(values(WIDTH, 2 * LENGTH - 1, scale=0.4))
KERNEL = tensor(values(LENGTH, 4))


def by_shifts(x):
    """Scores by relative positions, [i, j] of which is of j - i: padded, reshaped and cut."""
    scores = torch.tanh(x) @ RELATIVE
    padded = torch.nn.functional.pad(scores, (1, 0))
    shifted = padded.reshape(BATCH, 2 * LENGTH, LENGTH)[:, 1:]
    return shifted.reshape(BATCH, LENGTH, 2 * LENGTH - 1)[:, :, :LENGTH]


def by_sums(x):
    """The same by an index, of i + j."""
    scores, steps = torch.tanh(x) @ RELATIVE, torch.arange(LENGTH)
    index = steps[None] + steps[:, None]
    return torch.gather(scores, 2, index.expand(BATCH, LENGTH, LENGTH))


def weighed(model):
    return lambda x: torch.relu(model(x) @ KERNEL)


@pytest.mark.parametrize("turned", [False, True])
def test_relative_positions_by_sums_for_differences(turned):
    models = weighed(by_shifts), weighed(by_sums)
    cause = cause_of(*(models[::-1] if turned else models), X)
    assert cause.kind == "index-value" and cause.confirmed
    difference, total = cause.parameters["elements"][:: -1 if turned else 1]
    assert difference.endswith("k + 5 - j]") and total.endswith("j + k]")
    assert difference in cause.summary and total in cause.summary


def every(first, step):
    return lambda x: torch.relu(torch.tanh(x)[:, first::step][:, :3].transpose(1, 2) @ KERNEL[:3])


@pytest.mark.parametrize("turned", [False, True])
def test_every_second_element_for_the_first_half(turned):
    models = every(0, 1), every(0, 2)
    cause = cause_of(*(models[::-1] if turned else models), X)
    assert cause is not None and cause.kind in ("index-value", "wrong-source")
    assert "2 " in cause.summary or "::2" in cause.summary


def test_zeros_in_the_place_of_some_are_no_other_elements():
    """What a mask of the inputs hides is named as a mask, if at all."""
    keep = (torch.arange(LENGTH) % 2).float()[:, None]

    def masked(x):
        return torch.relu((torch.tanh(x) * keep).transpose(1, 2) @ KERNEL)

    def plain(x):
        return torch.relu(torch.tanh(x).transpose(1, 2) @ KERNEL)

    cause = cause_of(masked, plain, X)
    assert cause is None or cause.kind != "index-value"
