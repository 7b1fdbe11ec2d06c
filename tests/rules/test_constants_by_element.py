"""Constants computed in float32 differ everywhere; a single element that differs is a fault."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

import parity
from parity.numerics.accounting import is_progression, rounded_constants
from parity.numerics.limits import ACCOUNTED, U32

tf = pytest.importorskip("tensorflow")

X = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
LOG_STD = np.random.default_rng(5).standard_normal(4000).astype(np.float32)


def verdict(reference: np.ndarray, candidate: np.ndarray) -> str:
    def torch_model(x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"mean": torch.tanh(x), "std": torch.exp(torch.from_numpy(reference))}

    def tensorflow_model(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"mean": tf.tanh(x), "std": tf.exp(tf.constant(candidate))}

    return parity.compare(
        parity.wrap(torch_model, framework="torch"),
        parity.wrap(tensorflow_model, framework="tensorflow"),
        inputs=X,
    ).verdict


@pytest.mark.parametrize("off", [1e-5, 1e-4, 1e-2])
def test_one_of_thousands_is_not_excused_by_the_size_of_the_others(off: float) -> None:
    wrong = LOG_STD.copy()
    wrong[1234] += np.float32(off)
    assert verdict(LOG_STD, LOG_STD) == "parity"
    assert verdict(LOG_STD, wrong) != "parity"


@pytest.mark.parametrize("last", [1e-3, 1e-4, 1e-5])
def test_a_small_constant_beside_large_ones_counts_by_its_own_size(last: float) -> None:
    scale = np.array([1e4, 1e2, 1, 1e-2, last], np.float32)
    other = scale.copy()
    other[-1] *= 1.5

    def compared(kept: np.ndarray) -> str:
        return parity.compare(
            parity.wrap(lambda x: torch.tanh(x) * torch.from_numpy(scale), framework="torch"),
            parity.wrap(lambda x: tf.tanh(x) * kept, framework="tensorflow"),
            inputs=np.random.default_rng(1).standard_normal((8, 5)).astype(np.float32),
        ).verdict

    assert compared(scale) == "parity"
    assert compared(other) != "parity"


@pytest.mark.parametrize("count", [11, 51, 101, 601])
@pytest.mark.parametrize(("low", "high"), [(-10, 10), (-20, 20), (-300, 300), (0, 200), (-1, 0.7)])
def test_supports_that_were_computed_in_other_ways_are_rounded(
    low: float, high: float, count: int
) -> None:
    step = (high - low) / (count - 1)
    made = [
        torch.linspace(low, high, count).numpy(),
        np.linspace(low, high, count).astype(np.float32),
        tf.linspace(np.float32(low), np.float32(high), count).numpy(),
        np.float32(low) + np.arange(count, dtype=np.float32) * np.float32(step),
        (low + torch.arange(count) * step).numpy(),
    ]
    for a in made:
        for b in made:
            one, other = a.astype(np.float64), b.astype(np.float64)
            size = np.maximum(np.abs(one), np.abs(other))
            allowed = np.maximum(16 * U32 * size, 2 * ACCOUNTED * rounded_constants(one, other))
            assert (np.abs(one - other) <= allowed).all()


@pytest.mark.parametrize(("end", "count", "atom"), [(10, 51, 0), (10, 51, 25), (300, 601, 301)])
def test_a_value_of_one_atom_alone_is_as_exact_as_the_support(
    end: float, count: int, atom: int
) -> None:
    """A distributional head that is sure of one atom; the middle one is zero up to rounding."""
    kernel = np.random.default_rng(3).standard_normal((4, count)).astype(np.float32)
    sure = np.zeros((6, count), np.float32)
    sure[0, atom] = 200  # of one sample only
    made = (
        np.linspace(-end, end, count, dtype=np.float32),
        torch.linspace(-end, end, count).numpy(),
    )

    def mean(support: np.ndarray) -> Callable[[torch.Tensor], torch.Tensor]:
        def model(x: torch.Tensor) -> torch.Tensor:
            logits = x @ torch.from_numpy(kernel) + torch.from_numpy(sure)
            return (torch.softmax(logits, 1) * torch.from_numpy(support)).sum(1)

        return model

    def verdict(other: np.ndarray) -> str:
        models = (parity.wrap(mean(one), framework="torch") for one in (made[0], other))
        return parity.compare(*models, inputs=X).verdict

    assert verdict(made[0]) == verdict(made[1]) == "parity"
    late = made[1].copy()
    late[atom] += np.float32(1e-6 * end)
    assert verdict(late) != "parity"


def test_only_what_was_computed_from_its_ends_is_as_exact_as_those() -> None:
    even = np.linspace(-300, 300, 601, dtype=np.float32).astype(np.float64)
    assert is_progression(even) and is_progression(np.tile(even, (2, 3, 1)))
    bent = even.copy()
    bent[300] += 1e-3
    assert not is_progression(bent)
    assert not is_progression(np.array([1.0, 1.5, 1e-5, 2e-5]))
    assert not is_progression(np.zeros(5)) and not is_progression(np.array([1.0, 2.0]))


def test_without_float64_a_difference_that_rounding_could_hide_is_not_parity() -> None:
    weights = np.random.default_rng(2).standard_normal((4, 4)).astype(np.float32)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.tanh(x @ torch.from_numpy(weights)) + 1000, 1)

    def port(factor: float):
        def model(x: np.ndarray) -> np.ndarray:
            h = np.tanh(x.astype(np.float32) @ weights) + np.float32(1000)
            e = np.exp(h - h.max(1, keepdims=True))
            return (np.float32(factor) * e / e.sum(1, keepdims=True)).astype(np.float32)

        return parity.wrap(model, framework="numpy")

    wrapped = parity.wrap(reference, framework="torch")
    assert parity.compare(wrapped, port(1), inputs=X).verdict == "parity"
    assert parity.compare(wrapped, port(1.0002), inputs=X).verdict != "parity"
