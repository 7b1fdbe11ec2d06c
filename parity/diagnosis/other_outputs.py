"""Leaves of outputs that hold no numbers: are two equal, and what is said of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, time, timedelta
from enum import Enum
from functools import partial
from pathlib import PurePath
from types import CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from parity.code_owners import is_users_class, known_by_name
from parity.diagnosis import limits
from parity.frameworks import FRAMEWORKS, aliases
from parity.outputs.containers import Repeated, Returned, parameters
from parity.outputs.objects import Ordered, Private, Setting, attributes, is_device

_PLAIN = (str, bytes, bool, int, float, complex, date, time, timedelta, PurePath, Enum, Repeated)


def is_plain(leaf: Any) -> bool:
    """Whether a leaf is what it shows: two that differ are a difference."""
    if isinstance(leaf, (set, frozenset)):
        return all(map(is_plain, leaf))
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype.kind in "SUMm"
    return leaf is None or isinstance(leaf, _PLAIN) or _dtype_name(leaf) != ""


def are_devices(a: Any, b: Any) -> bool:
    """Whether two texts are what frameworks write for devices, which have names of their own."""
    return all(isinstance(one, str) and is_device(one) for one in (a, b))


def is_array(leaf: Any) -> bool:
    """Whether a leaf is a private array of numbers that are rounded."""
    array = leaf.value if isinstance(leaf, Private) else None
    return isinstance(array, np.ndarray) and array.dtype.kind in "fc"


def equal(a: Any, b: Any) -> bool:
    """Whether two leaves are the same; what cannot be compared is not."""
    if isinstance(a, Enum) and isinstance(b, Enum) and type(a) is not type(b):
        named = (type(a).__name__, a.name) == (type(b).__name__, b.name)
        plain = all(type(one.value) is not object for one in (a, b))
        return named and (not plain or equal(a.value, b.value))
    if isinstance(a, FunctionType) and isinstance(b, FunctionType) and _same_function(a, b):
        return True
    if isinstance(a, MethodType) and isinstance(b, MethodType):
        return a.__func__ is b.__func__ and _hold_the_same(a.__self__, b.__self__)
    if isinstance(a, Private) and isinstance(b, Private):
        return _kept_alike(a.value, b.value, set())
    if isinstance(a, Setting) and isinstance(b, Setting):
        return equal(a.value, b.value)
    if isinstance(a, Ordered) and isinstance(b, Ordered):
        first, second = ([key for key in x.keys if key in y.keys] for x, y in ((a, b), (b, a)))
        return first == second
    if isinstance(a, Returned) and isinstance(b, Returned):
        return _made_alike(a.model, b.model, set())
    a, b = _as_text(a), _as_text(b)
    if isinstance(a, str) and isinstance(b, str):
        return a == b or _without_frameworks(a) == _without_frameworks(b)
    if _dtype_name(a) and _dtype_name(b):
        return _dtype_name(a) == _dtype_name(b)
    if known_by_name(a) and known_by_name(b):
        return a is b or a.__name__ == b.__name__
    if isinstance(a, (np.ndarray, np.generic)) or isinstance(b, (np.ndarray, np.generic)):
        arrays = np.asarray(a), np.asarray(b)
        times = all(one.dtype.kind in "mM" for one in arrays)  # NaT is NaT
        return bool(np.array_equal(*arrays, equal_nan=times))
    try:
        return bool(a is b or a == b)
    except (TypeError, ValueError, RuntimeError):  # of an object that compares element by element
        return False


def _as_text(leaf: Any) -> Any:
    """Bytes as the text that they are, as in TensorFlow's tensors of strings."""
    try:
        if isinstance(leaf, bytes):
            return leaf.decode()
        if isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind == "S":
            return np.char.decode(leaf, "utf-8")
    except UnicodeDecodeError:
        pass
    return leaf


def _without_frameworks(text: str) -> str:
    """A text in which dtypes are written without their frameworks: of torch, of TensorFlow."""
    prefixes = "|".join((*FRAMEWORKS, *aliases()))
    written = rf"\b(?:{prefixes})\.{_NAMES}|<dtype: '{_NAMES}'>"
    return re.sub(written, lambda found: found[1] or found[2], text)


# As `str(tensor.dtype)` and `repr(tensor.dtype)` have it.
_NAMES = r"(bool|b?float\d+|u?int\d+|complex\d+)\b"


def _same_function(a: FunctionType, b: FunctionType) -> bool:
    """Whether two functions are one piece of code made with equal values."""
    made = [_made_with(one) for one in (a, b)]
    return (a.__code__ is b.__code__ and len(made[0]) == len(made[1])) and all(
        x is y or not isinstance(x, FunctionType) and equal(x, y)
        for x, y in zip(*made, strict=True)
    )


