"""What an object shows of itself: attributes, slots, fields, and properties of the user's own."""

from __future__ import annotations

import dataclasses
import dis
import functools
import inspect
import sys
import sysconfig
import types
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import numpy as np

from parity.callstack import foreign_paths, is_users


@dataclasses.dataclass(frozen=True)
class Setting:
    """An attribute of an object that says how it is made, such as its number of actions.

    Two objects that both have it must agree; one that has none lacks no output.
    """

    value: Any


@dataclasses.dataclass(frozen=True)
class Private:
    """What an object keeps in a private attribute and shows nowhere: a method may give it."""

    value: Any


class Answer(str):
    """The name of what a property of the user's gives: it may be made anew for whoever asks."""


def is_plain(thing: object) -> bool:
    """Whether a thing is no more than what it is, and shows nothing."""
    works = callable(thing) and not hasattr(thing, "__dict__")
    return works or isinstance(thing, (*_PLAIN, Setting))


_PLAIN = (
    *(str, bytes, bytearray, int, float, complex, type, Enum, set, frozenset, np.ndarray),
    *(np.generic, np.dtype, types.ModuleType, types.FunctionType, types.MethodType, types.NoneType),
)
# Answers that some objects compute on first use: quantile action values of ChainerRL and PFRL.
_ASKED = ("q_values",)


def shown(thing: Any, ask: bool = True) -> dict[str, Any]:
    """What an object shows of itself, by name; see `parity.outputs.flatten`.

    Args:
        ask: whether the properties of its class are asked too.
    """
    cls = type(thing)
    found = _asked(thing, _names(thing, ask))
    if not all(isinstance(item, (*_SETTINGS, Setting)) for item in found.values()):
        return found
    declared = _declared(thing)
    if declared is not None:
        return found | {
            name: item for name, item in declared.items() if not isinstance(item, _SETTINGS)
        }
    if isinstance(getattr(cls, "arg_constraints", None), Mapping):
        return found | _asked(thing, cls.arg_constraints)
    return found | _asked(thing, [name for base in cls.__mro__ for name in _returned(base)])


def shown_beside(container: Any, held: Iterable[Any], ask: bool = True) -> dict[str, Any]:
    """What a container of a class of the user's shows beside the items that it holds."""
    if not is_users_class(type(container)):
        return {}
    known = set(map(id, held))
    found = _asked(container, _names(container, ask))
    return {name: item for name, item in found.items() if id(item) not in known}


def hung_on(tensor: Any) -> dict[str, Any]:
    """The public attributes that somebody gave a tensor."""
    return {name: item for name, item in getattr(tensor, "__dict__", {}).items() if name[:1] != "_"}


def _names(thing: Any, ask: bool) -> list[str]:
    cls = type(thing)
    answers = _of_the_user(cls)
    names = list(getattr(thing, "__dict__", {}))
    if dataclasses.is_dataclass(thing):
        names = [*(field.name for field in dataclasses.fields(thing)), *names]
    for base in cls.__mro__:
        slots = vars(base).get("__slots__", ())
        names += [slots] if isinstance(slots, str) else list(slots)
    plain = [name for name in (*names, *_ASKED) if name not in answers]
    return [*plain, *map(Answer, answers)] if ask else plain


def is_users_class(cls: type) -> bool:
    """Whether a class, or one that it is made of, is defined by the user's own code."""
    return any(map(_is_defined_by_the_user, cls.__mro__))


def _is_defined_by_the_user(cls: type) -> bool:
    if cls.__module__.partition(".")[0] in sys.stdlib_module_names:
        return False  # some have no file
    file = getattr(sys.modules.get(cls.__module__), "__file__", None) or ""
    return not file.startswith((*foreign_paths(), *_INSTALLED))


def private(thing: Any) -> dict[str, Any]:
    """The private attributes of an object; of a class of the user's, those that are its own.

    What code of a library's class names, which it is made of, belongs to the library.
    """
    bases = type(thing).__mro__
    slots = [
        name
        for base in bases
        for name, member in vars(base).items()
        if isinstance(member, types.MemberDescriptorType)
    ]
    names = dict.fromkeys((*getattr(thing, "__dict__", {}), *slots))
    found = {name: getattr(thing, name, None) for name in names if name[:1] == "_"}
    if not found or not is_users_class(type(thing)):
        return found
    library = {
        name
        for base in bases
        if not _is_defined_by_the_user(base)
        for member in vars(base).values()
        for name in _names_in(member)
    }
    return {name: item for name, item in found.items() if name not in library}


def answers_from(cls: type, attribute: str) -> set[str]:
    """The properties of the user's that read an attribute."""
    found = _of_the_user(cls)
    return {name for name in found if attribute in _names_in(getattr(cls, name, None))}


