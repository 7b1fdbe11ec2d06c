"""Rules about comparing: element by element, masks and shapes first, axes with their neighbours."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from parity.diagnosis import locate as locating
from parity.diagnosis import verdict as judging
from parity.matching import fingerprint as matching
from parity.matching.axis_order import Order
from parity.measures import outputs
from parity.numerics import difference

from .pairs import FIRST, SQUARE, X, compare, network, sites, weights

# --- element-wise, always ------------------------------------------------------------------------


def shuffled(x: torch.Tensor) -> torch.Tensor:
    """The same values: mean, norm, extremes and histogram agree, and no row does."""
    return network(x)[[3, 0, 4, 1, 2]]


def test_permuted_values_are_no_parity() -> None:
    """Comparing means, or any sum, passes a permuted tensor; every element has its own partner."""
    assert compare(network, shuffled).verdict == "diverged"
    assert compare(network, lambda x: network(x).flip(1)).verdict == "diverged"
    values = weights(5, 4)[torch.randperm(5, generator=torch.Generator().manual_seed(1))]
    assert compare(network, lambda x: network(x) + (values - values)).verdict == "parity"


def without_the_closing_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parity.candidate.close", lambda *given: (given[4], []))


def test_a_comparison_of_fingerprints_would_pass_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_fingerprint(found: Any, pair: Any) -> bool:
        reference = found.reference.print(pair.reference)
        candidate = matching.fingerprint(found.side.array(pair.candidate))
        return bool(reference.agrees(candidate, 1e-10))

    for module in (locating, judging):
        monkeypatch.setattr(module, "output_matches", by_fingerprint)
    assert compare(network, shuffled).verdict == "diverged"  # the closing check sees the outputs
    without_the_closing_check(monkeypatch)
    assert compare(network, shuffled).verdict == "parity"


@pytest.mark.parametrize("element", [0, 17, 4999])
def test_one_element_of_thousands_is_enough(element: int) -> None:
    """An average over many elements drowns the one that is wrong."""
    x = np.random.default_rng(3).standard_normal((50, 100)).astype("f")
    nudge = torch.zeros(5000)
    nudge[element] = 0.01

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x) + nudge.reshape(50, 100)

    assert compare(torch.tanh, candidate, inputs=x).verdict == "diverged"


# --- masks first ---------------------------------------------------------------------------------


def holes(*places: tuple[int, int], value: float = float("nan")) -> Any:
    def model(x: torch.Tensor) -> torch.Tensor:
        made = network(x)
        mask = torch.zeros(5, 4, dtype=torch.bool)
        for place in places:
            mask[place] = True
        return made.masked_fill(mask, value)

    return model


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("places", [[(1, 2)], [(1, 2), (4, 0)], [(0, 0)]])
def test_nan_and_infinity_are_values(value: float, places: list[tuple[int, int]]) -> None:
    """NaN set to zero on both sides, or left out on both, agrees with everything."""
    with_holes = holes(*places, value=value)
    assert compare(network, with_holes).verdict == "diverged"
    assert compare(with_holes, network).verdict == "diverged"
    assert compare(with_holes, holes((3, 3), *places[1:], value=value)).verdict == "diverged"
    assert compare(with_holes, holes(*places, value=value)).verdict == "parity"
    assert compare(with_holes, holes(*places, value=-value if value == value else 0.0)).verdict == (
        "diverged"
    )


def test_without_masks_first_nan_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the elements that are finite in one model these two are equal."""
    one, other = np.array([1.5, np.nan, 2.5]), np.array([1.5, 0.0, 2.5])
    assert difference.residual(one, other) == float("inf")
    monkeypatch.setattr(difference, "count_mask_differences", lambda a, b: 0)
    assert difference.residual(one, other) == 0.0


# --- shapes first, nothing is broadcast ----------------------------------------------------------


def kept(x: torch.Tensor) -> torch.Tensor:
    return network(x).max(1, keepdim=True).values


def dropped(x: torch.Tensor) -> torch.Tensor:
    return network(x).max(1).values


def spread(x: torch.Tensor) -> torch.Tensor:
    return kept(x).expand(5, 4)


@pytest.mark.parametrize("pair", [(kept, dropped), (dropped, kept), (kept, spread), (spread, kept)])
def test_a_broadcast_hides_no_shape(pair: tuple[Any, Any]) -> None:
    """(5, 1), (5,) and (5, 4) subtract without complaint, and every difference may be zero."""
    report = compare(*pair)
    assert report.verdict == "diverged" and "has shape" in report.worst.reasons[0]
    (output,) = report.worst.outputs
    assert output.difference is None and "not comparable" in str(report)


