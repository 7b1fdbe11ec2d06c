"""Where values differ: maps and histograms against what was planted."""

from __future__ import annotations

import numpy as np
import pytest

from parity.findings import Capture
from parity.measures.histogram import BINS, CELLS, spread
from parity.tape import Array

draw = np.random.default_rng(3)


def captured(reference: Array, candidate: Array) -> Capture:
    return Capture((), reference, candidate)


def test_a_border_a_channel_and_a_position_stand_out() -> None:
    image = draw.standard_normal((2, 5, 9, 11))
    border, channel = image.copy(), image.copy()
    border[:, :, 0], border[:, :, :, -1] = 0, 0
    channel[:, 3] *= 1.1
    found = spread(captured(image, border))
    assert found is not None and found["map"]["axes"] == (2, 3)
    inner = np.array(found["map"]["largest"])[1:, :-1]
    assert not inner.any() and (np.array(found["map"]["largest"])[0] > 0).all()
    found = spread(captured(image, channel))
    assert found is not None and [bool(one) for one in found["axes"][1]["largest"]] == [
        False
    ] * 3 + [True, False]
    assert 1 in found["map"]["axes"]


def test_every_difference_is_seen_however_small_the_map_is() -> None:
    big = draw.standard_normal((300, 1000))
    other = big.copy()
    other[299, 517] += 7
    other[299, 518] -= 5  # in the same cell
    found = spread(captured(big, other))
    assert found is not None and (
        len(found["map"]["largest"]),
        len(found["map"]["largest"][0]),
    ) == (CELLS, CELLS)
    assert np.count_nonzero(found["map"]["largest"]) == 1
    assert found["map"]["largest"][CELLS - 1][517 * CELLS // 1000] == pytest.approx(7)
    assert [len(one["largest"]) for one in found["axes"]] == [CELLS, CELLS]
    assert [max(one["largest"]) for one in found["axes"]] == [7.0, 7.0]


def test_histograms_count_everything_finite() -> None:
    reference = draw.standard_normal((40, 30))
    candidate = reference + 0.5
    candidate[0, 0] = np.nan
    found = spread(captured(reference, candidate))
    assert found is not None
    assert [sum(found["values"][side]) for side in ("reference", "candidate")] == [1200, 1199]
    assert [len(found["values"][side]) for side in ("reference", "candidate")] == [BINS, BINS]
    assert found["values"]["edges"][0] == pytest.approx(reference.min(), rel=1e-6)
    # a bias: all differences are one value up to rounding, and stand in the middle
    assert sum(found["differences"]["counts"][BINS // 2 - 1 : BINS // 2 + 1]) == 1199
    assert found["differences"]["edges"][0] == pytest.approx(0.25)


def test_nan_and_infinity_on_one_side_are_infinitely_far_and_on_both_are_not() -> None:
    reference = np.array([[1.0, np.nan, np.inf, -np.inf], [np.nan, np.inf, 2.0, 3.0]])
    candidate = np.array([[1.0, np.nan, np.inf, -np.inf], [0.0, -np.inf, 2.0, 3.5]])
    found = spread(captured(reference, candidate))
    assert found is not None
    assert found["map"]["largest"] == [[0, 0, 0, 0], [np.inf, np.inf, 0, 0.5]]
    nowhere = spread(captured(np.full((2, 3), np.nan), np.zeros((2, 3))))
    assert nowhere is not None and np.isinf(nowhere["map"]["largest"]).all()
    assert nowhere["differences"]["edges"] == [] == nowhere["differences"]["counts"]


@pytest.mark.parametrize("scale", [0.0, 5e-324, 1e-300, 1.0, 1.7e308])
def test_any_size_of_number_is_measured(scale: float) -> None:
    found = spread(captured(np.array([[scale, -scale], [0, 1]]), np.array([[-scale, 1], [0, 1]])))
    assert found is not None and len(found["axes"]) == 2


def test_a_mask_of_large_values_hides_nothing_else() -> None:
    reference = draw.standard_normal((5, 8))
    reference[:, 6:] = -1e9
    candidate = np.where(reference < -1e8, -np.inf, reference + 0.1)
    found = spread(captured(reference, candidate))
    assert found is not None and found["values"]["edges"][0] > -10
    assert found["axes"][1]["largest"][6:] == [0.0, 0.0]


def test_what_cannot_be_subtracted_has_no_map() -> None:
    assert spread(captured(np.zeros((2, 3)), np.zeros((3, 2)))) is None
    assert spread(captured(np.zeros((0, 3)), np.zeros((0, 3)))) is None
    assert spread(captured(np.zeros(3, complex), np.zeros(3, complex))) is None
    for shape in ((), (4,), (1, 4)):
        found = spread(captured(np.zeros(shape), np.ones(shape)))
        assert found is not None and found["map"] is None
    whole = spread(captured(np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3) % 2 == 0))
    assert whole is not None and whole["map"]["largest"] == [[1, 1, 1], [3, 3, 5]]
