"""What containers among outputs hold, by key, and what they show beside it."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque
from collections.abc import Mapping, Set, ValuesView
from enum import Enum
from typing import Any

import numpy as np

from parity.frameworks import traits
from parity.outputs.objects import Ordered, Setting, is_plain, shown, shown_beside
from parity.outputs.tensors import Items


@dataclasses.dataclass(frozen=True)
class Repeated:
    """Stands for an object that holds itself: where it was seen first, as keys."""

    keys: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class NumericKey:
    """A key of a dict that is no name."""

    key: Any

    def __str__(self) -> str:
        return str(self.key)

    def __repr__(self) -> str:
        return repr(self.key)


@dataclasses.dataclass(frozen=True)
class Returned:
    """What a model that was returned, as by a meta-learner, is beside its parameters."""

    model: Any


def parameters(thing: Any) -> dict[str, Any] | None:
    """The parameters and buffers of a model by name; None for what is no model."""
    if isinstance(thing, type):
        return None
    return next((found for one in traits() if (found := one.parameters(thing)) is not None), None)


def shown_items(thing: Any, ask: bool) -> Items | None:
    """Keys and items of a container, and what it shows beside them; None for a leaf."""
    held = items_of(thing)
    if held is not None:
        held += _beside_items(thing)
        return [*held, *shown_beside(thing, [item for _, item in held], ask).items()]
    if is_plain(thing) or isinstance(thing, Repeated):
        return None
    return list(shown(thing, ask).items()) or None


def items_of(thing: Any) -> list[tuple[Any, Any]] | None:
    """Keys and items of a container; None for what is none."""
    if isinstance(thing, Mapping):
        return [(NumericKey(key) if _is_value(key) else key, item) for key, item in thing.items()]
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return list(zip(thing._fields, thing, strict=True))
    if isinstance(thing, (tuple, list, deque, ValuesView)):
        return list(enumerate(thing))
    if isinstance(thing, np.ndarray) and thing.dtype == object:
        return list(enumerate(thing.tolist())) if thing.ndim else None
    if isinstance(thing, Set) and not isinstance(thing, (set, frozenset)):  # keys() and items()
        return list(enumerate(thing))
    return None


def _beside_items(thing: Any) -> list[tuple[Any, Any]]:
    """What a container states beside its items: their order, what its keys are, what it makes."""
    found: list[tuple[Any, Any]] = []
    if isinstance(thing, OrderedDict) and not dataclasses.is_dataclass(thing):
        found.append(("order of keys", Setting(Ordered(tuple(thing)))))
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        found.append(("order of fields", Setting(Ordered(thing._fields))))  # it may be unpacked
    if isinstance(thing, defaultdict):
        found.append(("default factory", Setting(thing.default_factory)))
    if isinstance(thing, Mapping):
        members = {str(key): key.value for key in thing if isinstance(key, Enum)}
        found += [(f"number of {name}", Setting(number)) for name, number in members.items()]
    return found


def _is_value(key: Any) -> bool:
    """Whether a key is data, as an id, a place or a threshold are, and no name."""
    return key.isdecimal() if isinstance(key, str) else not isinstance(key, Enum)
