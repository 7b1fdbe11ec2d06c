"""Ten thousand operations: the work grows with their number, not with its square."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parity
from parity.diagnosis import cut_search
from parity.matching import limits
from parity.matching import matched as matching
from parity.report.report import Report

torch = pytest.importorskip("torch")
torch.set_num_threads(1)


def chain(steps: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any], np.ndarray]:
    """A long chain of small operations, and its twin in another decomposition."""
    draw = np.random.default_rng(steps)
    gains, shifts = (
        torch.from_numpy(draw.standard_normal((steps, 5)).astype("f")) for _ in range(2)
    )

    def plain(x: Any) -> Any:
        for gain, shift in zip(gains, shifts, strict=True):
            x = torch.tanh(x * gain + shift)
        return x

    def twin(x: Any) -> Any:
        for gain, shift in zip(gains, shifts, strict=True):
            x = 2 * torch.sigmoid(2 * (shift + gain * x)) - 1
        return x

    return plain, twin, draw.standard_normal((3, 5)).astype("f")


def compare_counting(steps: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Report, int, int]:
    """The report, the number of operations, and how many pairs of arrays were compared."""
    plain, twin, x = chain(steps)
    calls = 0
    find_order = matching.find_order

    def counted(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        return find_order(*args)

    with monkeypatch.context() as patched:
        patched.setattr(matching, "find_order", counted)
        report = parity.compare(plain, parity.wrap(twin, "torch"), inputs=x)
    operations = report.reference.operations + report.worst.candidate.operations
    return report, operations, calls


def test_ten_thousand_operations_match_in_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    small, few, few_calls = compare_counting(60, monkeypatch)
    large, many, many_calls = compare_counting(1200, monkeypatch)
    assert many > 10_000
    for report in (small, large):
        assert report.verdict == "parity", report.worst.reasons
        assert report.coverage.values > 0.6  # the twin's halves have no partner, all else has
    assert many_calls <= 3 * many
    assert many_calls / many <= 1.5 * few_calls / few


def test_the_count_sees_a_search_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: with an index that hands out every value, it would."""

    def everything(self: Any, print_: Any, tolerance: float) -> Any:
        return (value for _, value, _ in self._bucket(print_.size))

    monkeypatch.setattr(matching.Index, "look_up", everything)
    monkeypatch.setattr(limits, "LOOK_ALIKES", 10**9)
    _, operations, calls = compare_counting(20, monkeypatch)
    assert calls > 3 * operations


def branches(factors: list[float], first: Any, then: Any) -> Callable[[Any], Any]:
    """The input by several factors, two functions of all of them, and a head."""
    head = torch.from_numpy(np.random.default_rng(1).standard_normal((60, 3)).astype("f"))

    def model(x: Any) -> Any:
        return torch.softmax(then(first(torch.cat([x * a for a in factors], 1))) @ head, 1)

    return model


def test_branches_that_all_differ_are_not_tried_in_every_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twelve branches have half a billion orders, and none of them ends in one operation each."""
    replays = 0

    def counted(*arguments: Any) -> Any:
        nonlocal replays
        replays += 1
        assert replays < 500
        return rematch(*arguments)

    rematch = cut_search.rematch
    monkeypatch.setattr(cut_search, "rematch", counted)
    report = parity.compare(
        parity.wrap(
            branches([1.1 + 0.3 * i for i in range(12)], torch.cos, torch.sin), framework="torch"
        ),
        parity.wrap(
            branches([0.3 + 0.17 * i for i in range(12)], torch.tanh, torch.exp), framework="torch"
        ),
        inputs=np.random.default_rng(0).standard_normal((4, 5)).astype("f"),
    )
    assert report.verdict == "diverged"
