"""Walks through what a thing holds: attributes, containers, closures, globals, bound methods."""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import sys
from collections import UserDict, UserList
from collections.abc import Iterator, Mapping
from types import (
    BuiltinMethodType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, NamedTuple, cast

import numpy as np

from parity.callstack import is_users
from parity.keeping.leaf import Leaf, Library
from parity.keeping.structure import (
    Structure,
    Ways,
    of_attributes,
    of_cells,
    of_container,
    of_globals,
    of_objects,
)
from parity.owners import body_of

# The module that shows that a library is in use, and the file here.
_LIBRARIES = {
    "numpy": "parity.keeping.of_numpy",
    "torch": "parity.keeping.of_torch",
    "chainer": "parity.keeping.of_chainer",
    "tensorflow": "parity.keeping.of_tensorflow",
}
# Objects of these hold nothing of a model's: their code is nobody's.
_FOREIGN = (sys.stdlib_module_names - {"test"}) | {"pytest", "_pytest", "pluggy", "jax", "wrapt"}
_PLAIN = (str, bytes, int, float, complex, type(None), type(Ellipsis), np.dtype, ModuleType)
# What is held further off than this, counted in objects and functions, is none of the model's.
_DEPTH = 8
_GLOBALS = 4  # likewise, for functions whose globals are looked at
_LONG = 10_000  # items from which on a container is looked at and not into

Held = tuple["Path", Any, Leaf]  # with its path, and the object that holds it
Path = tuple[Any, ...]  # the path of what holds it, and the name there; () is the thing itself


def text(path: Path) -> str:
    """A path as it would be written."""
    found = ""
    while path:
        path, name = path
        found = name + found
    return found.lstrip(".") or "the model itself"


def libraries() -> list[Library]:
    """What is known of the libraries that are in use."""
    return [
        cast(Library, importlib.import_module(file))
        for module, file in _LIBRARIES.items()
        if module in sys.modules
    ]


class _Found(NamedTuple):
    path: Path
    thing: Any
    owner: Any
    depth: int


def walked(root: object) -> tuple[list[Structure], list[Held], dict[int, object]]:
    """The structures and the leaves that a thing holds, and all things seen, by their `id`."""
    walk = _Walk()
    walk.visit(root)
    return walk.structures, walk.leaves, walk.seen


class _Walk:
    def __init__(self) -> None:
        self.structures: list[Structure] = []
        self.leaves: list[Held] = []
        self.seen: dict[int, object] = {}  # kept alive, so that identities are never reused
        self._libraries = libraries()
        self._packages = {name for one in self._libraries for name in one.packages}
        self._holders = tuple(kind for one in self._libraries for kind in one.holders())
        self._waiting: list[_Found] = []

    def visit(self, root: object) -> None:
        """Visits a thing and all that it holds; in no recursion, for networks may be deep."""
        self._waiting.append(_Found((), root, root, 0))
        while self._waiting:
            found = self._waiting.pop()
            if isinstance(found.thing, _PLAIN) or id(found.thing) in self.seen:
                continue
            self.seen[id(found.thing)] = found.thing
            if found.depth <= _DEPTH:
                with contextlib.suppress(Exception):  # an object of the user's may refuse anything
                    self._open(found)

    def _open(self, at: _Found) -> None:
        thing = at.thing
        leaf = next(filter(None, (one.leaf(thing) for one in self._libraries)), None)
        if leaf is not None:
            self.leaves.append((at.path, at.owner, leaf))
            self._later(at, ((f".{name}" if name else "", item) for name, item in leaf.inside))
            return
        if isinstance(thing, FunctionType):
            self._function(at)
        elif isinstance(thing, MethodType):
            self._later(at, [("", thing.__self__), ("", thing.__func__)])
        elif isinstance(thing, BuiltinMethodType):  # as `rng.normal`
            self._later(at, [("", thing.__self__)])
        elif isinstance(thing, functools.partial):
            self._later(at, [("", thing.func), ("", thing.args), ("", thing.keywords)])
        elif isinstance(thing, type):
            if not self._is_foreign(thing):
                self._class(at, thing)
        elif isinstance(thing, np.ndarray):  # of objects
            self._structure(at, of_objects(thing))
        elif issubclass(type(thing), (tuple, frozenset, MappingProxyType)):
            items = thing.items() if isinstance(thing, Mapping) else enumerate(thing)
            self._later(at, [(f"[{key!r}]", item) for key, item in items])
        else:
            self._object(at)

    def _object(self, at: _Found) -> None:
        thing, kind = at.thing, type(at.thing)
        container = of_container(thing)
        if container is not None:
            self._structure(at, container)
        held = (SimpleNamespace, argparse.Namespace, UserDict, UserList, *self._holders)
        if self._is_foreign(kind) and not isinstance(thing, held):
            return
        at = at._replace(owner=thing, depth=at.depth + (not isinstance(thing, self._holders)))
        slots = [
            name
            for base in kind.__mro__
            for name, member in vars(base).items()
            if isinstance(member, MemberDescriptorType)
        ]
        if slots:
            self._structure(at, of_attributes(thing, slots), ".{}")
        wrapped = getattr(thing, "__wrapped__", None) if hasattr(kind, "__wrapped__") else None
        names = getattr(thing, "__dict__", None)
        if type(names) is dict:
            ways = of_container(names)
            assert ways is not None
            self._structure(at, ways, ".{}")
        self._later(at, [("", wrapped)])  # of a proxy
        self._later(at, [("", base) for base in kind.__mro__ if not self._is_foreign(base)])

    def _class(self, at: _Found, kind: type) -> None:
        """What a class of the user's holds for all its objects, and what its methods reach."""
        names, functions = [], []
        for name, item in vars(kind).items():
            item = getattr(item, "fget", None) or getattr(item, "__func__", body_of(item) or item)
            if isinstance(item, FunctionType):
                functions.append(item)
            elif not name.startswith("__") and not hasattr(item, "__get__"):
                names.append(name)
        at = at._replace(owner=kind)
        self._structure(at, of_attributes(kind, names), ".{}")
        self._later(at, [(f".{one.__name__}", one) for one in functions])

    def _function(self, at: _Found) -> None:
        function = at.thing
        if str(function.__module__).partition(".")[0] in self._packages:
            return
        at = at._replace(owner=function, depth=at.depth + 1)
        cells = function.__closure__ or ()
        free = function.__code__.co_freevars
        if cells:
            shown = dict(enumerate(f".{name}" for name in free))
            self._structure(at, of_cells(cells), names=shown)
        self._structure(at, of_attributes(function, ("__defaults__", "__kwdefaults__")), ".{}")
        if vars(function):
            ways = of_container(vars(function))
            assert ways is not None
            self._structure(at, ways, ".{}")
        if at.depth <= _GLOBALS and is_users(function.__code__):
            names = list(dict.fromkeys(_names(function.__code__)))
            names = [name for name in names if not name.startswith("__")]
            if names:
                self._structure(at, of_globals(function.__globals__, names), ".{}")

    def _structure(
        self, at: _Found, ways: Ways, shown: str = "[{!r}]", names: Mapping[Any, str] | None = None
    ) -> None:
        """Notes what something holds, and visits it later."""
        structure = Structure(at.owner, at.path, *ways, self._libraries)
        self.structures.append(structure)
        items = structure.before
        if len(items) <= _LONG:
            self._later(
                at,
                (
                    (names[key] if names else shown.format(key), item)
                    for key, item in items.items()
                    if not isinstance(item, _PLAIN)
                ),
            )

    def _later(self, at: _Found, items: Any) -> None:
        for name, item in items:
            self._waiting.append(
                _Found((at.path, name) if name else at.path, item, at.owner, at.depth)
            )

    def _is_foreign(self, kind: type) -> bool:
        """Whether a class is Python's or a library's own, which hold nothing of a model's."""
        package = str(kind.__module__).partition(".")[0]
        return package in _FOREIGN or package in self._packages


def _names(code: CodeType) -> Iterator[str]:
    """The globals that code reads or sets, and functions that are defined in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
