"""Draws spaces, of Gymnasium or of classic gym, nested three deep."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=4)
# Of all lists of sides a few are of twenty and more: 3**20 bits.
BITS = st.lists(st.integers(1, 3), min_size=1, max_size=5)
FLOATS = ("float16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


def spaces(library: Any, depth: int = 3) -> st.SearchStrategy[Any]:
    """Spaces of `library`, which is `gymnasium.spaces` or `gym.spaces`."""
    newer = library.__name__ == "gymnasium.spaces"
    flat = st.one_of(
        boxes(library),
        discrete(library),
        multi_discrete(library),
        st.builds(library.MultiBinary, st.integers(1, 5) | BITS),
        texts(library),
    )
    if depth == 0:
        return flat
    inner = spaces(library, depth - 1)
    pieces = st.lists(inner, min_size=1, max_size=3)
    nested = [
        flat,
        pieces.map(library.Tuple),
        st.dictionaries(st.sampled_from("abcd"), inner, min_size=1, max_size=3).map(library.Dict),
        inner.map(library.Sequence),
        graphs(library),
    ]
    if newer:
        nested.append(inner.map(lambda one: library.Sequence(one, stack=True)))
        nested.append(pieces.map(library.OneOf))
    return st.one_of(nested)


@st.composite
def boxes(draw: st.DrawFn, library: Any) -> Any:
    """Bounded, half-bounded and unbounded, the same for all elements or different for each."""
    unbounded = library.__name__ == "gymnasium.spaces" and draw(st.booleans())
    dtype = np.dtype(draw(st.sampled_from((*FLOATS, *SIGNED, *UNSIGNED))))
    shape = draw(SHAPES)
    sides = draw(st.sampled_from([shape, ()]))
    ends = arrays.arrays(dtype, sides, elements=arrays.from_dtype(dtype, **_plain(dtype)))
    one, other = draw(ends), draw(ends)
    low, high = np.minimum(one, other), np.maximum(one, other)
    low, high = np.broadcast_to(low, shape).copy(), np.broadcast_to(high, shape).copy()
    if dtype.kind == "f" or (dtype.kind == "i" and unbounded):
        if draw(st.booleans()):
            low = np.full(shape, -np.inf, dtype) if dtype.kind == "f" else -np.inf
        if draw(st.booleans()):
            high = np.full(shape, np.inf, dtype) if dtype.kind == "f" else np.inf
    return library.Box(low, high, shape, dtype.type)


def _plain(dtype: np.dtype[Any]) -> dict[str, bool]:
    return {"allow_nan": False, "allow_infinity": False} if dtype.kind == "f" else {}


@st.composite
def discrete(draw: st.DrawFn, library: Any) -> Any:
    count, start = draw(st.integers(1, 20)), draw(st.integers(-9, 9))
    if library.__name__ == "gym.spaces":
        return library.Discrete(count, start=start)
    dtype = draw(st.sampled_from([*SIGNED, *UNSIGNED]))
    return library.Discrete(count, start=abs(start) if dtype in UNSIGNED else start, dtype=dtype)


@st.composite
def multi_discrete(draw: st.DrawFn, library: Any) -> Any:
    counts = draw(arrays.arrays(np.int64, SHAPES.filter(bool), elements=st.integers(1, 7)))
    if library.__name__ == "gym.spaces":
        return library.MultiDiscrete(counts)
    dtype = draw(st.sampled_from(SIGNED))
    start = draw(arrays.arrays(np.int64, counts.shape, elements=st.integers(-9, 9)))
    return library.MultiDiscrete(counts, dtype=dtype, start=start)


@st.composite
def texts(draw: st.DrawFn, library: Any) -> Any:
    least = draw(st.integers(0, 3))
    most = draw(st.integers(least, 6))
    characters = draw(st.text("abcxyz09", min_size=1, max_size=5))
    return library.Text(most, min_length=least, charset=frozenset(characters))


@st.composite
def graphs(draw: st.DrawFn, library: Any) -> Any:
    features = boxes(library) | discrete(library)
    return library.Graph(draw(features), draw(st.none() | features))
