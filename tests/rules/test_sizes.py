"""Elements by their own size: right by luck, large as a mask, small in float64, of another rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as functional

import parity
from parity.numerics.rounding_noise import moved_by_rounding
from tests.rules.pairs import FIRST, X, compare, draw, weights


def gate(off: float) -> Callable[..., Any]:
    """A product one element of which is small, and off by 1e-5 of itself."""
    scale = torch.ones(7, 6)
    scale[0, 2] += off

    def model(x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.sigmoid(x) * x * scale
        return found

    return model


def test_a_small_element_is_not_right_by_its_neighbours_luck() -> None:
    x = draw.standard_normal((7, 6)).astype("f")
    x[0, 2] = 0.0143
    assert compare(gate(0.0), gate(0.0), inputs=x).verdict == "parity"
    assert compare(gate(0.0), gate(1.27e-5), inputs=x).verdict != "parity"


def test_moved_values_show_the_rounding_of_what_cancels() -> None:
    from parity.frameworks import load
    from parity.model import wrap

    third = torch.tensor(1 / 3)
    tape = load("torch").record(
        wrap(lambda x: torch.stack([x * third, x * third + 100.1 - 100.1]), "torch"), X
    )
    (output,) = tape.outputs.values()
    moved = moved_by_rounding(tape, [output])[output]
    assert moved[1].max() > 30 * moved[0].max()
    assert (moved[0] <= 4e-7 * np.abs(X)).all()


def account(loss: float, where: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    return lambda x: torch.where(where(x), -loss * x[:, :1], torch.tanh(x @ FIRST))


@pytest.mark.parametrize("one", [True, False])
def test_a_large_loss_is_no_mask(one: bool) -> None:
    x = draw.standard_normal((30, 7)).astype("f")
    x[7, 0] = 9.0
    if not one:
        x[8:10, 0] = 9.0
    large = lambda x: x[:, :1] > 5  # noqa: E731
    assert compare(account(2.8e6, large), account(2.8e6, large), inputs=x).verdict == "parity"
    assert compare(account(2.8e6, large), account(3.4e6, large), inputs=x).verdict == "diverged"


def masked(by: float, added: bool) -> Callable[..., Any]:
    def model(x: torch.Tensor) -> torch.Tensor:
        h = x @ FIRST
        hide = torch.zeros(h.shape, dtype=torch.bool)
        hide[1, 2] = True
        return h + by * hide if added else torch.where(hide, torch.tensor(by), h)

    return model


@pytest.mark.parametrize("other", [-float("inf"), -1e8, float(np.finfo(np.float32).min)])
def test_a_single_masked_value_is_one_whatever_hides_it(other: float) -> None:
    assert compare(masked(-1e9, True), masked(other, False)).verdict == "parity"
    assert compare(masked(-1e9, False), masked(other, False)).verdict == "parity"


@pytest.mark.parametrize("other", [-float("inf"), -1e8])
def test_a_mask_may_depend_on_the_inputs_and_be_scaled(other: float) -> None:
    def hiding(by: float) -> Callable[..., Any]:
        return lambda x: (x @ FIRST).masked_fill(x[:, :6] < -1, by) / 2.5

    assert compare(hiding(-1e9), hiding(other)).verdict == "parity"
    assert compare(hiding(other), hiding(-1e9)).verdict == "parity"


def penalties(weight: float, penalty: float = 2e7) -> Callable[..., Any]:
    """A penalty for each limit that is passed, where three of them are; one has a weight."""
    counts = torch.tensor([1, 1, 1, weight, 0, 0, 0])

    def model(x: torch.Tensor) -> torch.Tensor:
        passed = ((x > 1).float() * counts).sum(1)
        return torch.tanh(x.sum(1)) - penalty * torch.where(passed > 2.5, passed, 0.0)

    return model


def holdings(price: float) -> Callable[..., Any]:
    """Whole shares at whole prices, where these come to millions."""
    prices = torch.tensor([1, 3, 2, price, 7, 5, 1])
    return lambda x: torch.where(x * prices < -1e6, x * prices, x / 7)


def test_a_number_that_is_computed_of_whole_ones_is_no_mask() -> None:
    x = np.clip(X, -1, 0.5)
    x[3, 1:4] = 2.0
    assert compare(penalties(1.0), penalties(1.0), inputs=x).verdict == "parity"
    report = compare(penalties(1.0), penalties(2.0), inputs=x)
    assert report.verdict == "unverified" and "mask" in report.worst.reasons[0]
    shares = draw.integers(1, 40, (6, 7)).astype("f")
    shares[2, 3] = -25000
    assert compare(holdings(1000), holdings(1000), inputs=shares).verdict == "parity"
    assert compare(holdings(1000), holdings(1240), inputs=shares).verdict == "unverified"


def test_small_probabilities_in_float64_count_by_their_own_size() -> None:
    weight = 12 * weights(7, 4).double()

    class Tails(torch.nn.Module):
        def __init__(self, floor: float) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(weight)
            self.floor = floor

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.softmax(x @ self.weight, 1) + self.floor

    x = X.astype(np.float64)
    assert torch.softmax(torch.from_numpy(x) @ weight, 1).min() < 1e-12  # or no floor would show
    assert parity.compare(Tails(0.0), Tails(0.0), inputs=x).verdict == "parity"
    assert parity.compare(Tails(0.0), Tails(1e-12), inputs=x).verdict == "diverged"


def test_pairs_of_steps_are_no_images() -> None:
    x = draw.standard_normal((2, 3, 6)).astype("f")
    kernel = weights(4, 3, 2)

    def pairs(x: torch.Tensor) -> torch.Tensor:
        h = functional.conv1d(x, kernel)
        return torch.tanh(h[:, :, :, None] + 2 * h[:, :, None, :])

    assert compare(pairs, pairs, inputs=x).verdict == "parity"
    turned = compare(pairs, lambda x: pairs(x).permute(0, 2, 3, 1), inputs=x)
    assert turned.verdict == "diverged"


def test_images_of_another_layout_are_one() -> None:
    x = draw.standard_normal((2, 3, 6, 5)).astype("f")
    kernel = weights(4, 3, 2, 2)

    def images(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(functional.conv2d(x, kernel))

    turned = compare(images, lambda x: images(x).permute(0, 2, 3, 1), inputs=x)
    assert turned.verdict == "parity"


def test_each_value_is_rounded_by_itself_in_some_draw() -> None:
    """Where a distribution is all in one atom, the rounding of that atom is all there is."""
    from parity.frameworks import load
    from parity.model import wrap

    atoms = torch.linspace(-10, 10, 501)
    tape = load("torch").record(
        wrap(lambda x: ((torch.eye(501) * 1e4 + x).softmax(-1) * atoms).sum(-1), "torch"),
        np.zeros((1, 501), "f"),
    )
    (output,) = tape.outputs.values()
    assert (moved_by_rounding(tape, [output])[output] > 5e-7).all()
