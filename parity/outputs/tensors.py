"""Tensors that are no plain arrays: what they are made of, and those of another framework."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from parity.code_owners import is_librarys
from parity.frameworks import traits
from parity.outputs.objects import Setting

NUMBERS = "biufc"  # NumPy's kinds of dtypes that hold numbers
DENSE = 1 << 24  # elements up to which a sparse tensor is written out

Items = Iterable[tuple[Any, Any]]


class Path(tuple[Any, ...]):
    """Keys below a thing that is one to its user: none for a tensor written out."""


ITSELF = Path()


@dataclasses.dataclass(frozen=True)
class Foreign:
    """A tensor of a framework that is not the model's, and its values."""

    array: Any
    tensor: Any


def offers(thing: Any, *methods: str) -> bool:
    """Whether the class of a thing has all these methods."""
    return all(callable(getattr(type(thing), name, None)) for name in methods)


def parts_of_tensor(thing: Any) -> Items | None:
    """What a tensor that is no plain array is made of; None for others."""
    if isinstance(thing, np.ma.MaskedArray):
        mask = np.broadcast_to(np.asarray(thing.mask, bool), thing.shape)
        parts = [("data", np.where(mask, 0, thing.data)), ("mask", mask)]
        if thing is np.ma.masked:  # which takes none
            return parts
        # what its user reads there
        return [*parts, ("fill_value", Setting(np.asarray(thing.fill_value).item()))]
    if isinstance(thing, np.ndarray) and thing.dtype.fields:
        return [(name, thing[name]) for name in thing.dtype.fields]
    scipy: Any = sys.modules.get("scipy.sparse")  # without it there are none of its arrays
    if scipy is not None and scipy.issparse(thing):
        return _sparse_of_scipy(thing)
    return next((found for one in traits() if (found := one.parts(thing)) is not None), None)


def _sparse_of_scipy(thing: Any) -> Items:
    """As what it stands for: of the order of its entries nothing depends."""
    if int(np.prod(np.asarray(thing.shape, np.float64))) <= DENSE:
        return [(ITSELF, thing.toarray())]
    thing = thing.tocoo(copy=True)
    thing.sum_duplicates()
    places = getattr(thing, "coords", (thing.row, thing.col))
    return [("values", thing.data), ("indices", np.stack(places)), ("shape", np.array(thing.shape))]


def is_narrow(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array holds numbers in a format that NumPy has not, such as bfloat16."""
    kind = array.dtype
    return kind.name.startswith(("bfloat", "float8")) or kind.kind == "V" and not kind.names


def foreign(thing: Any) -> Foreign | None:
    """A tensor of a framework that is not the model's, as an array."""
    given = thing
    if not (hasattr(thing, "shape") and hasattr(thing, "dtype")):
        return None
    for one in traits():
        thing = one.readable(thing)
    makes = is_librarys(type(thing), "numpy")
    if not (makes or hasattr(thing, "__array__")):
        return None
    array = np.asarray(thing.numpy() if makes else thing)
    if is_narrow(array):
        array = array.astype(np.float32)
    return Foreign(array, given) if array.dtype.kind in NUMBERS else None
