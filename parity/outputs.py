"""Outputs of any structure as named tensors: tuples, dicts, nested, objects with named arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np


def flatten(output: Any, is_tensor: Callable[[object], bool]) -> dict[str, Any]:
    """Tensors by path: `"output"` for a single one, else `"0"`, `"value"`, `"state/1"`.

    NumPy arrays and floats count as tensors; None and what holds no numbers is left out. Objects
    give the arrays among their attributes, as ChainerRL's and PFRL's action values and the
    frameworks' distributions keep them; private attributes are left out. Of what an object works
    out only when asked, `q_values` is asked for, so that it is there whether or not a model did.
    """
    found: dict[str, Any] = {}

    def visit(path: str, thing: Any, depth: int) -> None:
        if is_tensor(thing) or isinstance(thing, (np.ndarray, np.floating, float)):
            found[path or "output"] = thing
            return
        if depth > 6:
            return
        for key, item in _items(thing):
            visit(f"{path}/{key}" if path else str(key), item, depth + 1)

    visit("", output, 0)
    return found


def _items(thing: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(thing, Mapping):
        return thing.items()
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return zip(thing._fields, thing, strict=True)
    if isinstance(thing, (tuple, list)):
        return enumerate(thing)
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return ((field.name, getattr(thing, field.name)) for field in dataclasses.fields(thing))
    if (
        isinstance(thing, (str, bytes, int, type))
        or callable(thing)
        and not hasattr(thing, "__dict__")
    ):
        return ()
    attributes = getattr(thing, "__dict__", None)
    if attributes is None or isinstance(thing, type(np)):
        return ()
    shown = {key: item for key, item in attributes.items() if not key.startswith("_")}
    for key in _ASKED:
        if key not in shown and hasattr(type(thing), key):
            shown[key] = getattr(thing, key)
    return shown.items()


# Answers that some objects compute on first use: quantile action values of ChainerRL and PFRL.
_ASKED = ("q_values",)