def methods_from(cls: type, attribute: str) -> set[str]:
    """The methods that a user's class offers and read an attribute: they may give what it holds."""
    return {
        name
        for base in cls.__mro__
        for name, member in vars(base).items()
        if (name[:1] != "_" or name in _OFFERED)
        and _is_users_function(member)
        and attribute in _names_in(member)
    }


# Of a special name, and part of what a result offers to its callers.
_OFFERED = ("__call__", "__getitem__", "__iter__", "__array__", "__float__")


def _names_in(member: object) -> set[str]:
    """The names that the code of a method or a property reads or writes."""
    member = getattr(member, "fget", getattr(member, "func", getattr(member, "__func__", member)))
    if not isinstance(member, types.FunctionType):
        return set()
    code = inspect.unwrap(member).__code__
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return {name for one in (code, *inner) for name in one.co_names}


def _declared(thing: Any) -> Mapping[str, Any] | None:
    """The parameters that a distribution says it has: TensorFlow Probability's, Chainer's."""
    for name in ("parameters", "params"):
        if isinstance(getattr(type(thing), name, None), property):
            found = getattr(thing, name)
            if isinstance(found, Mapping):
                return found
    return None


def _of_the_user(cls: type) -> list[str]:
    """The properties that the user's own code defines: what callers read of a result."""
    found = [
        name
        for base in cls.__mro__
        for name, member in vars(base).items()
        if isinstance(member, (property, functools.cached_property))
        and _is_users_function(getattr(member, "fget", getattr(member, "func", None)))
    ]
    return list(dict.fromkeys(found))


def _is_users_function(thing: object) -> bool:
    return (
        isinstance(thing, types.FunctionType)
        and is_users(thing.__code__)
        and not thing.__code__.co_filename.startswith(_INSTALLED)
    )


_INSTALLED = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib")})


# What says how an object works and holds no values of a model by itself.
_SETTINGS = (str, bool, int, float, types.NoneType)
_BEHAVIOUR = (
    *(type, types.FunctionType, types.MethodType, types.BuiltinFunctionType),
    types.ModuleType,
)


@dataclasses.dataclass(frozen=True)
class _Raised:
    """Stands for what a property could not give, by the class of its error."""

    error: str


def _asked(thing: Any, names: Iterable[str]) -> dict[str, Any]:
    """Attributes by name that are there and public, and say more than how or where it works.

    Modules (`xp`), devices and the methods of the object's own class hold no values. A function of
    the user's, or a method of another object, that somebody gave the object is a part of it.
    """
    found = {}
    given = getattr(thing, "__dict__", {})
    users = is_users_class(type(thing)) or isinstance(thing, types.SimpleNamespace)
    for name in dict.fromkeys(names):
        try:
            item = _BEHAVIOUR if name.startswith("_") else getattr(thing, name, _BEHAVIOUR)
        except Exception as error:  # the user's code may say anything
            item = _Raised(type(error).__name__)
        offered = name in given and (_is_of_the_user(item) or users and _is_bound(item))
        works = isinstance(item, _BEHAVIOUR) and not offered
        works = works or type(item).__name__.lower().endswith("device")
        if item is not _BEHAVIOUR and not works:
            declared = dataclasses.is_dataclass(thing) or isinstance(item, float)
            setting = isinstance(item, _SETTINGS) and not declared
            found[name] = Setting(item) if setting else item
    return found


def _is_bound(thing: object) -> bool:
    """Whether a callable is a method of an object, in which it may read anything."""
    owner = getattr(thing, "__self__", None)
    return owner is not None and not isinstance(owner, (type, types.ModuleType))


def _is_of_the_user(thing: object) -> bool:
    """Whether a function is the user's own, or a method of an object of the user's."""
    if isinstance(thing, types.MethodType):
        return is_users_class(type(thing.__self__)) and _is_users_function(thing.__func__)
    return _is_users_function(thing)


def _returned(cls: type) -> list[str]:
    """The properties of a class that only return an attribute."""
    return [
        name
        for name, member in vars(cls).items()
        if isinstance(member, property) and _only_returns(member.fget)
    ]


_READS_ONE = frozenset(["RESUME", "LOAD_FAST", "LOAD_ATTR", "RETURN_VALUE", "NOP", "CACHE"])


def _only_returns(getter: Any) -> bool:
    """Whether a property does no more than to return an attribute: `return self._logits`."""
    if not isinstance(getter, types.FunctionType):
        return False
    return all(
        one.opname in _READS_ONE or one.opname.startswith("LOAD_FAST")
        for one in dis.get_instructions(getter)
    )
