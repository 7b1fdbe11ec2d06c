"""Which framework a model is of; of a plain function, as far as what it is made of shows."""

from __future__ import annotations

import contextlib
import dis
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

from parity.errors import ModelError
from parity.frameworks import (
    FRAMEWORKS,
    LIBRARIES,
    aliases,
    load,
    load_adapter,
    names_in_use,
    owner_of,
)
from parity.frameworks.protocol import Library
from parity.recorder import discover


def prepare(obj: Any, framework: str | None) -> tuple[Any, str]:
    """What is to be recorded, and the name of the framework that records it.

    Raises:
        ParityError: as for `recognise`; or the model is not of the library that was named.
    """
    __tracebackhide__ = True
    for name, (module, adapter) in LIBRARIES.items():
        if framework == name or framework is None and module in sys.modules:
            library: Library = load_adapter(name, module, adapter, f"pip install 'ray[{name}]'")
            if framework == name or library.recognises(obj):
                runs = library.framework(obj)
                return library.prepared(obj), runs
    return obj, recognise(obj, framework)


def recognise(obj: object, framework: str | None = None) -> str:
    """The name of the framework that a model is of.

    Raises:
        ModelError: it is not clear, or `obj` cannot be called.
    """
    __tracebackhide__ = True
    if framework is not None:
        load(framework)
        return aliases().get(framework, framework)
    in_use = names_in_use()
    for name in in_use:
        if load(name).recognises(obj):
            return name
    if not callable(obj):
        raise ModelError(
            f"{type(obj).__name__} is no model that parity knows, and cannot be called. "
            "Hand in a torch, Keras, TensorFlow or Chainer model, or a function over tensors."
        )
    if isinstance(obj, type):
        raise ModelError(f"{obj.__name__} is a class. Hand in an instance: {obj.__name__}(...).")
    used: set[str] = set()
    for shown in _shown_by(obj, {name: load(name).recognises for name in in_use}):
        used = shown & set(in_use)
        if len(used) == 1:
            return used.pop()
    raise _unclear(obj, used)


def _unclear(obj: Any, used: set[str]) -> ModelError:
    name = getattr(obj, "__name__", type(obj).__name__)
    why = f": its module uses {' and '.join(sorted(used))}" if used else ""
    which = [one for one in FRAMEWORKS if one in used or not used]
    ways = " or ".join(f"framework={one!r}" for one in which)
    words = " or ".join(f"{word_of(obj)}@{one}" for one in which)
    return ModelError(
        f"Cannot tell the framework of {name!r}{why}. Name it: parity.wrap({name}, ...) with "
        f"{ways}.",
        f"Cannot tell the framework of {name!r}{why}. Name it behind an @: {words}.",
    )


def word_of(obj: Any) -> str:
    """How the command names a function, as far as it can be seen from it."""
    name, module = getattr(obj, "__qualname__", "<"), getattr(obj, "__module__", None)
    return f"{module}:{name}" if module and "<" not in name else "package.module:attribute"


def _shown_by(obj: Any, models: dict[str, Callable[[object], bool]]) -> Iterator[set[str]]:
    """Frameworks that a callable shows, the clearest signs first.

    By the model whose method it is; by the models that it holds and what its code reads; by all
    that its module uses.

    Args:
        models: what knows whether an object is a model, for each framework.
    """
    owner = getattr(obj, "__self__", None)
    yield {name for name, recognises in models.items() if recognises(owner)}
    function = _function_of(obj)
    if function is None:
        return
    held = {name for name, recognises in models.items() if discover(obj, recognises)}
    read = {owner_of(_origin_of(thing)) for thing in _read(function, {})}
    yield (held | read) - {"", "numpy"}
    used = {owner_of(_origin_of(thing)) for thing in function.__globals__.values()} - {""}
    yield used - {"numpy"} or used


def _function_of(obj: Any) -> FunctionType | None:
    """The function behind a method, a wrapper, or an object that can be called."""
    if isinstance(obj, MethodType):
        obj = obj.__func__
    if not isinstance(obj, FunctionType):
        wrapped = getattr(obj, "__wrapped__", None) or getattr(obj, "func", None)
        obj = wrapped if wrapped is not None else vars(type(obj)).get("__call__")
    return obj if isinstance(obj, FunctionType) else None


def _read(function: FunctionType, seen: dict[int, object]) -> Iterator[Any]:
    """What the code of a function reads of its globals and cells, and the functions there."""
    seen[id(function)] = function
    known = function.__globals__
    steps = (step for code in _codes(function.__code__) for step in dis.get_instructions(code))
    names = {step.argval for step in steps if step.opname == "LOAD_GLOBAL"}  # and no attributes
    for thing in (*_held_in_cells(function), *(known[one] for one in sorted(names & {*known}))):
        yield thing
        if isinstance(thing, FunctionType) and id(thing) not in seen:
            yield from _read(thing, seen)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _held_in_cells(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # an empty cell
            yield cell.cell_contents


def _origin_of(thing: object) -> str:
    """The module that a thing is of, or is."""
    origin = getattr(thing, "__name__" if type(thing) is type(sys) else "__module__", None)
    return origin if isinstance(origin, str) else ""
