"""Which framework a plain function is of, as far as what it is made of tells."""

from __future__ import annotations

import contextlib
import dis
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

from parity.recorder import discover


def told_by(
    obj: Any, models: Mapping[str, Callable[[object], bool]], roots: Mapping[str, str]
) -> Iterator[set[str]]:
    """Frameworks that a callable shows, the most telling first.

    By the model whose method it is; by the models that it holds and what its code reads; by all
    that its module uses.

    Args:
        models: what tells whether an object is a model, for each framework.
        roots: top-level modules, with the framework that each is of.
    """
    owner = getattr(obj, "__self__", None)
    yield {name for name, recognises in models.items() if recognises(owner)}
    function = _function_of(obj)
    if function is None:
        return
    held = {name for name, recognises in models.items() if discover(obj, recognises)}
    read = {roots.get(_root_of(thing), "") for thing in _read(function, {})}
    yield (held | read) - {"", "numpy"}
    used = {roots.get(_root_of(thing), "") for thing in function.__globals__.values()} - {""}
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
    names = {name for code in _codes(function.__code__) for name in _globals_of(code)}
    for thing in (*_held_in_cells(function), *(known[one] for one in sorted(names & {*known}))):
        yield thing
        if isinstance(thing, FunctionType) and id(thing) not in seen:
            yield from _read(thing, seen)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _globals_of(code: CodeType) -> Iterator[str]:
    """The globals that it reads; its attributes' names lie beside theirs."""
    for one in dis.get_instructions(code):
        if one.opname == "LOAD_GLOBAL":
            yield one.argval


def _held_in_cells(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # an empty cell
            yield cell.cell_contents


def _root_of(thing: object) -> str:
    """The top-level module that a thing is of, or is."""
    origin = getattr(thing, "__name__" if type(thing) is type(sys) else "__module__", None)
    return origin.split(".")[0] if isinstance(origin, str) else ""
