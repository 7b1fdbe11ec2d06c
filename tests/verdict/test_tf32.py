"""Kernels that round what they multiply to TF32: known by their results, for there is no cast."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from parity.diagnosis.low_precision import to_tf32

X = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32)
# few bits, so that rounding changes x alone
W = torch.from_numpy(np.random.default_rng(1).integers(-8, 9, (40, 5)).astype(np.float32))


def sound(x):
    return x @ W


@torch.library.custom_op("parity_tests::product_in_tf32", mutates_args=())
def product_in_tf32(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """What a GPU does with TF32 on: float32 inputs are rounded, float64 ones are not."""
    if x.dtype == torch.float32:
        x = torch.from_numpy(to_tf32(x.numpy()).astype(np.float32))
    return x @ weight


@torch.library.custom_op("parity_tests::product_in_7_bits", mutates_args=())
def product_in_7_bits(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Another rounding."""
    if x.dtype == torch.float32:
        x = torch.from_numpy((x.numpy().view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32))
    return x @ weight


def on_tensor_cores(x):
    return product_in_tf32(x, W)


def coarser(x):
    return product_in_7_bits(x, W)


def compare(a, b):
    return parity.compare(*(parity.wrap(f, framework="torch") for f in (a, b)), inputs=X)


@pytest.mark.parametrize("models", [(sound, on_tensor_cores), (on_tensor_cores, sound)])
def test_tf32_is_noted_with_its_effect(models):
    report = compare(*models)
    assert report.verdict == "parity"
    (note,) = [n for n in report.worst.notes if n.kind == "low-precision"]
    assert "on_tensor_cores multiplies in TF32" in note.detail
    assert 2**-14 < note.residual < 2**-10


@pytest.mark.parametrize("models", [(sound, sound), (sound, coarser)])
def test_what_is_no_tf32_is_not_called_so(models):
    notes = compare(*models).worst.notes
    assert not any("TF32" in note.detail for note in notes)


def test_rounding_to_tf32():
    one = np.float32(1)
    step = np.float32(2**-10)
    exact = np.array([0, 1, -1, 1 + step, 1e30, np.inf], np.float32)
    np.testing.assert_array_equal(to_tf32(exact[:4]), exact[:4])
    assert to_tf32(np.array([one + step / 2]))[0] == 1  # ties to even
    assert to_tf32(np.array([one + 3 * step / 2]))[0] == 1 + 2 * step
    assert to_tf32(exact)[-1] == np.inf
    assert np.isnan(to_tf32(np.array([np.nan], np.float32)))[0]
