"""A value that each side splits and joins in an order of its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.unit.causes.compared_pairs import Values, cause_of, compared, tensor

values = Values()

IMAGES, TOKENS = values(3, 4, 5, 6), values(4, 6, 7)
Model = Callable[[torch.Tensor], torch.Tensor]


def shuffled(channels_first: bool, reader: Model) -> Model:
    """Of 12 channels 2 by 2 pixels of 3: no order of the one is the other."""
    kernel = tensor(values_of(12, 4, 3, 3))

    def model(x: torch.Tensor) -> torch.Tensor:
        h = F.conv2d(torch.tanh(x), kernel, padding=1)
        if channels_first:
            parts = h.reshape(3, 3, 2, 2, 5, 6).permute(0, 1, 4, 2, 5, 3)
        else:
            parts = h.reshape(3, 2, 2, 3, 5, 6).permute(0, 3, 4, 1, 5, 2)
        return reader(parts.reshape(3, 3, 10, 12))

    return model


def values_of(*shape: int) -> np.ndarray:
    """The same values for the same shape, on both sides."""
    return np.random.default_rng(shape[0]).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("first", [True, False])
def test_pixels_and_channels_of_lengths_with_no_common_part(first: bool) -> None:
    kernel = tensor(values_of(5, 3, 3, 3))
    models = [shuffled(one, lambda x: F.conv2d(x, kernel)) for one in (first, not first)]
    cause = cause_of(models[0], models[1], IMAGES)
    assert (cause.kind, cause.confirmed) == ("pixel-shuffle-order", True)


def test_tokens_of_images_that_are_read_by_a_dense_layer() -> None:
    """With channels last on one side both read rows of the image, each in an order of its own."""
    kernel, dense = tensor(values_of(5, 4, 3, 3)), tensor(values_of(5, 8))

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.sigmoid(F.conv2d(x, kernel, padding=1).permute(0, 2, 3, 1))
        return torch.tanh(h.permute(0, 3, 1, 2).reshape(3, 30, 5) @ dense)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.sigmoid(F.conv2d(x, kernel, padding=1))
        return torch.tanh(h.permute(0, 2, 3, 1).reshape(90, 5) @ dense).view(3, 30, 8)

    cause = cause_of(reference, candidate, IMAGES)
    assert (cause.kind, cause.confirmed) == ("flatten-order", True)


@pytest.mark.parametrize(("heads", "depth"), [(3, 5), (3, 3), (2, 4)])
def test_heads_and_features_of_query_and_key(heads: int, depth: int) -> None:
    weights = [tensor(values_of(7, heads * depth) * (i + 1)) for i in range(3)]

    def attention(heads_first: bool) -> Model:
        def split(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            if heads_first:
                return (x @ weight).view(4, 6, heads, depth).permute(0, 2, 1, 3)
            return (x @ weight).view(4, 6, depth, heads).permute(0, 3, 1, 2)

        def model(x: torch.Tensor) -> torch.Tensor:
            q, k, v = (split(torch.tanh(x), weight) for weight in weights)
            return torch.softmax(q @ k.mT * depth**-0.5, -1) @ v

        return model

    report = compared(attention(True), attention(False), TOKENS)
    kinds = [found.cause.kind for found in report.divergences]
    assert kinds == ["head-split-order"] * len(kinds)


def test_a_square_that_is_split_the_other_way_round_is_no_weight() -> None:
    """Of rows that no other value is multiplied with it is the split that differs."""
    dense = tensor(values_of(7, 36))

    def split(transposed: bool) -> Model:
        def model(x: torch.Tensor) -> torch.Tensor:
            rows = (torch.tanh(x) @ dense).view(4, 6, 6)
            return torch.cumsum(rows.mT if transposed else rows, 1)

        return model

    cause = cause_of(split(False), split(True), values_of(4, 7))
    assert (cause.kind, cause.confirmed) == ("head-split-order", True)


def test_a_square_is_split_where_it_is_and_not_where_its_multiple_is_read() -> None:
    dense = tensor(values_of(7, 36))

    def split(transposed: bool) -> Model:
        def model(x: torch.Tensor) -> torch.Tensor:
            rows = (torch.tanh(x) @ dense).view(4, 6, 6)
            rows = rows.mT if transposed else rows  # here they differ
            rows = -2.0 * rows
            return rows.amax(1)

        return model

    (found,) = compared(split(False), split(True), values_of(4, 7)).divergences
    assert "here they differ" in found.candidate.code


def test_pixels_are_shuffled_where_they_are_and_not_where_they_are_read() -> None:
    """Of 2 by 2 pixels of 2 channels each part that is moved has a look-alike on the other side."""
    first, then = tensor(values_of(8, 4, 3, 3)), tensor(values_of(5, 2, 3, 3))

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.sigmoid(F.conv2d(x, first, padding=1).permute(0, 2, 3, 1))
        parts = h.reshape(3, 5, 6, 2, 2, 2).permute(0, 1, 3, 2, 4, 5)
        image = parts.reshape(3, 10, 12, 2).permute(0, 3, 1, 2)  # in the reference here
        return F.conv2d(image, then)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.sigmoid(F.conv2d(x, first, padding=1))
        parts = h.reshape(3, 2, 2, 2, 5, 6).permute(0, 1, 4, 2, 5, 3)
        image = parts.reshape(3, 2, 10, 12)  # in the candidate here
        return F.conv2d(image, then)

    (found,) = compared(reference, candidate, IMAGES).divergences
    assert (found.cause.kind, found.cause.confirmed) == ("pixel-shuffle-order", True)
    assert "in the reference here" in found.reference.code
    assert "in the candidate here" in found.candidate.code
