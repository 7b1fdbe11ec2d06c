"""Observations in company: distinct ones of a strategy's own put together, and random ones.

A single observation may hide a fault, or its cause: hypothesis shrinks to zeros.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis.strategies import SearchStrategy

from parity.model import (
    Inputs,
    as_arrays,
    as_it_is,
    flatten_given,
    flatten_inputs,
    map_arrays,
)
from parity.tape import Array

ROWS = 8
_DRAWN = 32
_POOL = 256  # rows to choose from
_REACH = 3.0  # where the bounds leave the choice, random floats are no larger


def sample(strategy: SearchStrategy[Any]) -> list[Inputs]:
    """The same few observations of a strategy in every run; the simplest comes first."""
    found: list[Inputs] = []

    @settings(
        max_examples=_DRAWN,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(observation=strategy)
    def draw(observation: Any) -> None:
        found.append(as_arrays(observation))

    draw()
    return found


def companies(found: Sequence[Inputs]) -> list[Inputs]:
    """The most distinct observations of one shape as a batch of up to `ROWS`, and one by itself.

    The second is for models that take no batch of that size.
    """
    kinds: dict[Any, list[Inputs]] = {}
    for inputs in sorted(found, key=_variety, reverse=True):
        kinds.setdefault(_kind(inputs), []).append(inputs)
    group = max(kinds.values(), key=lambda group: (min(len(_distinct(group)), ROWS), _size(group)))
    batch = joined(_distinct(group))
    return [group[0]] if batch is None else [batch, group[0]]


def joined(found: Sequence[Inputs], most: int = ROWS) -> Inputs | None:
    """Observations one after the other on their first axis, `most` rows at most or one of them.

    None where an array has no first axis, or another length of it than the others.
    """
    flat = [flatten_inputs(inputs) for inputs in found]
    kept: list[dict[str, Array]] = []
    rows = 0
    for arrays in flat:
        lengths = {array.shape[0] if array.ndim else -1 for array in arrays.values()}
        if len(lengths) != 1 or -1 in lengths:
            return None
        rows += lengths.pop()
        if kept and rows > most:
            break
        kept.append(arrays)
    parts = [np.concatenate(one) for one in zip(*(a.values() for a in kept), strict=True)]
    return _refilled(found[0], parts)


def accompanied(inputs: Inputs, company: Inputs) -> Inputs | None:
    """An observation followed by others; None where they cannot be joined."""
    if _kind(inputs) != _kind(company):
        return None
    first, second = flatten_inputs(inputs), flatten_inputs(company)
    if any(array.ndim == 0 for array in first.values()):
        return None
    parts = [np.concatenate([first[path], second[path]]) for path in first]
    return _refilled(inputs, parts)


def redrawn(inputs: Inputs, found: Sequence[Inputs], rows: int | None) -> Inputs:
    """Distinct random inputs of the same shapes, within what the strategy was seen to give.

    Floats are drawn anew. Whole numbers and booleans are rows of the observations as they were
    seen, for what is lawful in one place or beside another array need not be so elsewhere: actions
    of several parts, masks, lengths. Where none was seen of these shapes, they are drawn anew too.

    Args:
        found: observations of the same strategy.
        rows: the length of the first axis; None leaves it.
    """
    random = np.random.default_rng(0)
    alike = [one for one in found if _kind(one) == _kind(inputs)]
    pool = joined([inputs, *alike], most=_POOL) if alike else None
    lawful = {} if pool is None else flatten_inputs(pool)
    order = random.permutation(len(next(iter(lawful.values())))) if lawful else None
    seen: dict[str, list[Array]] = {}
    for one in (inputs, *found):
        for path, array in flatten_inputs(one).items():
            seen.setdefault(path, []).append(array.ravel())
    parts = []
    for path, array in flatten_inputs(inputs).items():
        shape = array.shape if rows is None else (rows, *array.shape[1:])
        if order is not None and array.dtype.kind != "f":
            parts.append(lawful[path][np.resize(order, shape[0])])
            continue
        parts.append(_random(np.concatenate(seen[path]), shape, array.dtype, random))
    return _refilled(inputs, parts)


def _random(
    seen: Array, shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator
) -> Array:
    if dtype.kind != "f":
        return random.choice(np.unique(seen), shape).astype(dtype)
    finite = seen[np.isfinite(seen)].astype(np.float64)
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    if max(low, -_REACH) < min(high, _REACH):
        low, high = max(low, -_REACH), min(high, _REACH)
    return (low + (high - low) * random.random(shape)).astype(dtype)


def _kind(inputs: Inputs) -> Any:
    """What must be equal for observations to be joined: all but the rows of arrays."""
    return tuple(
        (path, repr(one)) if as_it_is(one) else (path, one.dtype.str, one.ndim, one.shape[1:])
        for path, one in flatten_given(inputs).items()
    )


def _variety(inputs: Inputs) -> int:
    return sum(np.unique(array).size for array in flatten_inputs(inputs).values())


def _size(group: Sequence[Inputs]) -> int:
    return sum(array.size for array in flatten_inputs(group[0]).values())


def _distinct(group: Sequence[Inputs]) -> list[Inputs]:
    kept: dict[bytes, Inputs] = {}
    for inputs in group:
        kept.setdefault(fingerprint(inputs), inputs)
    return list(kept.values())


def fingerprint(inputs: Inputs) -> bytes:
    """What is the same for equal observations alone: a digest of kinds, shapes, bytes."""
    digest = hashlib.sha256(repr(_kind(inputs)).encode())
    for array in flatten_inputs(inputs).values():
        digest.update(f"{array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def _refilled(structure: Inputs, parts: Sequence[Array]) -> Inputs:
    arrays = iter(parts)
    return map_arrays(lambda _: next(arrays), structure)