def _hold_the_same(a: object, b: object) -> bool:
    """Whether two objects of one class have equal attributes; what else they hold is not known."""
    if type(a) is not type(b) or not all(hasattr(one, "__dict__") for one in (a, b)):
        return a is b
    held = vars(a), vars(b)
    return held[0].keys() == held[1].keys() and all(
        equal(held[0][name], held[1][name]) for name in held[0]
    )


def _items_alike(a: Any, b: Any, alike: Callable[[Any, Any], bool]) -> bool | None:
    """Whether two containers of one class have like items in one order; None of other things."""
    if type(a) is not type(b) or not isinstance(a, (list, tuple, dict)):
        return None
    same = len(a) == len(b) and all(map(alike, a, b))
    return same and (not isinstance(a, dict) or all(map(alike, a.values(), b.values())))


def _kept_alike(a: Any, b: Any, seen: set[tuple[int, int]]) -> bool:
    """Whether two things are the same, objects of the user's attribute by attribute.

    Two may be equal by what their class says, and hold other values. What libraries made, as a
    lock or a logger, says nothing of such an object.
    """
    if (id(a), id(b)) in seen or a is b:
        return True
    seen.add((id(a), id(b)))
    alike = partial(_kept_alike, seen=seen)
    items = _items_alike(a, b, alike)
    if items is not None:
        return items
    if type(a) is not type(b) or not is_users_class(type(a)) or isinstance(a, (Enum, str, bytes)):
        return equal(a, b)
    held = attributes(a), attributes(b)
    return held[0].keys() == held[1].keys() and all(
        alike(*both)
        for both in ((held[0][name], held[1][name]) for name in held[0])
        if not all(map(_is_of_a_library, both))
    )


def _is_of_a_library(thing: Any) -> bool:
    """Whether a thing is a library's object or module, of which its class alone is known."""
    held = is_plain(thing) or isinstance(thing, (list, tuple, dict, set, frozenset, np.ndarray))
    known = held or isinstance(thing, FunctionType | MethodType | type) or known_by_name(thing)
    return not known and not is_users_class(type(thing))


def _made_alike(a: Any, b: Any, seen: set[int]) -> bool:
    """Whether two models are made of the same layers with equal settings, whatever they learned."""
    if type(a) is not type(b):
        return equal(a, b)
    if id(a) in seen or a is b:
        return True
    seen.add(id(a))
    alike = partial(_made_alike, seen=seen)
    items = _items_alike(a, b, alike)
    if items is not None:
        return items
    learned = parameters(a)
    if learned is None or not hasattr(a, "__dict__"):
        return equal(a, b)
    seen.update(map(id, learned.values()))  # which are compared by themselves
    return alike(vars(a), vars(b))


def _made_with(function: FunctionType) -> list[Any]:
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    cells = [cell for cell in function.__closure__ or () if cell != CellType()]  # or it is empty
    return [*defaults, *(cell.cell_contents for cell in cells)]


def _dtype_name(leaf: Any) -> str:
    """The name of a framework's dtype, as `float32`; "" of anything else."""
    if isinstance(leaf, type) and issubclass(leaf, np.generic):
        leaf = np.dtype(leaf)
    if isinstance(leaf, np.dtype):
        return str(leaf.name)
    if type(leaf).__name__ not in ("dtype", "DType") or is_users_class(type(leaf)):
        return ""
    return str(getattr(leaf, "name", leaf)).rpartition(".")[2]


def described(leaf: Any) -> str:
    """A leaf in a message: what it is, or what kind of thing."""
    if is_plain(leaf):
        return brief(leaf)
    if isinstance(leaf, Private):
        return f"{described(leaf.value)} in a private attribute"
    if isinstance(leaf, Ordered):
        return f"the order of {', '.join(map(str, leaf.keys))}"
    if known_by_name(leaf):
        return f"{getattr(leaf, '__module__', None) or ''}.{leaf.__name__}".strip(".")
    kind = type(leaf.model if isinstance(leaf, Returned) else leaf)
    return f"a {kind.__module__}.{kind.__qualname__}".replace("builtins.", "")


def brief(leaf: Any) -> str:
    """What a leaf is, cut short."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        leaf = leaf.item() if np.ndim(leaf) == 0 else leaf
    array = isinstance(leaf, np.ndarray)
    text = np.array2string(leaf, threshold=6, precision=6) if array else repr(leaf)
    text, most = " ".join(text.split()), limits.SHOWN_CHARACTERS
    return text if len(text) <= most else f"{text[: most - 3]}..."
