"""How NumPy's functions are called: what they are, with which settings, and how they run again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.arrays import Array

# NumPy's functions and methods, by their names, that put the same values elsewhere.
MOVES = frozenset(
    "reshape ravel flatten transpose swapaxes moveaxis rollaxis expand_dims squeeze getitem take "
    "concatenate stack hstack vstack dstack column_stack split array_split broadcast_to repeat "
    "tile flip fliplr flipud roll pad astype copy atleast_1d atleast_2d atleast_3d".split()
)
_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
_REVERSED = {"subtract": "subtract_from", "divide": "divide_from", "power": "power_from"}
_ON_FLAGS = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "invert": "logical_not"}


@dataclass(frozen=True)
class _Slot:
    """The place of an array among the arguments of a function."""

    at: int


# --- what runs again ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Again:
    """A function with its arguments, but for the arrays."""

    function: Callable[..., Any]
    template: Any

    def __call__(self, *arrays: Array) -> Sequence[Array]:
        args, kwargs = filled(self.template, arrays)
        dtype = kwargs.get("dtype")
        if dtype is not None and np.dtype(dtype).kind == "f":
            if any(one.dtype == np.float64 for one in arrays):
                kwargs["dtype"] = np.float64  # a replay in float64 rounds nothing
        result = self.function(*args, **kwargs)
        return list(result) if isinstance(result, (tuple, list)) else [result]


def emptied(things: Any, arrays: list[Array]) -> Any:
    """Arguments with a slot for each array, which goes onto the list."""
    if isinstance(things, np.ndarray):
        arrays.append(things)
        return _Slot(len(arrays) - 1)
    if type(things) in (tuple, list):
        return type(things)(emptied(one, arrays) for one in things)
    if type(things) is dict:
        return {key: emptied(one, arrays) for key, one in things.items()}
    return things


def filled(template: Any, arrays: Sequence[Array]) -> Any:
    if isinstance(template, _Slot):
        return arrays[template.at]
    if type(template) in (tuple, list):
        return type(template)(filled(one, arrays) for one in template)
    if type(template) is dict:
        return {key: filled(one, arrays) for key, one in template.items()}
    return template


def item_of(array: Array, index: Any) -> Any:
    return array[index]


def with_item(array: Array, index: Any, value: Any) -> Array:
    changed: Array = array.copy()
    changed[index] = value
    return changed


def into_copy(
    function: Callable[..., Array], target: Array, *inputs: Array, **kwargs: Any
) -> Array:
    return function(*inputs, out=target.copy(), **kwargs)


def as_dtype(array: Array, dtype: Any, *args: Any, **kwargs: Any) -> Array:
    if array.dtype == np.float64 and np.dtype(dtype).kind == "f":
        return array  # what is given is cast to what was recorded, except in float64
    found: Array = array.astype(dtype, *args, **kwargs)
    return found


# --- how it is called -----------------------------------------------------------------------------


def kind_of(ufunc: Any, method: str, inputs: Sequence[Any]) -> str | None:
    """The name of what a ufunc computes; None where that has none."""
    name = str(ufunc.__name__)
    if method == "__call__":
        flags = all(one.dtype == bool for one in inputs if isinstance(one, np.ndarray))
        name = _ON_FLAGS.get(name, name) if flags else name
        if len(inputs) == 2 and not isinstance(inputs[0], np.ndarray):
            return _REVERSED.get(name, name)
        if len(inputs) == 2 and not isinstance(inputs[1], np.ndarray):
            return {"maximum": "clip_min", "minimum": "clip_max"}.get(name, name)
        return name
    if method == "reduce":
        return _REDUCTIONS.get(name)
    return {"add": "cumsum", "multiply": "cumprod"}.get(name) if method == "accumulate" else None


def attributes_of(
    kind: str | None, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings of a call, by the names that Chainer's functions have for them."""
    found: dict[str, Any] = {
        key: one for key, one in kwargs.items() if isinstance(one, (int, float, str, tuple))
    }
    given = (one.item() if isinstance(one, np.generic) else one for one in args)
    numbers = [one for one in given if isinstance(one, (int, float))]
    if kind == "einsum" and args and isinstance(args[0], str) and "->" in args[0]:
        read, made = args[0].replace(" ", "").split("->")
        return {"in_subs": read, "out_sub": made}
    if kind in ("clip_min", "clip_max", "clip"):
        names = {"clip_min": ["x_min"], "clip_max": ["x_max"]}.get(kind, ["x_min", "x_max"])
        return found | dict(zip(names, numbers, strict=False))
    if kind in _AXES and len(args) > 1 and isinstance(args[1], (int, tuple)):
        found["axis"] = args[1]
    elif kind not in _AXES and len(args) == 2 and len(numbers) == 1:
        found["value"] = numbers[0]
    return found


_AXES = frozenset(
    "sum prod max min all any mean var std argmax argmin argsort sort cumsum cumprod concatenate "
    "stack expand_dims squeeze flip take repeat softmax".split()
)
