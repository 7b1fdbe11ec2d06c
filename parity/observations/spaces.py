"""Hypothesis strategies from observation spaces, Gymnasium's and those of classic gym.

A space is read by the names of its class and of its attributes, which both libraries share:
neither is imported here, and subclasses of their spaces are read as what they are made from.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st

from parity.errors import FrameworkMissing, InputError
from parity.frameworks import extra
from parity.observations.edges import EDGES
from parity.observations.parts import (
    ArrayPart,
    DictPart,
    Part,
    SinglePart,
    TuplePart,
    graph,
    one_of,
    sequence,
    text,
)
from parity.observations.ranges import bounded
from parity.tape import Array

Sizes = st.SearchStrategy[int]
Batch = int | st.SearchStrategy[int] | Literal["any"] | None


def observations(
    space: Any, batch: Batch = None, *, edges: Iterable[str] = (), max_length: int = 5
) -> st.SearchStrategy[Any]:
    """Observations of a space, for hypothesis: what it contains, of its dtypes and shapes.

    Numbers are of both signs where the bounds allow it, not all equal, and different as far as
    bounds and dtype have room. Where a bound is missing or far out (beyond 1e6 for floats, 2**31
    for integers) they stay near: floats within 3, integers within 100, of zero or of the other
    bound. An array shrinks to its *counted* form: the simplest values of its range in order.

    Args:
        space: a space of Gymnasium or gym: Box, Discrete, MultiDiscrete, MultiBinary, Text, Tuple,
            Dict, Sequence, Graph, OneOf, nested as you like.
        batch: None for single observations. A whole number, a strategy of them, or `"any"` for
            sizes that differ from every dimension of the space (`batch_sizes`): observations
            stacked along a new first axis as `gymnasium.vector` does it. Box, Discrete,
            MultiDiscrete and MultiBinary become one array, Tuple and Dict hold batches; a batch of
            Text, Sequence, Graph or OneOf is a tuple of single ones.
        edges: names of `EDGES`, values that are not drawn otherwise: `"zeros"`, `"ties"`, .. Each
            array of the observation takes one of those that it has room for, or none.
        max_length: the most items of a Sequence, and nodes and edges of a Graph.

    Raises:
        InputError: this is no space, or of a kind that is not known, or an edge fits none of its
            arrays.
        FrameworkMissing: this is no space, and Gymnasium is not installed.
    """
    named = named_edges(edges)
    if max_length < 1:
        raise InputError(f"max_length is {max_length}; a graph has at least 1 node.")
    part = read(space, named, max_length)
    check_room(part, named, space)
    return _observations(part, sizes(part, batch))


def arrays(
    shape: tuple[int, ...],
    dtype: Any = "float32",
    *,
    low: Any = None,
    high: Any = None,
    batch: Batch = None,
    edges: Iterable[str] = (),
) -> st.SearchStrategy[Array]:
    """Arrays for hypothesis, as `observations` draws them for a Box, without a space.

    Args:
        shape: of a single array.
        dtype: of floats, integers or booleans.
        low, high: the bounds, inclusive: numbers or arrays that broadcast to `shape`; None for
            those of the dtype.
        batch: as for `observations`.
        edges: as for `observations`.

    Raises:
        InputError: the dtype holds something else, the bounds do not fit, or an edge does not.
    """
    dtype = np.dtype(dtype)
    if dtype.kind not in "fiub":
        raise InputError(f"dtype is {dtype}; arrays of floats, integers or booleans can be drawn.")
    limits = (-np.inf, np.inf) if dtype.kind == "f" else (False, True)
    if dtype.kind in "iu":
        limits = (np.iinfo(dtype).min, np.iinfo(dtype).max)
    low, high = (limits[end] if it is None else it for end, it in enumerate((low, high)))
    if not np.all(np.asarray(low) <= np.asarray(high)):
        raise InputError(f"low is {low} and high is {high}; low must not be above high, nor NaN.")
    named = named_edges(edges)
    part = ArrayPart(bounded(low, high, tuple(shape), dtype), named)
    check_room(part, named, f"an array of {dtype} between {low} and {high}")
    return _observations(part, sizes(part, batch))


def check_room(part: Part, named: tuple[str, ...], whole: Any) -> None:
    """Refuses edges for which nothing has room, instead of never drawing them."""
    for name in named:
        if not any(EDGES[name].fits(array.within) for array in part.arrays()):
            raise InputError(
                f"The edge {name!r} ({EDGES[name].says}) fits no array of {whole}: "
                "their bounds or dtypes have no room for it. Leave it out."
            )


@st.composite
def _observations(draw: st.DrawFn, part: Part, batch: st.SearchStrategy[int | None]) -> Any:
    return part.draw(draw, checked(draw(batch)))


def checked(size: int | None) -> int | None:
    """A size that a strategy gave, which may be anybody's."""
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise InputError(f"batch gave {size!r}; it must give whole numbers from 1.")
    return size


def batch_sizes(space: Any, max_choices: int = 8) -> st.SearchStrategy[int]:
    """Sizes of a batch, from 1 up, none equal to a dimension or a number of choices of the space.

    Where a batch is as large as another axis, models that confuse the two agree in shape.
    """
    return different_sizes(dimensions(read(space, (), 5)), max_choices)


