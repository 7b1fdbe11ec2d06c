"""Noise made from the same draws in another way is no divergence where its law is the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import parity

tf = pytest.importorskip("tensorflow")

W = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The faults of these models show in fewer runs, and many take half a minute."""
    monkeypatch.setattr("parity.diagnosis.limits.LAW_RUNS", 2000)


def verdict(function: str, scale: float = 1.0, batch: int = 16) -> str:
    """Box and Muller's normal numbers, by a cosine in torch, by another function in TensorFlow."""

    def reference(x: torch.Tensor) -> torch.Tensor:
        u, v = torch.rand(batch, 3), torch.rand(batch, 3)
        return x @ torch.from_numpy(W) + torch.sqrt(-2 * torch.log(1 - u)) * torch.cos(
            2 * math.pi * v
        )

    def candidate(x: tf.Tensor) -> tf.Tensor:
        u, v = tf.random.uniform((batch, 3)), tf.random.uniform((batch, 3))
        turn = getattr(tf, function)(2 * math.pi * v)
        return x @ W + scale * tf.sqrt(-2 * tf.math.log(1 - u)) * turn

    return parity.compare(
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="tensorflow"),
        inputs=np.random.default_rng(1).standard_normal((batch, 6)).astype(np.float32),
    ).verdict


@pytest.mark.parametrize("batch", [1, 16])
def test_a_sine_for_a_cosine_is_no_divergence(batch: int) -> None:
    assert verdict("cos", batch=batch) == "parity"
    assert verdict("sin", batch=batch) == "unverified"


@pytest.mark.parametrize("function", ["cos", "sin"])
def test_noise_of_another_scale_is_one(function: str) -> None:
    assert verdict(function, scale=1.3) == "diverged"


X = np.random.default_rng(1).standard_normal((8, 6)).astype(np.float32)


def of_torch(reference: Callable[..., Any], candidate: Callable[..., Any]) -> str:
    models = (parity.wrap(one, framework="torch") for one in (reference, candidate))
    return parity.compare(*models, inputs=X).verdict


@pytest.mark.parametrize(("scales", "wanted"), [((1, 1, 1), "parity"), ((1, 1, 0.5), "diverged")])
def test_heads_that_draw_in_another_order_keep_the_noise_of_their_name(
    scales: tuple[float, ...], wanted: str
) -> None:
    """With any noise each head is some other head of the reference: their names say which."""

    def in_order(h: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(h + 0.1 * torch.randn(h.shape) for _ in scales)

    def last_first(h: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(h + 0.1 * k * torch.randn(h.shape) for k in reversed(scales))[::-1]

    kernel = torch.from_numpy(W)
    assert of_torch(lambda x: in_order(x @ kernel), lambda x: last_first(x @ kernel)) == wanted


@pytest.mark.parametrize("samples_of", ["tiled", "repeated", "mixed up"])
def test_samples_in_other_rows_whose_means_are_one_in_law_are_no_divergence(
    samples_of: str,
) -> None:
    kernel = torch.from_numpy(W)

    def tiled(x: torch.Tensor) -> torch.Tensor:
        z = (x @ kernel).tile(4, 1)
        return (z + torch.randn(z.shape)).reshape(4, -1, 3).mean(0)

    def repeated(x: torch.Tensor) -> torch.Tensor:
        z = (x @ kernel).repeat_interleave(4, 0)
        z = z + torch.randn(z.shape)
        return z.reshape(4, -1, 3).mean(0) if samples_of == "mixed up" else z.view(-1, 4, 3).mean(1)

    other = tiled if samples_of == "tiled" else repeated
    wanted = {"tiled": "parity", "repeated": "unverified", "mixed up": "diverged"}
    assert of_torch(tiled, other) == wanted[samples_of]


@pytest.mark.parametrize("law", ["one", "turned round", "exchanged"])
def test_a_law_that_only_its_kernel_knows_is_held_to_what_the_kernel_gives(law: str) -> None:
    """1 minus a Beta is the Beta with exchanged parameters."""
    kernel = torch.from_numpy(W)

    def sampled(exchanged: bool, turned: bool) -> Callable[..., Any]:
        def model(x: torch.Tensor) -> torch.Tensor:
            a, b = torch.exp(x @ kernel), 2 + torch.tanh(x @ kernel)
            drawn = torch.distributions.Beta(*((b, a) if exchanged else (a, b))).sample()
            return 1 - drawn if turned else drawn

        return model

    other = sampled(law != "one", law == "turned round")
    wanted = {"one": "parity", "turned round": "unverified", "exchanged": "diverged"}
    before = torch.get_rng_state()
    assert of_torch(sampled(False, False), other) == wanted[law]
    assert torch.equal(torch.get_rng_state(), before)  # the kernel draws, not the user's code


@pytest.mark.parametrize(("power", "wanted"), [(1, "parity"), (2, "diverged")])
def test_noise_that_is_taken_off_is_found_beside_its_squares(power: int, wanted: str) -> None:
    """A log density of squares is the same for either sign, and does not show which it is."""
    kernel = torch.from_numpy(W)

    def latent(sign: int, power: int) -> Callable[..., Any]:
        def model(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            mean, std = x @ kernel, 0.2 + 0.3 * torch.sigmoid(x @ kernel)
            e = torch.randn(mean.shape)
            return mean + sign * std**power * e, (-0.5 * e**2 - torch.log(std)).sum(1)

        return model

    assert of_torch(latent(1, 1), latent(-1, power)) == wanted


@pytest.mark.parametrize(
    ("power", "given", "wanted"),
    [(1, False, {"parity"}), (2, False, {"diverged"}), (1, True, {"diverged", "unverified"})],
)
def test_noise_that_is_taken_off_is_found_beside_other_draws(
    power: int, given: bool, wanted: set[str]
) -> None:
    """But not where the noise itself is an output too: its sign then differs."""
    kernel = torch.from_numpy(W)

    def actor(sign: int, power: int) -> Callable[..., Any]:
        def model(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            x = x + 0.1 * torch.randn(x.shape)
            mean, std = x @ kernel, 0.2 + 0.3 * torch.sigmoid(x @ kernel)
            e = torch.randn(mean.shape)
            noise = std**power * e
            action = torch.tanh(mean + noise if sign > 0 else mean - noise)
            return action + torch.rand(action.shape), *((e,) if given else ())

        return model

    assert of_torch(actor(1, 1), actor(-1, power)) in wanted


@pytest.mark.parametrize(("turned", "wanted"), [(False, "unverified"), (True, "diverged")])
def test_noise_that_is_read_from_its_end_is_no_divergence(turned: bool, wanted: str) -> None:
    kernel, scale = torch.from_numpy(W), torch.tensor([0.1, 0.4, 1.6])

    def plan(from_its_end: bool, scale: torch.Tensor) -> Callable[..., Any]:
        def model(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            mean = x @ kernel
            e = torch.randn(mean.shape)
            read = e.flip(1) if from_its_end else e
            return mean + scale * read, (e**2).sum(1) - (mean**2).mean(1)

        return model

    assert of_torch(plan(False, scale), plan(True, scale.flip(0) if turned else scale)) == wanted
