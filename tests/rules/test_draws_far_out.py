"""What few samples of random draws do not show, and what hides beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.draws.draw import Draw, generator
from parity.draws.families import fresh
from parity.frameworks import load
from parity.inputs.preprocessing import record
from parity.model import as_arrays
from parity.numerics.difference import by_column, residual
from tests.rules.pairs import FIRST, X, compare, draw


def reasons(report: Any) -> str:
    return " ".join(report.worst.reasons)


# --- the ends of a distribution -------------------------------------------------------------------


def clipped(bound: float) -> Callable[..., Any]:
    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x @ FIRST) + torch.clamp(torch.randn(len(x), 6), -bound, bound)

    return model


def floored(least: float) -> Callable[..., Any]:
    def model(x: torch.Tensor) -> torch.Tensor:
        return x @ FIRST - torch.log(torch.rand(len(x), 6).clamp(min=least))

    return model


@pytest.mark.parametrize(("build", "right", "wrong"), [(clipped, 3.5, 5.0), (floored, 1e-3, 2e-4)])
def test_a_bound_that_few_samples_reach_is_compared(
    build: Callable[..., Any], right: float, wrong: float
) -> None:
    assert compare(build(right), build(right)).verdict == "parity"
    assert compare(build(right), build(wrong)).verdict != "parity"


def test_samples_far_out_are_some_that_could_be_drawn() -> None:
    normal = Draw("normal", {"mean": 0.0, "std": 1.0})
    usual, far = (fresh(normal, (4000,), generator(1), far=one) for one in (False, True))
    assert np.mean(np.abs(usual) > 3.5) < 2e-3
    assert np.mean(np.abs(far) > 3.5) > 0.02
    assert np.abs(far).max() < 4.5
    coin = Draw("bernoulli", {"p": 0.5})
    assert 0.45 < fresh(coin, (4000,), generator(1), far=True).mean() < 0.55


def test_draws_that_decide_how_many_rows_there_are_are_few() -> None:
    def picked(rate: float) -> Callable[..., Any]:
        def model(x: torch.Tensor) -> Any:
            h = torch.tanh(x @ FIRST)
            rows = h[torch.rand(len(x)) < rate]
            return (rows + 0.01 * torch.randn(rows.shape)).sum(0), h

        return model

    torch.manual_seed(2)
    report = compare(picked(0.9), picked(0.9))
    assert report.verdict == "unverified" and "do not run on fresh samples" in reasons(report)


# --- beside draws, and beside what is large -------------------------------------------------------


def test_a_column_counts_by_its_own_size() -> None:
    reference = np.stack([1e9 + np.arange(5.0), np.arange(5.0)], 1)
    candidate = reference + [0.0, 0.5]
    assert residual(reference, candidate) < 1e-9 < 0.1 < by_column(reference, candidate)
    assert by_column(reference, reference) == 0.0
    assert by_column(reference[:, 1], candidate[:, 1]) == residual(reference[:, 1], candidate[:, 1])


def test_a_scale_that_was_kept_shows_beside_a_clock() -> None:
    x = np.concatenate([np.arange(1.7e9, 1.7e9 + 640, 128)[:, None], X[:, 1:]], 1).astype("f")
    first = torch.tanh(0.1 * torch.from_numpy(x[:, 1:]) @ FIRST[1:]).abs().max()

    def model(kept: Any) -> Callable[..., Any]:
        def called(x: torch.Tensor) -> torch.Tensor:
            h = torch.tanh(0.1 * x[:, 1:] @ FIRST[1:])
            return torch.cat([x[:, :1], h / (h.abs().max() if kept is None else kept)], 1)

        return called

    assert compare(model(None), model(None), inputs=x).verdict == "parity"
    assert compare(model(None), model(first), inputs=x).verdict != "parity"


def test_names_that_were_kept_show_beside_draws() -> None:
    names = np.array(["left", "right", "up", "down", "jump", "wait"])
    kept = names[torch.tanh(torch.from_numpy(X) @ FIRST).argmax(1).numpy()].tolist()

    def model(stored: Any) -> Callable[..., Any]:
        def called(x: torch.Tensor) -> Any:
            q = torch.tanh(x @ FIRST)
            said = stored or names[q.argmax(1).numpy()].tolist()
            return {"value": q.amax(1) + 1e-3 * torch.randn(len(x)), "action": said}

        return called

    assert compare(model(None), model(None)).verdict == "parity"
    assert compare(model(None), model(kept)).verdict == "unverified"


@pytest.mark.parametrize("inputs", [X[:1], X], ids=["one", "five"])
def test_a_scale_that_was_kept_of_a_single_sample_shows(inputs: Any) -> None:
    kept = torch.tanh(0.1 * torch.from_numpy(inputs) @ FIRST).abs().max()

    def model(stored: Any) -> Callable[..., Any]:
        def called(x: torch.Tensor) -> torch.Tensor:
            h = torch.tanh(0.1 * x @ FIRST)
            return h / (h.abs().max() if stored is None else stored)

        return called

    assert compare(model(None), model(None), inputs=inputs).verdict == "parity"
    assert compare(model(None), model(kept), inputs=inputs).verdict != "parity"


def test_what_follows_the_samples_lengths_is_said_not_to_be_known() -> None:
    lengths = np.array([2, 6, 4, 3, 7])
    x = draw.standard_normal((5, 7, 3)).astype("f") * (np.arange(7) < lengths[:, None])[..., None]

    def model(x: torch.Tensor) -> torch.Tensor:
        own = (x != 0).any(2).sum(1).tolist()
        h = torch.stack([row[:n].sum(0) for row, n in zip(x, own, strict=True)])
        return h + 1e-3 * torch.randn(h.shape)

    report = compare(model, model, inputs=x.astype("f"))
    assert report.verdict == "unverified" and "follows the samples" in reasons(report)


# --- what the host does with draws ----------------------------------------------------------------


@pytest.mark.parametrize("read", ["tolist", "numpy"])
def test_draws_that_python_gets_cannot_be_followed(read: str) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        q = torch.tanh(x @ FIRST)
        coins = getattr(torch.rand(len(x)), read)()
        best = [0 if coin < 1e-4 else int(a) for coin, a in zip(coins, q.argmax(1), strict=True)]
        return q[torch.arange(len(x)), torch.tensor(best)]

    report = compare(model, model)
    assert report.verdict == "unverified" and "gives random draws to Python" in reasons(report)


def test_an_action_that_is_returned_as_an_array_is_followed() -> None:
    def model(x: torch.Tensor) -> Any:
        return (torch.tanh(x @ FIRST) + 0.1 * torch.randn(len(x), 6)).numpy()

    assert compare(model, model).verdict == "parity"


def test_noise_by_numpy_that_nobody_can_follow_is_no_alarm() -> None:
    class Walk:
        def __init__(self) -> None:
            self.state = np.zeros(6)

        def __call__(self, count: int) -> Any:
            found = []
            for _ in range(count):
                self.state = 0.85 * self.state + 0.2 * np.random.randn(6)
                found.append(self.state)
            return np.array(found, np.float32)

    def port() -> Callable[..., Any]:
        walk = Walk()
        return lambda x: torch.tanh(x @ FIRST) + torch.from_numpy(walk(len(x)))

    assert compare(port(), port()).verdict == "unverified"


# --- large tables ---------------------------------------------------------------------------------


def test_a_large_table_that_is_made_and_then_moved_can_be_replayed() -> None:
    table = torch.from_numpy(draw.standard_normal((7, 70_000)).astype("f"))

    def model(x: torch.Tensor) -> torch.Tensor:
        w = table / torch.linalg.vector_norm(table, dim=0)
        return torch.tanh(x @ w[:, :2]) + 0.1 * torch.randn(len(x), 2)

    tape = record(parity.wrap(model, framework="torch"), as_arrays(X))
    assert load("torch") is tape.adapter
    assert tape.outputs_of("float64")["output"].shape == (5, 2)
    assert compare(model, model).verdict == "parity"
