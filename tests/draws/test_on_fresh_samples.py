"""What only fresh samples show: in rows beside large ones, in rates, in floors; and streams."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from parity.report.report import Report

draw = np.random.default_rng(5)
X = draw.normal(size=(6, 5)).astype("f")
W = draw.normal(size=(5, 4)).astype("f")

Model = Callable[..., Any]


def compared(candidate: Model, reference: Model, inputs: Any = X) -> Report:
    return parity.compare(
        parity.wrap(reference, framework="tensorflow", name="net"),
        parity.wrap(candidate, framework="torch", name="port"),
        inputs=inputs,
    )


def hidden(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return torch.tanh(x @ torch.from_numpy(W))
    return tf.tanh(tf.matmul(x, W))


# --- slices, rates, floors ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "verdicts"), [(99.0, {"parity"}), (2.2, {"diverged", "unverified"})]
)
def test_a_clip_shows_in_a_row_beside_much_larger_ones(limit: float, verdicts: set[str]) -> None:
    def rows(x: Any) -> Any:
        h = hidden(x)[:, 0]
        noisy = h + 0.1 * torch.randn(h.shape).clamp(-limit, limit)
        return torch.stack([12e6 + x[:, 0], 16e6 + x[:, 1], noisy])

    def reference(x: Any) -> Any:
        h = hidden(x)[:, 0]
        noisy = h + 0.1 * tf.random.normal(tf.shape(h))
        return tf.stack([12e6 + x[:, 0], 16e6 + x[:, 1], noisy])

    assert compared(rows, reference).verdict in verdicts


@pytest.mark.parametrize(
    ("most", "verdicts"), [(99.0, {"parity"}), (1.6, {"diverged", "unverified"})]
)
def test_a_rate_that_is_drawn_is_the_same_on_fresh_samples(most: float, verdicts: set[str]) -> None:
    def demand(x: Any) -> Any:
        h = hidden(x)[:, 0]
        return torch.poisson(torch.exp(1 + h + 2 * torch.randn(h.shape).clamp(max=most)))

    def reference(x: Any) -> Any:
        h = hidden(x)[:, 0]
        return tf.random.poisson((), tf.exp(1 + h + 2 * tf.random.normal(tf.shape(h))))

    assert compared(demand, reference).verdict in verdicts


def test_a_floor_of_noise_is_a_decision() -> None:
    def works(chance: float) -> Model:
        def model(x: Any) -> Any:
            s, works = torch.zeros(1, 4), 1 - 2 * torch.floor(torch.rand(1, 1) + chance)
            for _ in range(500):
                s = torch.tanh(0.9 * s + works * hidden(x[:1]))
            return s

        return model

    report = parity.compare(
        *(parity.wrap(works(one), framework="torch", name="net") for one in (0.01, 0.06)), inputs=X
    )
    assert report.verdict == "unverified"


# --- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "verdict"), [(2, "parity"), (1, "unverified")])
def test_two_laws_from_one_state_of_a_generator_go_together(seed: int, verdict: str) -> None:
    class Port:
        def __init__(self) -> None:
            self.coins = torch.Generator().manual_seed(1)
            self.noise = torch.Generator().manual_seed(seed)

        def __call__(self, x: Any) -> Any:
            h = hidden(x)
            explores = torch.rand(len(x), generator=self.coins) < 0.5
            noise = torch.randn(h.shape, generator=self.noise)
            return torch.where(explores[:, None], h + 0.5 * noise, h)

    def reference(x: Any) -> Any:
        h = hidden(x)
        explores = tf.random.uniform((len(x),)) < 0.5
        return tf.where(explores[:, None], h + 0.5 * tf.random.normal(tf.shape(h)), h)

    inputs = draw.normal(size=(20, 5)).astype("f")
    assert compared(Port(), reference, inputs).verdict == verdict


@pytest.mark.parametrize(("scale", "verdict"), [(0.1, "parity"), (0.2, "diverged")])
def test_a_seed_of_the_clock_is_chance(scale: float, verdict: str) -> None:
    def port(x: Any) -> Any:
        h, rng = hidden(x), torch.Generator().manual_seed(int(time.time()))
        return h + scale * torch.randn(h.shape, generator=rng)

    def reference(x: Any) -> Any:
        h = hidden(x)
        return h + 0.1 * tf.random.normal(tf.shape(h))

    before = time.time
    assert compared(port, reference).verdict == verdict
    assert time.time is before


@pytest.mark.parametrize(("resets", "verdict"), [(False, "parity"), (True, "diverged")])
def test_a_generator_that_each_call_sets_back_draws_the_same_again(
    resets: bool, verdict: str
) -> None:
    class Agent(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rng = tf.random.Generator.from_seed(1)

        def __call__(self, x: Any) -> Any:
            h = hidden(x)
            if resets:
                self.rng.reset_from_seed(1)
            return h + 0.1 * self.rng.normal(tf.shape(h)), h + self.rng.normal(tf.shape(h))

    def reference(x: Any) -> Any:
        h = hidden(x)
        return h + 0.1 * torch.randn(h.shape), h + torch.randn(h.shape)

    agent = Agent()
    agent.rng.normal((3,))  # it has drawn before
    sides = parity.wrap(reference, framework="torch"), parity.wrap(agent, framework="tensorflow")
    assert parity.compare(*sides, inputs=X).verdict == verdict


@pytest.mark.parametrize(("most", "verdict"), [(8, "unverified"), (4, "diverged")])
def test_places_modulo_are_one_law_forwards_and_backwards(most: int, verdict: str) -> None:
    def backwards(x: Any) -> Any:
        steps = torch.randint(0, most, (len(x), 1))
        return torch.gather(x, 1, (torch.arange(8) - steps) % 8)

    def forwards(x: Any) -> Any:
        steps = tf.random.uniform((len(x), 1), 0, 8, tf.int32)
        return tf.gather(x, (tf.range(8) + steps) % 8, axis=1, batch_dims=1)

    windows = np.arange(8, dtype="f") ** 2 + draw.normal(size=(2000, 8)).astype("f")
    assert compared(backwards, forwards, windows).verdict == verdict


# --- beside draws ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("turn", "verdict"), [(np.pi, "unverified"), (3.1, "diverged")])
def test_either_side_of_a_cut_is_no_alarm_beside_a_noisy_action(turn: float, verdict: str) -> None:
    off = np.array([-np.pi, 0.3, 4.0, -1.2, -5.5, 2.9], "f")

    def port(x: Any, off: Any) -> Any:
        h = hidden(x)
        turned = off * (np.pi / turn)
        return torch.atan2(turned.sin(), turned.cos()), h + 0.1 * torch.randn(h.shape)

    def reference(x: Any, off: Any) -> Any:
        h = hidden(x)
        wrapped = tf.math.floormod(off + np.pi, 2 * np.pi) - np.pi
        return wrapped, h + 0.1 * tf.random.normal(tf.shape(h))

    assert compared(port, reference, (X, off)).verdict == verdict


@pytest.mark.parametrize(("again", "verdict"), [(0.1, "unverified"), (0.2, "diverged")])
def test_float64_alone_is_no_alarm_beside_a_noisy_action(again: float, verdict: str) -> None:
    seen = np.array([[1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]], "f")

    def port(x: Any) -> Any:
        h = hidden(x)
        scores = 3 * h + (1 - torch.from_numpy(seen)) * -1e9
        return torch.softmax(scores, 1), h + again * torch.randn(h.shape)

    def reference(x: Any) -> Any:
        h = hidden(x)
        scores = tf.where(tf.constant(seen) > 0, 3 * h, -1e9)
        return tf.nn.softmax(scores, 1), h + 0.1 * tf.random.normal(tf.shape(h))

    assert compared(port, reference, X[:5]).verdict == verdict
