"""Resized images."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from parity.diagnosis.causes.resize import Resize, resize
from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

IMAGES = values(2, 3, 9, 10)


def resized(size=(15, 13), **options):
    return lambda x: F.interpolate(torch.tanh(x), size=size, **options) * 2


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_coordinates(mode):
    cause = cause_of(resized(mode=mode), resized(mode=mode, align_corners=True), IMAGES)
    assert cause.kind == "resize-coordinates"
    assert cause.parameters["coordinates"] == ("half-pixel", "align-corners")


def test_rounding_of_the_nearest():
    reference, candidate = resized(mode="nearest"), resized(mode="nearest-exact")
    assert kind(reference, candidate, IMAGES) == "resize-rounding"


def test_another_method():
    cause = cause_of(resized(mode="bilinear"), resized((18, 20), mode="nearest"), IMAGES)
    assert cause is None  # of another size
    cause = cause_of(resized((18, 20), mode="bilinear"), resized((18, 20), mode="nearest"), IMAGES)
    assert (cause.kind, cause.parameters["method"]) == ("resize-method", ("linear", "nearest"))


def test_a_resized_image_times_two_is_not_resized_differently():
    candidate = resized(mode="bilinear")
    found = kind(resized(mode="bilinear"), lambda x: candidate(x) * x.mean(), IMAGES)
    assert found not in {"resize-coordinates", "resize-rounding", "resize-method"}


@pytest.mark.parametrize(
    ("options", "one"),
    [
        ({"mode": "bilinear"}, Resize("linear", "half-pixel")),
        ({"mode": "bilinear", "align_corners": True}, Resize("linear", "align-corners")),
        ({"mode": "bilinear", "antialias": True}, Resize("antialiased linear", "half-pixel")),
        ({"mode": "bicubic", "antialias": True}, Resize("antialiased cubic", "half-pixel")),
        ({"mode": "bicubic"}, Resize("cubic", "half-pixel")),
        ({"mode": "nearest"}, Resize("nearest", "asymmetric", "floor")),
        ({"mode": "nearest-exact"}, Resize("nearest", "half-pixel", "half up")),
        ({"mode": "area"}, Resize("area", "half-pixel")),
    ],
)
@pytest.mark.parametrize("size", [(15, 13), (4, 7)])
def test_formulas_are_torchs(options, one, size):
    x = tensor(IMAGES).double()
    expected = F.interpolate(x, size=size, **options).numpy()
    found = resize(x.numpy(), size, (2, 3), one)
    assert abs(found - expected).max() < 1e-9


def sampled(size, **options):
    """What a function samples along an axis of so many pixels, as a table."""
    count, pixels = size
    rows = F.interpolate(torch.eye(pixels)[None, None], size=(count, pixels), **options)
    return rows[0, 0].contiguous()


@pytest.mark.parametrize(
    ("mode", "other", "expected"),
    [
        (
            {"mode": "bilinear"},
            {"mode": "bilinear", "align_corners": True},
            "resize-coordinates",
        ),
        ({"mode": "nearest"}, {"mode": "nearest-exact"}, "resize-rounding"),
    ],
)
@pytest.mark.parametrize("by_a_table", [(True, True), (True, False), (False, True)])
def test_tables_by_which_images_are_resized(mode, other, expected, by_a_table):
    def model(options, table):
        if not table:
            return resized((15, 13), **options)
        tables = sampled((15, 9), **options), sampled((13, 10), **options)
        return lambda x: torch.einsum("bchw,ih,jw->bcij", torch.tanh(x), *tables) * 2

    models = (model(one, table) for one, table in zip((mode, other), by_a_table, strict=True))
    assert kind(*models, IMAGES) == expected
