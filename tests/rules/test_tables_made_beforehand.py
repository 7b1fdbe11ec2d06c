"""A table made beforehand in float32 is the one that the other model computes as it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import parity

tf = pytest.importorskip("tensorflow")

X = np.random.default_rng(0).standard_normal((2, 3000, 6)).astype("f")
LONGEST = 4000


class Held(torch.nn.Module):
    """Adds a wave for each place, as it was computed when the model was made."""

    def __init__(self, period: float, length: int = X.shape[1]) -> None:
        super().__init__()
        phase = torch.arange(length).float()[:, None] / (period + torch.arange(6).float())
        self.register_buffer("wave", phase.sin())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x) + self.wave[: x.shape[1]]


def computing(x: Any) -> Any:
    phase = tf.range(X.shape[1], dtype=tf.float32)[:, None] / (7 + tf.range(6, dtype=tf.float32))
    return tf.tanh(x) + tf.sin(phase)


def verdict(held: torch.nn.Module, held_first: bool = False) -> str:
    models = parity.wrap(computing, framework="tensorflow"), parity.wrap(held)
    return parity.compare(*(models[::-1] if held_first else models), inputs=X).verdict


@pytest.mark.parametrize("held_first", [False, True])
@pytest.mark.parametrize("length", [X.shape[1], LONGEST])
def test_a_table_is_what_ran(length: int, held_first: bool) -> None:
    assert verdict(Held(7, length), held_first) == "parity"


@pytest.mark.parametrize("held_first", [False, True])
@pytest.mark.parametrize("period", [7 + 1e-3, 7.5])
def test_a_table_of_another_period_is_another(period: float, held_first: bool) -> None:
    assert verdict(Held(period), held_first) == "diverged"


@pytest.mark.parametrize("off", [1e-4, 1e-2])
def test_one_element_of_a_table_that_is_off_is_seen(off: float) -> None:
    held = Held(7)
    held.wave[1234, 2] += off
    assert verdict(held) != "parity"


def test_weights_whose_bits_are_cut_are_no_table() -> None:
    """Float64 has twice as many bits, from which integers of 32 bits are read."""
    weight = np.random.default_rng(1).standard_normal((6, 40)).astype("f")

    def cut(x: torch.Tensor) -> torch.Tensor:
        bits = torch.from_numpy(weight).view(torch.int32) & ~0x1FFF
        return torch.tanh(x) @ bits.view(torch.float32)

    models = (lambda x: tf.tanh(x) @ weight), cut
    wrapped = [parity.wrap(*one) for one in zip(models, ("tensorflow", "torch"), strict=True)]
    assert parity.compare(*wrapped, inputs=X[:, :5]).verdict == "diverged"


def test_a_table_of_another_length_in_float64_is_what_ran() -> None:
    """Which values stay the same by a tenth of ten of them is a matter of rounding."""
    places = np.maximum(np.arange(3000, dtype="f") - 5, 0) / 7
    held = torch.from_numpy(np.sin(places[places * np.float32(0.1) * 10 == places]))

    def picking(x: Any) -> Any:
        kept = tf.constant(places)
        return x[0, :1, :1] * tf.sin(tf.boolean_mask(kept, kept * 0.1 * 10 == kept))

    models = parity.wrap(picking, framework="tensorflow"), lambda x: x[0, :1, :1] * held
    other = parity.wrap(models[1], framework="torch")
    assert parity.compare(models[0], other, inputs=X).verdict == "parity"
