"""Images cut at other sides, and what looks like it."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

IMAGES, KERNEL = values(2, 3, 5, 6), tensor(values(3, 4, 3, 3))


def cut(top, left, stretched=True):
    """A transposed convolution, or a plain one, of which 8 rows and 9 columns are kept."""

    def run(x):
        x = torch.tanh(x)
        if stretched:
            made = F.conv_transpose2d(x, KERNEL, stride=2)
        else:
            made = F.conv2d(F.pad(x, (4, 4, 4, 4)), KERNEL.transpose(0, 1))
        return torch.tanh(made[:, :, top : top + 8, left : left + 9]) * 2

    return run


@pytest.mark.parametrize("starts", [((0, 0), (1, 1)), ((1, 0), (0, 0)), ((2, 1), (1, 2))])
def test_a_transposed_convolution_cut_elsewhere(starts):
    reference, candidate = starts
    cause = cause_of(cut(*reference), cut(*candidate), IMAGES)
    assert cause.kind == "transposed-conv-crop"
    assert cause.parameters == {"start": ((0, 0, *reference), (0, 0, *candidate))}


def test_another_cut_is_no_resize_and_no_transposed_convolution():
    assert kind(cut(0, 0, False), cut(1, 1, False), IMAGES) not in (
        "resize-rounding",
        "resize-coordinates",
        "transposed-conv-crop",
    )


def test_a_smaller_image_is_no_cut():
    """Every second pixel is a part of the image, but not a piece of it."""

    def smaller(first):
        return lambda x: torch.tanh(
            F.conv_transpose2d(x, KERNEL)[:, :, first::2, first::2][..., :3]
        )

    assert kind(smaller(0), smaller(1), IMAGES[..., :5]) != "transposed-conv-crop"
