"""Walks through what a thing holds: attributes, containers, closures, globals, bound methods."""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import (
    BuiltinMethodType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple, cast

import numpy as np

from parity.callstack import is_users
from parity.code_owners import is_users_class, is_users_function, is_users_module
from parity.frameworks import OTHER_PACKAGES, in_use, owner_of
from parity.keeping import of_python
from parity.keeping.leaf import Leaf, Put, StateRules
from parity.keeping.structure import (
    Structure,
    Ways,
    of_attributes,
    of_cells,
    of_class,
    of_container,
    of_globals,
    of_objects,
)

# Modules of Python's whose objects hold what the user gives them.
_OPEN = {"argparse", "collections", "queue", "types", "weakref"}
# Other objects of these hold nothing of a model's: their code is nobody's.
_FOREIGN = (sys.stdlib_module_names - {"test"}) | {"pytest", "_pytest", "pluggy", "wrapt"}
_FOREIGN |= {*OTHER_PACKAGES}
_PLAIN = (str, bytes, int, float, complex, type(None), type(Ellipsis), np.dtype, ModuleType)
# What nearly all is held by, and is no leaf by any rule.
_NO_LEAVES = {FunctionType, MethodType, functools.partial, type, dict, list, tuple, set, frozenset}
# What is held further off than this, counted in objects and functions, is none of the model's.
_DEPTH = 32
_GLOBALS = 4  # likewise, for functions of installed packages whose globals are looked at
_LONG = 10_000  # items from which on a container is looked at and not into


class Step(NamedTuple):
    """How a thing is reached from what holds it; the thing itself has no step.

    Attributes:
        before: how what holds it is reached.
        key: its name, key or place there.
        shown: how that is written; "" for what is no part of the path, as a method's function.
        anew: whether a name begins with it: a variable of a function's.
        number: its place among all steps, by which those that share a holder are in order.
    """

    before: Path
    key: Any
    shown: str
    anew: bool
    number: int


Path = Step | None
Held = tuple[Path, Any, Put, Leaf]  # with its path, and the object that holds it


def text(path: Path) -> str:
    """A path as it would be written."""
    found = "".join(step.shown.format(step.key) for step in _steps(path))
    return found.lstrip(".") or "the model itself"


def name(path: Path) -> str:
    """What is found at the end of a path, by the attributes and items that lead to it."""
    parts: list[str] = []
    for step in _steps(path):
        if step.anew:
            parts.clear()
        if step.shown:
            parts.append(str(step.key))
    return ".".join(parts)


def _places(path: Path) -> list[int]:
    """By which things are in the order of their attributes, and not of how far off they are."""
    return [step.number for step in _steps(path)]


def _steps(path: Path) -> list[Step]:
    steps = []
    while path is not None:
        steps.append(path)
        path = path.before
    return steps[::-1]


def state_rules() -> list[StateRules]:
    """Those of Python itself, and of the frameworks that are in use."""
    return [of_python.STATE, *(framework.TRAITS.state for framework in in_use())]


class _Found(NamedTuple):
    path: Path
    thing: Any
    owner: Any
    within: str | None  # the attribute of the owner's that it is or lies in
    depth: int


def walked(root: object) -> tuple[list[Structure], list[Held], dict[int, object]]:
    """The structures and the leaves that a thing holds, and all things seen, by their `id`."""
    walk = _Walk()
    walk.visit(root)
    return walk.structures, walk.leaves, walk.seen


def held_by(root: object, is_wanted: Callable[[object], bool]) -> Iterator[tuple[str, Any]]:
    """What is wanted of all that a thing holds, with its name; it is not looked into."""
    walk = _Walk(is_wanted)
    walk.visit(root)
    found: dict[int, object] = {}
    for path, thing in sorted(walk.wanted, key=lambda one: _places(one[0])):
        if found.setdefault(id(thing), path) is path:
            yield name(path) or type(thing).__name__, thing


class _Walk:
    """One walk, in which each thing is reached by the fewest objects.

    Args:
        is_wanted: what is looked for; where it is not given, how all is put back is noted.
    """

    def __init__(self, is_wanted: Callable[[object], bool] | None = None) -> None:
        self.structures: list[Structure] = []
        self.leaves: list[Held] = []
        self.wanted: list[tuple[Path, object]] = []
        self.seen: dict[int, object] = {}  # kept alive, so that identities are never reused
        self._is_wanted = is_wanted
        self._rules = state_rules()
        self._holders = tuple(kind for one in self._rules for kind in one.holders())
        self._read: set[tuple[int, tuple[str, ...]]] = set()
        self._waiting: deque[_Found] = deque()
        self._further: deque[_Found] = deque()  # by one object more
        self._depth = self._number = 0

    def visit(self, root: object) -> None:
        """Visits a thing and all that it holds; in no recursion, for networks may be deep."""
        self._waiting.append(_Found(None, root, root, None, 0))
        while self._waiting or self._further:
            if not self._waiting:
                self._waiting, self._further = self._further, self._waiting
            found = self._waiting.popleft()
            with contextlib.suppress(Exception):  # a user's object may refuse anything
                if self._is_wanted is not None and self._is_wanted(found.thing):
                    self.wanted.append((found.path, found.thing))
                elif not isinstance(found.thing, _PLAIN) and id(found.thing) not in self.seen:
                    self.seen[id(found.thing)] = found.thing
                    self._depth = found.depth
                    self._open(found)

    def _open(self, at: _Found) -> None:
        thing = at.thing
        rules = () if type(thing) in _NO_LEAVES else self._rules
        leaf = next(filter(None, (one.leaf(thing) for one in rules)), None)
        if leaf is not None:
            if self._is_wanted is None:
                self.leaves.append((at.path, at.owner, leaf.note(), leaf))
            for key, item in leaf.inside:
                self._later(at, [(key, item)], ".{}" if key else "")
        elif isinstance(thing, FunctionType):
            self._function(at)
        elif isinstance(thing, MethodType):
            self._later(at, enumerate((thing.__self__, thing.__func__)))
        elif isinstance(thing, BuiltinMethodType):  # as `rng.normal`
            self._later(at, [("", thing.__self__)])
        elif isinstance(thing, functools.partial):
            self._later(at, [("", thing.func)])
            self._later(at, enumerate(thing.args), "[{!r}]")
            self._later(at, thing.keywords.items(), ".{}")
        elif isinstance(thing, weakref.ref):
            self._later(at, [("", thing())])
        elif isinstance(thing, functools._lru_cache_wrapper):
            for item in gc.get_referents(thing):  # its function, and what it remembers
                self._later(at, item.items() if type(item) is dict else [("", item)])
        elif isinstance(thing, type):
            if not self._is_foreign(thing):
                self._class(at)
        elif hasattr(type(thing), "__get__") and self._is_foreign(type(thing)):  # as a property
            held = ("fget", "fset", "func", "__func__")
            self._later(at, ((name, getattr(thing, name, None)) for name in held))
        elif isinstance(thing, np.ndarray):  # of objects
            self._structure(at, of_objects(thing))
        elif issubclass(type(thing), (tuple, frozenset, MappingProxyType)):
            items = thing.items() if isinstance(thing, Mapping) else enumerate(thing)
            self._later(at, items, "[{!r}]")
        else:
            self._object(at)

    def _object(self, at: _Found) -> None:
        thing, kind = at.thing, type(at.thing)
        container = of_container(thing)
        if container is not None:
            self._structure(at, container, within=at.within)
        if self._is_foreign(kind) and not isinstance(thing, self._holders):
            if _package(kind) not in _OPEN or container is not None:
                return
        depth = at.depth + (not isinstance(thing, self._holders))
        proxy = hasattr(kind, "__wrapped__")
        if (container is None and not proxy) or is_users_class(kind):
            at = at._replace(owner=thing, within=None)  # and no list of TensorFlow's own
        at = at._replace(depth=depth)
        slots = [
            name
            for base in kind.__mro__
            for name, member in vars(base).items()
            if isinstance(member, MemberDescriptorType)
        ]
        if slots:
            self._structure(at, of_attributes(thing, slots), ".{}")
        names = getattr(thing, "__dict__", None)
        if type(names) is dict:
            self._structure(at, cast(Ways, of_container(names)), ".{}")
        if proxy:
            self._later(at, [("", getattr(thing, "__wrapped__", None))])
        self._later(at, [("", kind)])

    def _class(self, at: _Found) -> None:
        """What a user-defined class holds for all its objects, and what its methods reach."""
        at = at._replace(owner=at.thing, within=None)
        self._structure(at, of_class(at.thing), ".{}")
        self._later(at, [("", base) for base in at.thing.__bases__])

    def _function(self, at: _Found) -> None:
        function = at.thing
        at = at._replace(owner=function, within=None, depth=at.depth + 1)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        if owner_of(str(function.__module__)):
            # what a library's own functions keep is its own; what they were made of may be a user's
            self._later(at, of_cells(cells)[0]().items(), ".{}", anew=True)
            return
        if cells:
            self._structure(at, of_cells(cells), ".{}", anew=True)
        defaults = of_attributes(function, ("__defaults__", "__kwdefaults__"))
        self._structure(at, defaults, visited=False)
        self._later(at, _defaults(function).items(), ".{}", anew=True)
        self._structure(at, cast(Ways, of_container(vars(function))), ".{}")
        if is_users(function.__code__) and (at.depth <= _GLOBALS or is_users_function(function)):
            self._globals(at, function.__globals__, _names(function.__code__))

    def _globals(self, at: _Found, places: dict[str, Any], names: tuple[str, ...]) -> None:
        """What code reads or sets of a module, and of the user's modules that it reaches there.

        Args:
            names: all that the code names, in whatever module.
        """
        if (id(places), names) in self._read:
            return
        self._read.add((id(places), names))
        self._structure(at, of_globals(places, names), ".{}", anew=at.owner is at.thing)
        package = places.get("__package__") or ""
        for one in names:
            # where a function imports, its module has no such name
            module = places.get(one, sys.modules.get(one) or sys.modules.get(f"{package}.{one}"))
            if isinstance(module, ModuleType) and is_users_module(module):
                path = self._step(at.path, one, ".{}", at.owner is at.thing)
                inside = at._replace(path=path, thing=module)
                self._globals(inside, vars(module), names)

    def _structure(
        self,
        at: _Found,
        ways: Ways,
        shown: str = "[{!r}]",
        within: str | None = None,
        anew: bool = False,
        visited: bool = True,
    ) -> None:
        """Notes what something holds, and visits it later."""
        structure = Structure(at.owner, at.path, *ways, self._rules, within)
        self.structures.append(structure)
        if visited and len(structure.before) <= _LONG:
            self._later(at, structure.before.items(), shown, anew)

    def _later(
        self, at: _Found, items: Iterable[tuple[Any, Any]], shown: str = "", anew: bool = False
    ) -> None:
        if at.depth > _DEPTH:
            return
        waiting = self._waiting if at.depth == self._depth else self._further
        for key, item in items:
            if not isinstance(item, _PLAIN):
                path = self._step(at.path, key, shown, anew)
                waiting.append(_Found(path, item, at.owner, at.within or str(key), at.depth))

    def _step(self, before: Path, key: Any, shown: str, anew: bool) -> Step:
        self._number += 1
        return Step(before, key, shown, anew, self._number)

    def _is_foreign(self, kind: type) -> bool:
        """Whether a class is Python's or a library's own, which hold nothing of a model's."""
        return _package(kind) in _FOREIGN or bool(owner_of(str(kind.__module__)))


def _package(made: type | FunctionType) -> str:
    return str(made.__module__).partition(".")[0]


@functools.lru_cache(maxsize=4096)
def _names(code: CodeType) -> tuple[str, ...]:
    """The globals that code reads or sets, and functions that are defined in it, each once."""
    names = dict.fromkeys(name for name in code.co_names if not name.startswith("__"))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names.update(dict.fromkeys(_names(constant)))
    return tuple(names)


def _defaults(function: FunctionType) -> dict[str, Any]:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    values = function.__defaults__ or ()
    return dict(zip(names[len(names) - len(values) :], values, strict=True)) | (
        function.__kwdefaults__ or {}
    )
