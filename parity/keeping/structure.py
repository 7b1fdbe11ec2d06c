"""Which things something holds: attributes, items, cells, globals; noted and put back."""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import is_
from types import CellType, FunctionType, ModuleType
from typing import Any

from parity.callstack import is_users
from parity.code_owners import is_users_class, set_by_libraries
from parity.keeping.leaf import StateRules

_NONE = object()
Items = Mapping[Any, Any]


@dataclass(eq=False)
class Structure:
    """What something holds, by name, key or place.

    Attributes:
        owner: the object that it belongs to.
        path: how the owner is reached.
        read: what it holds now.
        write: gives it other items; those it holds now come first.
        rules: those of the libraries that are in use.
        within: the attribute of the owner's in which it lies, of a container.
    """

    owner: Any
    path: Any
    read: Callable[[], Items]
    write: Callable[[Items, Items], object]
    rules: Collection[StateRules]
    within: str | None = None

    def __post_init__(self) -> None:
        self.before = dict(self.read())

    def changed(self) -> bool:
        now, before = self.read(), self.before
        return not (  # in C where keys are one object, as nearly always: this is asked very often
            len(now) == len(before)
            and all(map(is_, before.values(), now.values()))
            and (all(map(is_, before, now)) or all(map(_same_key, before, now)))
        )

    def makes(self, known: Mapping[int, object]) -> bool:
        """Whether something that was not there is what a first call makes: weights, layers."""
        return any(
            self._is_made(name, old, one)
            for name, item in self.read().items()
            if (old := self.before.get(name)) is not item and _was_empty(old)
            for one in _several(item)
            if id(one) not in known
        )

    def _is_made(self, name: Any, old: Any, item: Any) -> bool:
        return any(one.makes(self.owner, name, old, item) for one in self.rules)

    def is_users_container(self) -> bool:
        """Whether it lies in an attribute that the user's own code sets."""
        return self.within is not None and _is_of_the_user(self.owner, self.within)

    def hold(self, name: Any, item: Any) -> None:
        """Gives it one other item."""
        now = self.read()
        self.write(now, {**now, name: item})

    def put_back(self, built: bool = False, here: bool = False) -> None:
        """Gives it what it held.

        Args:
            built: whether the run was a first call that has built something, which stays: weights,
                layers, and what a library notes of them. What the user's own code keeps is put
                back, as a flag or a state that the next call begins with.
            here: whether it has built something in this owner, or in this container of the user:
                then what is new stays as well.
        """
        now, items = dict(self.read()), self.before
        if built:
            names = dict.fromkeys((*items, *now))
            kept = {name: self._kept(name, now.get(name, _NONE), here) for name in names}
            items = {name: item for name, item in kept.items() if item is not _NONE}
        self.write(now, items)

    def _kept(self, name: Any, now: Any, here: bool) -> Any:
        """What stays under a name after a first call."""
        before = self.before.get(name, _NONE)
        if before is now:
            return now
        # a layer in the place of None is held elsewhere
        if here and (before is _NONE or now is _NONE):
            return now
        if _is_of_the_user(self.owner, self.within or name):
            made = _was_empty(before) and any(self._is_made(name, before, o) for o in _several(now))
            return now if made else before
        return before if not here and (_is_number(before) or _is_number(now)) else now


def _is_of_the_user(owner: Any, name: Any) -> bool:
    """Whether it is the user's code that keeps something there, and no library's."""
    if isinstance(owner, FunctionType):
        return is_users(owner.__code__)
    cls = owner if isinstance(owner, type) else type(owner)
    if cls.__module__.partition(".")[0] in sys.stdlib_module_names:  # as a SimpleNamespace
        return True
    return is_users_class(cls) and name not in set_by_libraries(cls)


def _same_key(a: Any, b: Any) -> bool:
    """Whether two keys are one; tensors that are keys have an equality of their own."""
    return a is b or isinstance(a, (int, str)) and isinstance(b, (int, str)) and a == b


def _was_empty(item: Any) -> bool:
    """Whether there was nothing yet, or a container that may hold more now."""
    return item is _NONE or item is None or isinstance(item, (Mapping, list, tuple))


def _several(item: Any) -> Collection[Any]:
    """A thing, and what it holds where it is a container."""
    if isinstance(item, Mapping):
        return [item, *item.values()]
    return [item, *item] if isinstance(item, (list, tuple)) else [item]


def _is_number(item: Any) -> bool:
    """A tensor that is no parameter, a number, or several of them."""
    if isinstance(item, (tuple, list)):
        return any(map(_is_number, item))
    if isinstance(item, dict):
        return any(map(_is_number, item.values()))
    if isinstance(item, bool):
        return False
    return isinstance(item, (int, float)) or (
        hasattr(item, "shape") and hasattr(item, "dtype") and not hasattr(item, "assign")
    )


# --- how each kind is read and written -----------------------------------------------------------

Ways = tuple[Callable[[], Items], Callable[[Items, Items], object]]


def of_container(thing: Any) -> Ways | None:
    """A dict, list, set or deque, of a subclass too: by what Python's own class holds of it."""
    kind = next((kind for kind in _CONTAINERS if issubclass(type(thing), kind)), None)
    if kind is None:
        return None

    def write(_: Items, items: Items) -> None:
        kind.clear(thing)
        if issubclass(kind, dict):
            kind.update(thing, items)
        else:
            (kind.update if kind is set else kind.extend)(thing, items.values())

    if issubclass(kind, dict):
        return lambda: dict(kind.items(thing)), write
    return lambda: dict(enumerate(kind.__iter__(thing))), write


_CONTAINERS: tuple[Any, ...] = (OrderedDict, dict, list, deque, set)


def of_attributes(thing: Any, names: Collection[str]) -> Ways:
    """Attributes that are set one by one: slots, those of a class or a function."""

    def read() -> Items:
        found = ((name, getattr(thing, name, _NONE)) for name in names)
        return {name: item for name, item in found if item is not _NONE}

    return _one_by_one(read, partial(setattr, thing), partial(delattr, thing))


def of_globals(places: dict[str, Any], names: Collection[str]) -> Ways:
    """The globals that a function reads or sets; what it imports stays."""

    def read() -> Items:
        found = ((name, places[name]) for name in names if name in places)
        return {name: item for name, item in found if not isinstance(item, ModuleType)}

    return _one_by_one(read, places.__setitem__, places.__delitem__)


def of_class(kind: type) -> Ways:
    """What a class holds for all its objects, and its methods."""

    def read() -> Items:
        held = vars(kind).items()
        return {
            name: item for name, item in held if name[:2] != "__" or isinstance(item, FunctionType)
        }

    return _one_by_one(read, partial(setattr, kind), partial(delattr, kind))


def of_cells(cells: Mapping[str, CellType]) -> Ways:
    """What a function was made with, by name."""

    def read() -> Items:
        found = {}
        for name, cell in cells.items():
            with suppress(ValueError):  # it is empty
                found[name] = cell.cell_contents
        return found

    return _one_by_one(read, lambda name, item: setattr(cells[name], "cell_contents", item))


def of_objects(array: Any) -> Ways:
    """An array of Python objects."""
    return _one_by_one(lambda: dict(enumerate(array.flat)), array.flat.__setitem__)


def _one_by_one(
    read: Callable[[], Items],
    put: Callable[[Any, Any], object],
    drop: Callable[[Any], object] = lambda _: None,
) -> Ways:
    def write(now: Items, items: Items) -> None:
        for name, item in items.items():
            if now.get(name, _NONE) is not item:
                put(name, item)
        for name in now:
            if name not in items:
                drop(name)

    return read, write
