"""NumPy ports that round to float32 inside: no float64, so rounding is measured another way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.frameworks import numpy as adapter

draw = np.random.default_rng(0)
X = draw.standard_normal((64, 16)).astype("f")
WEIGHTS = [draw.standard_normal((16, 16)).astype("f") / 4 for _ in range(6)]
SINGLE = np.float32
SHIFT = 100.0  # which takes bits from a float32, in every model that computes in it


def reference(x: torch.Tensor) -> torch.Tensor:
    for weight in WEIGHTS:
        x = torch.tanh(x @ torch.from_numpy(weight)) + SHIFT - SHIFT
    return torch.softmax(3 * x, -1)


def port(cast: str, factor: float = 1.0) -> Any:
    def model(x: Any) -> Any:
        x = x.astype(SINGLE) if cast == "inputs" else x
        for index, weight in enumerate(WEIGHTS):
            x = np.tanh(x @ weight * (factor if index == 3 else 1))
            x = x + SHIFT
            x = x.astype(SINGLE).astype(np.float64) if cast == "inside" else x
            x = x - SHIFT
        exp = np.exp(3 * x - (3 * x).max(-1, keepdims=True))
        found = exp / exp.sum(-1, keepdims=True)
        return found.astype(SINGLE) if cast == "outputs" else found

    return parity.wrap(model, "numpy")


CASTS = ["inputs", "inside", "outputs"]
REFERENCE = parity.wrap(reference, "torch")


@pytest.mark.parametrize("cast", CASTS)
def test_a_correct_port_that_casts_is_parity(cast: str) -> None:
    for pair in ((REFERENCE, port(cast)), (port(cast), REFERENCE)):
        found = parity.compare(*pair, inputs=X).comparisons[0]
        assert found.verdict == "parity"
        assert [note.kind for note in found.notes] == ["null-distribution"]


@pytest.mark.parametrize("factor", [1.01, 1.1])
@pytest.mark.parametrize("cast", CASTS)
def test_a_faulty_port_that_casts_diverges(cast: str, factor: float) -> None:
    assert parity.compare(REFERENCE, port(cast, factor), inputs=X).verdict == "diverged"


@pytest.mark.parametrize("factor", [1.0, 1.00001])
def test_what_is_computed_from_weights_alone_may_be_float32(factor: float) -> None:
    deviation = np.float32([0.3, 0.7, 1.9])

    def ported(x: Any) -> Any:
        return {"mean": np.tanh(x @ WEIGHTS[0]), "entropy": np.log(deviation).sum()}

    def written(x: torch.Tensor) -> Any:
        entropy = torch.log(torch.from_numpy(deviation)).sum()
        return {"mean": torch.tanh(x @ torch.from_numpy(WEIGHTS[0])) * factor, "entropy": entropy}

    report = parity.compare(parity.wrap(ported, "numpy"), parity.wrap(written, "torch"), inputs=X)
    assert report.verdict == ("parity" if factor == 1.0 else "diverged")
    assert "not in float64" not in str(report)


def test_a_port_without_casts_is_replayed_in_float64() -> None:
    found = parity.compare(REFERENCE, port(""), inputs=X).comparisons[0]
    assert found.verdict == "parity" and not found.notes
    assert parity.compare(REFERENCE, port("", 1 + 1e-6), inputs=X).verdict == "diverged"


def test_a_cast_that_is_taken_for_float64_would_be_no_parity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adapter, "_is_wide", lambda *_: True)
    assert parity.compare(REFERENCE, port("inside"), inputs=X).verdict == "unverified"


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "unverified"), (1.5, "diverged")])
def test_one_column_that_is_cast_is_seen_and_its_rounding_measured(
    factor: float, verdict: str
) -> None:
    """A variance in one pass loses most of a float32 at a mean of 300."""
    weight = WEIGHTS[0]

    def spread(x: Any) -> Any:
        narrow = x.astype(SINGLE)
        found = (narrow * narrow).mean(1) - narrow.mean(1) ** 2
        columns = [np.tanh((x - 300) @ weight), SINGLE(factor) * found[:, None]]
        return np.concatenate(columns, 1).astype(x.dtype)

    def variance(x: torch.Tensor) -> torch.Tensor:
        head = torch.tanh((x - 300) @ torch.from_numpy(weight))
        return torch.cat([head, x.var(1, correction=0, keepdim=True)], 1)

    models = parity.wrap(variance, "torch"), parity.wrap(spread, "numpy")
    report = parity.compare(*models, inputs=X + SINGLE(300))
    assert report.verdict == verdict
    assert any("rounds to less than float64" in text for text in report.worst.caveats)


@pytest.mark.parametrize("build", [np.round, np.floor, lambda x: np.where(x > 0, 1.0, x)])
def test_a_branch_is_no_cast(build: Any) -> None:
    def model(x: Any) -> Any:
        return np.concatenate([build(x), np.tanh(x), np.ones_like(x)], 1)

    report = parity.compare(
        parity.wrap(model, "numpy", name="one"), parity.wrap(model, "numpy", name="other"), inputs=X
    )
    assert report.verdict == "parity"
    assert not any("rounds to less" in text for text in report.worst.caveats)
