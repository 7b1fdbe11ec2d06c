"""Rotary positions of another width, and of another base with it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from parity.diagnosis.causes.rotary import Turn, read_off, spaced_otherwise
from tests.rules.pairs import compare, kinds, summaries, weights

STEPS = np.random.default_rng(11).standard_normal((2, 9, 7)).astype("f")
KERNELS, OUT = [weights(7, 8) / 2 for _ in range(3)], weights(8, 4)


def turned(x, width=8, base=1e4, halves=False, start=0, scaled=1.0):
    places = torch.arange(9) * scaled + start
    angles = places[:, None] * base ** (-torch.arange(0, width, 2) / width)
    angles = torch.cat([angles, angles], -1) if halves else angles.repeat_interleave(2, -1)
    some = x[..., :width]
    if halves:
        other = torch.cat([-some[..., width // 2 :], some[..., : width // 2]], -1)
    else:
        other = torch.stack([-some[..., 1::2], some[..., ::2]], -1).flatten(-2)
    made = some * torch.cos(angles) + other * torch.sin(angles)
    return torch.cat([made, x[..., width:]], -1) if width < x.shape[-1] else made


def attends(x, **how):
    q, k, v = (x @ one for one in KERNELS)
    shares = torch.softmax(turned(q, **how) @ turned(k, **how).transpose(1, 2) / 8**0.5, -1)
    return torch.tanh(shares @ v) @ OUT


@pytest.mark.parametrize(
    ("reference", "candidate", "said"),
    [
        ({"width": 4}, {"width": 8}, "width 8, the reference's 4"),
        ({}, {"width": 6}, "width 6, the reference's 8"),
        ({"halves": True}, {"halves": True, "width": 4}, "width 4, the reference's 8"),
        ({"width": 4}, {"base": 500.0}, "width 8, the reference's 4; base 500.0, the reference's"),
    ],
    ids=["wider", "narrower", "of halves", "of another base"],
)
def test_parameters_of_rotary_positions(reference, candidate, said) -> None:
    report = compare(
        lambda x: attends(x, **reference), lambda x: attends(x, **candidate), inputs=STEPS
    )
    assert kinds(report) == ["rotary-parameters"]
    assert said in summaries(report)


def test_positions_that_are_scaled_are_no_other_base() -> None:
    report = compare(lambda x: attends(x), lambda x: attends(x, scaled=0.5), inputs=STEPS)
    assert report.verdict == "diverged" and "rotary-parameters" not in kinds(report)


def test_frequencies_that_go_up_to_the_base_are_spaced_otherwise() -> None:
    def found(exponents: np.ndarray) -> Turn:
        angles = np.arange(5)[:, None] * 10000.0**-exponents
        x = np.random.default_rng(0).standard_normal((2, 5, 8))
        pairs = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
        turned = read_off(x, np.stack([pairs.real, pairs.imag], -1).reshape(x.shape))
        assert turned is not None
        return turned[1]

    usual, to_the_end = found(np.arange(4) / 4), found(np.linspace(0, 1, 4))
    name = "base 10000.0 to the power of"
    assert spaced_otherwise(to_the_end, usual) == {name: ("i / 3", "i / 4")}
    assert spaced_otherwise(usual, to_the_end) == {name: ("i / 4", "i / 3")}
    assert spaced_otherwise(usual, found(np.log(500) / np.log(1e4) * np.arange(4) / 4)) == {}
