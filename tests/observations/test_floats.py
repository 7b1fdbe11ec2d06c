"""Values: of both signs, all different, with all their digits; large arrays cost few draws."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as extra

import parity
from parity.observations import arrays, floats
from parity.observations.ranges import bounded

from .laws import all_differ, both_signs, holds, minimal, not_all_equal

BATCH = (8, 84, 84, 4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(4,), (3, 5), (30, 40), (84, 84, 4)])
@pytest.mark.parametrize("bounds", [(-1, 1), (0, 255), (None, None), (0, None), (None, -7)])
def test_all_elements_differ(dtype: str, shape: tuple[int, ...], bounds: tuple[Any, Any]) -> None:
    low, high = bounds
    strategy = arrays(shape, dtype, low=low, high=high, batch=2)
    holds(all_differ, strategy, 5)
    if bounds == (-1, 1) and 2 * np.prod(shape) > floats.SMALL:  # else as chance has it
        holds(both_signs, strategy, 5)
    if np.prod(shape) < 20:
        all_differ(minimal(strategy))


@pytest.mark.parametrize("dtype", ["float16", "uint8", "int16", "int64", "bool"])
@pytest.mark.parametrize("shape", [(2,), (3, 5), (16, 16)])
def test_no_array_has_all_elements_equal(dtype: str, shape: tuple[int, ...]) -> None:
    holds(not_all_equal, arrays(shape, dtype), 40)
    holds(not_all_equal, arrays((), dtype, batch=3), 40)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (16, 16), (4, 256)])
@pytest.mark.parametrize("dtype", ["bool", "uint8"])
def test_the_simplest_array_changes_along_every_axis(dtype: str, shape: tuple[int, ...]) -> None:
    """Two rows that are the same would hide which is which."""
    found = minimal(arrays(shape, dtype, batch=3))
    for axis in range(found.ndim):
        assert np.any(np.diff(found.astype(int), axis=axis) != 0), axis


def test_an_image_of_bytes_holds_every_byte() -> None:
    def law(image: np.ndarray) -> None:
        assert len(np.unique(image)) == 256

    holds(law, arrays(BATCH[1:], "uint8", batch=8), 5)


def test_values_have_all_their_digits() -> None:
    """Values of few digits would pass a cast to half precision unharmed."""
    kept = []
    holds(lambda drawn: kept.append(np.mean(drawn == drawn.astype("f2"))), arrays((7,), batch=3))
    assert np.median(kept) < 0.3


def test_values_stay_near_where_bounds_are_far() -> None:
    low = np.array([-4.8, -3.4e38, 0, -np.inf], "float32")
    high = np.array([4.8, 3.4e38, np.inf, -5], "float32")

    def law(drawn: np.ndarray) -> None:
        assert (abs(drawn) <= [4.8, 3, 6, 11]).all() and (low <= drawn).all()
        assert (drawn <= high).all()

    holds(law, arrays((4,), low=low, high=high), 50)


def test_integers_reach_all_of_their_range() -> None:
    seen = set()
    holds(lambda drawn: seen.update(drawn.ravel()), arrays((40,), "int8"), 100)
    assert len(seen) > 200
    for dtype in ("int64", "uint64"):
        last = np.iinfo(dtype).max
        strategy = arrays((3,), dtype, low=last - 2, high=last)
        assert sorted(minimal(strategy).tolist()) == [last - 2, last - 1, last]


# --- what breaks the laws is seen ----------------------------------------------------------------


def test_equal_elements_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floats, "spread", lambda within, count, seed: np.zeros((1, within.size)))
    for law, words in [
        (all_differ, "equal elements"),
        (not_all_equal, "all equal"),
        (both_signs, "one sign"),
    ]:
        with pytest.raises(AssertionError, match=words):
            holds(law, arrays((30, 40), low=-1, high=1))


def test_small_arrays_differ_because_their_values_are_separated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unmoved(within: Any, drawn: tuple[int, ...]) -> np.ndarray:
        return np.array([[within.tick(0, rank) for rank in drawn]], float)

    monkeypatch.setattr(floats, "_apart", unmoved)
    with pytest.raises(AssertionError, match="equal elements"):
        all_differ(minimal(arrays((4,))))


# --- large arrays --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_a_batch_of_images_costs_little(dtype: str) -> None:
    """Within hypothesis's own limits on data and time, and milliseconds for each example."""
    times: list[float] = []

    @settings(max_examples=20, database=None, deadline=None, suppress_health_check=[])
    @given(arrays(BATCH[1:], dtype, low=0, high=1 if dtype == "float32" else 255, batch=8))
    def run(images: np.ndarray) -> None:
        assert images.shape == BATCH and images.dtype == dtype
        times.append(time.process_time())

    run()
    assert np.median(np.diff(times)) < 0.2


def test_bounds_that_are_the_same_everywhere_are_kept_once() -> None:
    size = 10**6
    each = np.arange(size) % 2
    for high, most in [(1, 0.1), (np.ones(size), 20), (each, 100)]:  # bytes for each element
        tracemalloc.start()
        within = bounded(0, high, (size,), np.float32)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < most * size, high
        assert within.high.shape == within.step.shape == (size,)
        assert (within.high == high).all() and (within.above == high).all()


def test_an_integer_per_pixel_would_be_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floats, "SMALL", 10**6)

    @settings(max_examples=5, database=None, suppress_health_check=[], phases=[Phase.generate])
    @given(arrays(BATCH[1:], "uint8", batch=8))
    def run(images: np.ndarray) -> None:
        pass

    with pytest.raises(Exception, match="(?s)large|slow|Unsatisfiable"):
        run()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@given(data=st.data(), without=st.sampled_from(["", "low", "high"]))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_the_simplest_value_is_in_bounds(dtype: Any, data: st.DataObject, without: str) -> None:
    most = np.finfo(dtype).max
    plain = extra.from_dtype(np.dtype(dtype), allow_nan=False, allow_infinity=False)
    ends = extra.arrays(dtype, (3,), elements=plain | st.sampled_from([-most, most]))
    one, other = data.draw(ends), data.draw(ends)
    low, high = np.minimum(one, other), np.maximum(one, other)
    low = np.full_like(low, -np.inf) if without == "low" else low
    high = np.full_like(high, np.inf) if without == "high" else high
    within = bounded(low, high, (3,), dtype)
    assert ((low <= within.rest) & (within.rest <= high)).all()
    assert (within.rest[(low <= 0) & (high >= 0)] == 0).all()
    assert np.isfinite([within.below, within.above, within.step]).all()
    assert (within.below >= 0).all() and (within.above >= 0).all() and (within.step > 0).all()
    assert (within.ticks >= 1).all() and (within.ticks < 2**11).all()


def test_models_agree_or_diverge_on_the_simplest_array_too() -> None:
    """Were it zeros, a comparison would be `unverified`, and a fault shrunk to that be lost."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
    right = torch.nn.Sequential(layers, torch.nn.Softmax(1))
    wrong = torch.nn.Sequential(layers, torch.nn.Softmax(0))
    found = minimal(arrays((6,), low=-1, high=1, batch=2))
    assert parity.compare(right, right, inputs=found).verdict == "parity"
    assert parity.compare(right, wrong, inputs=found).verdict == "diverged"
    assert parity.compare(right, right, inputs=0 * found).verdict == "unverified"