def test_an_output_without_its_shape_check_would_be_broadcast() -> None:
    """NumPy alone sees nothing wrong with these two."""
    one, other = np.ones((5, 1)), np.ones((5, 4))
    assert np.abs(one - other).max() == 0
    for measured in (difference.measure, difference.residual):
        with pytest.raises(ValueError, match="shapes differ"):
            measured(one, other)


# --- axes ----------------------------------------------------------------------------------------


def transposed(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh((x[:4] @ weight_for_square).t()) * 3


def upright(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x[:4] @ weight_for_square) * 3


weight_for_square = weights(7, 4)


def test_an_axis_order_must_hold_for_what_follows() -> None:
    """A transposed square fits its original in one order of axes; the layers around it do not."""
    report = compare(upright, transposed)
    assert report.verdict == "diverged"
    assert compare(
        lambda x: torch.tanh(x @ FIRST) @ SQUARE, lambda x: torch.tanh(x @ FIRST) @ SQUARE.t()
    ).verdict == "diverged"  # fmt: skip
    there_and_back = compare(upright, lambda x: transposed(x).t())
    assert there_and_back.verdict == "parity"


def test_an_order_taken_for_granted_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def any_order(found: Any, pair: Any) -> bool:
        return pair.candidate in found.pairs

    for module in (locating, judging):
        monkeypatch.setattr(module, "output_matches", any_order)
    assert compare(upright, transposed).verdict == "diverged"  # the closing check sees the outputs
    without_the_closing_check(monkeypatch)
    assert compare(upright, transposed).verdict == "parity"


def softmax_over(axis: int) -> Any:
    def model(x: torch.Tensor) -> torch.Tensor:
        h = (x[:, :6] @ SQUARE)[:, :, None] * torch.tanh(x[:, None, :6])
        return torch.softmax(h, axis)

    return model


@pytest.mark.parametrize("axis", [0, 1])
def test_square_arrays_hide_no_axis(axis: int) -> None:
    """Where two axes have one length, the shape shows nothing: the values do."""
    batch_of_six = np.random.default_rng(5).standard_normal((6, 7)).astype("f")
    report = compare(softmax_over(2), softmax_over(axis), inputs=batch_of_six)
    assert report.verdict == "diverged" and sites(report) == [("softmax", "softmax")]


def test_a_square_weight_is_not_transposed_to_fit() -> None:
    """Auto-transposing where shapes differ leaves squares unchanged: right by luck."""
    wrong = compare(lambda x: x @ FIRST @ SQUARE, lambda x: x @ FIRST @ SQUARE.t())
    assert wrong.verdict == "diverged"
    (leaf,) = wrong.divergences[0].leaves or (None,)
    assert leaf is None or leaf.relation == "arranged"
    right = compare(
        lambda x: x @ FIRST @ SQUARE,
        lambda x: torch.nn.functional.linear(x @ FIRST, SQUARE.t().contiguous()),
    )
    assert right.verdict == "parity"


def test_an_order_shows_a_transposed_square() -> None:
    assert Order((0, 1), (4, 4), False, (4, 4)).stable
    assert not Order((1, 0), (4, 4), False, (4, 4)).stable
    assert Order((1, 0), (4, 5), False, (5, 4)).stable


# --- decisions -----------------------------------------------------------------------------------


def sharpened(x: torch.Tensor) -> torch.Tensor:
    """Every greedy action is the same; no action value is."""
    return network(x) ** 2


def test_greedy_actions_are_no_part_of_the_verdict() -> None:
    """Agents that choose the same today are not equal networks."""
    report = compare(network, sharpened)
    assert report.decisions["output"].greedy == 1.0
    assert report.verdict == "diverged"
    assert "greedy choices agree in 100.0%" in " ".join(str(report).split())


def test_whatever_the_decisions_come_to_the_verdict_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = outputs.decide
    for share in (0.0, 0.5, 1.0):

        def decided(*arrays: Any, share: float = share) -> Any:
            return dataclasses.replace(decide(*arrays), greedy=share)

        monkeypatch.setattr(outputs, "decide", decided)
        report = compare(network, sharpened)
        assert report.verdict == "diverged" and report.decisions["output"].greedy == share
        assert compare(network, lambda x: network(x) * 1).verdict == "parity"


# --- recording -----------------------------------------------------------------------------------


def test_recorded_is_unrecorded() -> None:
    """Hooks that synchronise, copy or accumulate change what they watch."""
    report = compare(network, lambda x: network(x) * 1)
    recorded = report.worst.final_values["output"]
    with torch.no_grad():
        plain = network(torch.from_numpy(X))
    np.testing.assert_allclose(recorded, plain.numpy(), rtol=1e-5)
    from parity.frameworks import load
    from parity.model import wrap

    tape = load("torch").record(wrap(network, "torch"), X)
    (value,) = tape.outputs.values()
    assert tape.recorded[value].numpy().tobytes() == plain.numpy().tobytes()
