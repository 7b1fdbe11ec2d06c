"""Edges: drawn if asked for, true to their names, within bounds; refused where nothing fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parity.errors import InputError
from parity.observations import EDGES, arrays, observations

from .laws import holds, is_of, minimal, not_all_equal

S = pytest.importorskip("gymnasium").spaces


def zeros(drawn: np.ndarray) -> bool:
    return not drawn.any()


def one_hot(drawn: np.ndarray) -> bool:
    return bool(np.isin(drawn, [0, 1]).all() and (drawn.sum(-1) == 1).all())


def ties(drawn: np.ndarray) -> bool:
    return len(np.unique(drawn)) <= 3 and (drawn == drawn.max()).sum() > 1


def subnormals(drawn: np.ndarray) -> bool:
    tiny = np.finfo(drawn.dtype).tiny
    return bool(((abs(drawn) < tiny) & (drawn != 0)).all())


def large(drawn: np.ndarray) -> bool:
    return bool((abs(drawn) >= 999).all())


def saturating(drawn: np.ndarray) -> bool:
    return bool(((abs(drawn) >= 20) & (abs(drawn) <= 400)).all())


def constant(drawn: np.ndarray) -> bool:
    return all(len(np.unique(row)) == 1 for row in drawn)


def bytes_(drawn: np.ndarray) -> bool:
    return bool((drawn == drawn.astype("uint8")).all() and drawn.max() > 9)


def sparse(drawn: np.ndarray) -> bool:
    return 0 < np.count_nonzero(drawn) < 0.9 * drawn.size


LOOKS = {
    "sparse": sparse,
    "zeros": zeros,
    "one-hot": one_hot,
    "ties": ties,
    "subnormals": subnormals,
    "large": large,
    "saturating": saturating,
    "constant-image": constant,
    "bytes": bytes_,
}


def test_every_edge_is_tested() -> None:
    assert set(LOOKS) == set(EDGES)


@pytest.mark.parametrize("shape", [(2, 3), (12, 9)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
@pytest.mark.parametrize("edge", LOOKS)
def test_an_edge_is_drawn_if_asked_for_and_only_then(
    edge: str, dtype: str, shape: tuple[int, ...]
) -> None:
    if edge == "subnormals" and dtype == "int64":
        pytest.skip("integers have none")
    seen: list[bool] = []
    holds(lambda drawn: seen.append(LOOKS[edge](drawn)), arrays(shape, dtype, batch=2), 200)
    assert np.mean(seen) < 0.2  # by chance, and seldom
    seen.clear()
    asked = arrays(shape, dtype, batch=2, edges=(edge,))
    holds(lambda drawn: seen.append(LOOKS[edge](drawn)), asked, 25)
    assert any(seen)


@pytest.mark.parametrize("edge", LOOKS)
@pytest.mark.parametrize(
    "space",
    [
        S.Box(0, 255, (3, 4), np.uint8),
        S.Box(-1, 1, (3, 4)),
        S.Box(-500, 1000, (3, 4), np.int16),
        S.Box(-np.inf, -1, (3, 4)),
        S.Box(np.array([[-1, -50, 0]], "f"), np.array([[1, 5, np.inf]], "f")),
        S.MultiBinary([3, 4]),
        S.MultiDiscrete([[3, 400]]),
    ],
    ids=str,
)
def test_an_edge_keeps_to_the_bounds_or_is_refused(edge: str, space: Any) -> None:
    try:
        strategy = observations(space, edges=(edge,))
    except InputError as error:
        assert edge in str(error) and "no room" in str(error)
    else:
        holds(lambda drawn: is_of(space, drawn), strategy, 10)


@pytest.mark.parametrize(
    ("edge", "space"),
    [
        ("bytes", S.Box(0, 1, (3,))),
        ("large", S.Box(-1, 1, (3,))),
        ("saturating", S.Box(-1, 1, (3,))),
        ("subnormals", S.Box(1, 2, (3,))),
        ("subnormals", S.Discrete(3)),
        ("zeros", S.Discrete(3, start=1)),
        ("one-hot", S.Box(-1, 0.5, (3,))),
        ("ties", S.Box(np.array([0, 1], "f"), np.array([1, 2], "f"))),
        ("constant-image", S.Box(-1, 1, (3,))),
        ("sparse", S.Discrete(1)),
        ("zeros", S.Text(3)),
    ],
)
def test_an_edge_that_fits_nothing_is_refused(edge: str, space: Any) -> None:
    with pytest.raises(InputError, match=f"(?s){edge}.*no room.*Leave it out"):
        observations(space, edges=(edge,))


def test_an_edge_goes_to_the_parts_that_it_fits() -> None:
    space = S.Dict(image=S.Box(0, 255, (3, 4), np.uint8), speed=S.Box(-1, 1, (2,)))
    seen = []

    def law(drawn: Any) -> None:
        is_of(space, drawn)
        not_all_equal(drawn["speed"])
        seen.append(constant([drawn["image"]]))

    holds(law, observations(space, edges="constant-image"), 40)
    assert any(seen) and not all(seen)


def test_sparse_arrays_shrink_to_the_elements_that_matter() -> None:
    small = arrays((2, 4), edges=("sparse",))
    assert minimal(small).tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]
    images = arrays((84, 84, 4), "uint8", batch=8, edges=("sparse",))
    found = minimal(images, lambda drawn: drawn[3, 4, 5, 1] > 10)
    assert np.argwhere(found).tolist() == [[3, 4, 5, 1]]


def test_other_edges_shrink_to_different_values() -> None:
    """So that what fails shrinks to what explains most."""
    others = tuple(name for name in EDGES if name != "sparse")
    assert minimal(arrays((2, 2), edges=others)).tolist() == [[0, 1], [-1, 2]]
