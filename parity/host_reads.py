"""What the host reads of a model's values while it runs, and computes with: `.item()`, `float(t)`.

Such a number comes back as a constant. Where it is still the number that was read, the constant is
that value, and a replay computes it anew. What Python made of it (`2 * t.item()`) cannot be
followed: it stays as it was, and what is computed with it is judged on the user's inputs only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from parity.tape import Array

_DIGITS = {4: 6, 8: 8}  # decimals that a person writes, by the bytes of a format
_EXACT = 2.0**12
_LARGE = 1 << 16  # elements of an array that nobody wrote by hand


class HostReads:
    """The values that the host read, by their contents, and where it began.

    Attributes:
        first: the line that read first; None as long as nothing was read.
        baked: what computes with numbers of the host: indices of operations.
        rounded: operations given a constant that is what was read, to the precision of its format.
            Something small may have been added to it, as an epsilon, which other inputs would show.
        values: what was read.
        back: those of them that came back unchanged.
        baked_leaves: ids of constants that the host made after it read, and of what is made of
            them alone.
    """

    def __init__(self) -> None:
        self.first: str | None = None
        self.baked: set[int] = set()
        self.rounded: set[int] = set()
        self.baked_leaves: set[int] = set()
        self.values: dict[int, None] = {}
        self.back: set[int] = set()
        self._came_back = False
        self._by_contents: dict[tuple[Any, ...], tuple[int, str]] = {}
        self._scalars: dict[float, int] = {}
        self._linked: set[float] = set()

    def note(self, value: int, contents: Array, line: str) -> None:
        """The host reads a value that depends on the model's inputs."""
        if contents.dtype.kind != "f":
            return  # what is chosen by an integer or a boolean is exact, or is another choice
        if self.first is None:
            self.first = line
        self.values[value] = None
        self._by_contents[_key(contents)] = value, contents.dtype.name
        if contents.size == 1:
            self._scalars[float(contents.reshape(()))] = value

    def value(self, contents: Array, dtype: str = "") -> int | None:
        """The value that an array was read of; `dtype` where it must be of that format too."""
        if self.first is None or contents.dtype.kind != "f":
            return None
        value, recorded = self._by_contents.get(_key(contents), (None, ""))
        if value is None or dtype and (dtype != recorded or _is_short(contents)):
            return None
        self._came_back = dtype != ""
        self.back.add(value)
        return value

    def scalar(self, number: float) -> int | None:
        """The value that a number was read of, to be computed anew."""
        found = self._scalars.get(float(number))
        if found is None or _is_short(np.asarray(float(number))):
            return None
        self._linked.add(float(number))
        self.back.add(found)
        return found

    def leaf(self, value: int, contents: Array) -> None:
        """A constant that was first seen after a read: nobody wrote it if it has many decimals."""
        if self.first is not None and not is_written(contents):
            self.baked_leaves.add(value)

    def operation(self, index: int, attributes: Mapping[str, Any]) -> None:
        """An operation ran; its settings may be numbers of the host's."""
        if self.first is None:
            return
        if self._came_back:
            self.rounded.add(index)
            self._came_back = False
        numbers = [one for one in _floats(attributes.values()) if one not in self._linked]
        if not all(is_written(np.asarray(one)) for one in numbers):
            self.baked.add(index)


def _key(contents: Array) -> tuple[Any, ...]:
    return contents.shape, np.ascontiguousarray(contents, np.float64).tobytes()


def _is_short(contents: Array) -> bool:
    """Whether numbers have few bits, as 1.0 and 0.5: a constant may be the same by chance."""
    with np.errstate(all="ignore"):
        scaled = np.frexp(np.asarray(contents, np.float64))[0] * _EXACT
        return bool((scaled == np.round(scaled)).all())


def is_written(contents: Array) -> bool:
    """Whether every number has so few decimals that a person may have written it."""
    if contents.dtype.kind != "f" or not contents.size:
        return True
    if contents.size > _LARGE:
        return False
    digits = _DIGITS.get(contents.dtype.itemsize, 4)
    if _is_short(contents):
        return True
    numbers = np.unique(contents[np.isfinite(contents)])
    return all(_decimals(number) <= digits for number in numbers)


def _decimals(number: Any) -> int:
    mantissa = np.format_float_scientific(number, unique=True).split("e")[0]
    return len(mantissa.strip("-").replace(".", "").rstrip("0"))


def _floats(things: Iterable[Any]) -> Iterable[float]:
    for thing in things:
        if isinstance(thing, (float, np.floating)):
            yield float(thing)
        elif isinstance(thing, (list, tuple)):
            yield from _floats(thing)
