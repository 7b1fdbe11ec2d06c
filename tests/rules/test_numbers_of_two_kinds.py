"""Outputs of two kinds, such as integers beside floats, are compared as they ran too."""

from __future__ import annotations

import numpy as np
import torch

from tests.rules.pairs import compare, draw

IDS = np.random.default_rng(11).integers(10**8, 2 * 10**9, (12, 3))
SIGNAL = draw.standard_normal((6, 32)).astype("f")


def buckets(ids: torch.Tensor) -> torch.Tensor:
    return torch.stack([ids, ids % 97], 2)


def buckets_in_floats(ids: torch.Tensor) -> torch.Tensor:
    wide = ids.float()
    return torch.stack([wide, wide % 97], 2)


def test_integers_beside_floats_that_lost_their_digits_are_no_parity() -> None:
    assert compare(buckets, buckets_in_floats, inputs=IDS).verdict == "unverified"
    assert compare(buckets, lambda ids: buckets(ids).float(), inputs=IDS).verdict == "parity"


def filtered(x: torch.Tensor) -> torch.Tensor:
    spectrum = torch.fft.fft(x.to(torch.complex64))
    at = torch.arange(32)
    return torch.fft.ifft(spectrum * ((at < 6) | (at > 26)))


def filtered_beside(offset: float) -> object:
    def model(x: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft(x + offset)
        return torch.fft.irfft(spectrum * (torch.arange(17) < 6)) - offset

    return model


def test_real_numbers_that_lost_their_digits_beside_complex_ones_are_no_parity() -> None:
    assert compare(filtered, filtered_beside(3e4), inputs=SIGNAL).verdict == "unverified"
    assert compare(filtered, filtered_beside(0.0), inputs=SIGNAL).verdict == "parity"
    assert compare(filtered_beside(0.0), filtered, inputs=SIGNAL).verdict == "parity"
