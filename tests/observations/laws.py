"""What must hold for all that is drawn: each law raises AssertionError where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st


def holds(law: Callable[[Any], None], strategy: st.SearchStrategy[Any], examples: int = 20) -> None:
    """Draws examples and puts each to the law; nothing is shrunk, nothing is kept."""

    @settings(max_examples=examples, database=None, deadline=None, phases=[Phase.generate])
    @given(strategy)
    def run(drawn: Any) -> None:
        law(drawn)

    run()


def minimal(
    strategy: st.SearchStrategy[Any], such: Callable[[Any], Any] = lambda _: True, seed: int = 0
) -> Any:
    """What a strategy shrinks to."""
    quick = settings(database=None, deadline=None, max_examples=500, report_multiple_bugs=False)
    return find(strategy, such, settings=quick, random=Random(seed))


def is_of(space: Any, value: Any) -> None:
    """A single observation: contained, and of the very dtypes and shapes of the space."""
    assert space.contains(value), f"{space} does not contain {value!r}"
    for array, part in arrays_of(space, value):
        assert array.dtype == part.dtype, f"{part}: {array.dtype}"
        assert array.shape == part.shape, f"{part}: {array.shape}"


def arrays_of(space: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """The arrays of an observation with their spaces; of sequences and graphs item by item."""
    kind = type(space).__name__
    if kind == "Text":
        assert isinstance(value, str)
    elif kind == "Tuple":
        assert isinstance(value, tuple)
        for one, part in zip(space.spaces, value, strict=True):
            yield from arrays_of(one, part)
    elif kind == "Dict":
        assert list(value) == list(space.spaces)
        for key, one in space.spaces.items():
            yield from arrays_of(one, value[key])
    elif kind == "OneOf":
        yield from arrays_of(space.spaces[value[0]], value[1])
    elif kind == "Sequence":
        if not getattr(space, "stack", False):
            for one in value:
                yield from arrays_of(space.feature_space, one)
    elif kind == "Graph":
        if value.edge_links is not None:
            assert value.edge_links.dtype == np.int32 and len(value.edge_links) > 0
    else:
        yield value, space


def form(value: Any) -> Any:
    """How a batch is laid out: containers, dtypes and shapes, but no values."""
    if isinstance(value, dict):
        return {key: form(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return [form(one) for one in value]
    return type(value)


def all_differ(array: np.ndarray) -> None:
    assert len(np.unique(array)) == array.size, f"equal elements: {array}"


def not_all_equal(array: np.ndarray) -> None:
    assert len(np.unique(array)) > 1, f"all equal: {array}"


def both_signs(array: np.ndarray) -> None:
    assert (array < 0).any() and (array > 0).any(), f"one sign: {array}"