def dimensions(part: Part) -> set[int]:
    """The lengths of all axes, and the numbers of choices that may become one."""
    arrays = list(part.arrays())
    return {size for array in arrays for size in (*array.within.shape, *array.options)}


def different_sizes(taken: set[int], max_choices: int = 8, least: int = 1) -> Sizes:
    """The smallest sizes that are not taken."""
    free = [size for size in range(least, least + len(taken) + max_choices) if size not in taken]
    return st.sampled_from(free[:max_choices])


def sizes(part: Part, batch: Batch) -> st.SearchStrategy[int | None]:
    """The sizes of a batch that were asked for."""
    if isinstance(batch, st.SearchStrategy):
        return batch
    if batch == "any":
        return different_sizes(dimensions(part))
    if batch is None or (isinstance(batch, int) and not isinstance(batch, bool) and batch >= 1):
        return st.just(batch)
    raise InputError(
        f"batch is {batch!r}; it must be None, a whole number from 1, a strategy of them, or 'any'."
    )


def named_edges(edges: Iterable[str]) -> tuple[str, ...]:
    """The names of edges, each of which there is."""
    named = (edges,) if isinstance(edges, str) else tuple(edges)
    for name in named:
        if name not in EDGES:
            raise InputError(f"There is no edge {name!r}. There are: {', '.join(EDGES)}.")
    return named


def read(space: Any, edges: tuple[str, ...], max_length: int) -> Part:
    """The parts of which observations of a space are made."""

    def inner(one: Any) -> Part:
        return read(one, edges, max_length)

    kind, home = kind_of(space)
    if kind in _ARRAYS:
        return _ARRAYS[kind](space, edges)
    if kind == "Text":
        return _text(space)
    if kind == "Tuple":
        return TuplePart(tuple(inner(one) for one in space.spaces))
    if kind == "Dict":
        return DictPart({key: inner(one) for key, one in space.spaces.items()})
    if kind == "Sequence":
        # Classic gym has no stacked sequences.
        return sequence(inner(space.feature_space), getattr(space, "stack", False), max_length)
    if kind == "Graph":
        edge = None if space.edge_space is None else inner(space.edge_space)
        return graph(inner(space.node_space), edge, home.GraphInstance, max_length)
    return one_of(tuple(inner(one) for one in space.spaces))


def kind_of(space: Any) -> tuple[str, Any]:
    """The name of the class of Gymnasium or gym that a space is of, and that class's module."""
    classes = [
        cls
        for cls in type(space).__mro__
        if cls.__module__.startswith(("gymnasium.spaces.", "gym.spaces."))
    ]
    for cls in classes:
        if cls.__name__ in _KINDS:
            return cls.__name__, sys.modules[cls.__module__]
    name = f"{type(space).__module__}.{type(space).__qualname__}"
    if classes:
        raise InputError(
            f"{space} is a {name}, a space of your own. Those that are known: {', '.join(_KINDS)}. "
            "Derive it from one of them, or build a strategy of its observations yourself."
        )
    if not find_spec("gymnasium"):
        raise FrameworkMissing(
            f"Observations are drawn from a space of Gymnasium, and {space!r} is a {name}. "
            f"Gymnasium is not installed. Install it with: {extra('rl')}",
            "gymnasium",
        )
    raise InputError(
        f"Observations are drawn from a space of Gymnasium or gym, and {space!r} is a {name}. "
        "Give env.observation_space."
    )


def _box(space: Any, edges: tuple[str, ...]) -> Part:
    return ArrayPart(bounded(space.low, space.high, space.shape, space.dtype), edges)


def _discrete(space: Any, edges: tuple[str, ...]) -> Part:
    start = int(getattr(space, "start", 0))
    within = bounded(start, start + int(space.n) - 1, (), space.dtype)
    return ArrayPart(within, edges, scalar=True, options=frozenset({int(space.n)}))


def _multi_discrete(space: Any, edges: tuple[str, ...]) -> Part:
    start = np.broadcast_to(getattr(space, "start", 0), space.nvec.shape).astype(space.dtype)
    within = bounded(start, start + (space.nvec - 1), space.shape, space.dtype)
    return ArrayPart(within, edges, options=frozenset(space.nvec.ravel().tolist()))


def _multi_binary(space: Any, edges: tuple[str, ...]) -> Part:
    return ArrayPart(bounded(0, 1, space.shape, space.dtype), edges)


def _text(space: Any) -> SinglePart:
    characters = sorted(space.character_set)
    if not characters and space.min_length > 0:
        raise InputError(f"{space} contains nothing: it has no characters, and a least length.")
    return text(space.min_length, space.max_length, characters)


_ARRAYS: dict[str, Callable[[Any, tuple[str, ...]], Part]] = {
    "Box": _box,
    "Discrete": _discrete,
    "MultiDiscrete": _multi_discrete,
    "MultiBinary": _multi_binary,
}
_KINDS = (*_ARRAYS, "Text", "Tuple", "Dict", "Sequence", "Graph", "OneOf")
