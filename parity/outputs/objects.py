"""What an object shows of itself: attributes, slots, fields, and the user's own properties."""

from __future__ import annotations

import argparse
import dataclasses
import dis
import re
import types
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import numpy as np

from parity.code_owners import (
    codes,
    codes_of_libraries,
    getter,
    is_bound,
    is_defined_by_the_user,
    is_of_the_user,
    is_users_class,
    is_users_function,
    known_by_name,
)
from parity.frameworks import traits
from parity.frameworks.distributions import law_of


@dataclasses.dataclass(frozen=True)
class Setting:
    """An attribute of an object that states how it is made, such as its number of actions.

    Two objects that both have it must agree; one that has none lacks no output.
    """

    value: Any


@dataclasses.dataclass(frozen=True)
class Ordered:
    """The keys of a dict whose order is a part of it: that of those which both have counts."""

    keys: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Private:
    """What an object keeps in a private attribute and shows nowhere: a method may give it."""

    value: Any


class Answer(str):
    """The name of what a user's property gives: it may be made anew for whoever asks."""


def is_plain(thing: object) -> bool:
    """Whether a thing is no more than what it is, and shows nothing."""
    works = callable(thing) and not hasattr(thing, "__dict__")
    return works or isinstance(thing, (*_PLAIN, Setting, Private))


_PLAIN = (
    *(str, bytes, bytearray, int, float, complex, type, Enum, set, frozenset, np.ndarray),
    *(np.generic, np.dtype, types.ModuleType, types.FunctionType, types.MethodType, types.NoneType),
)
_TRANSFORMED = ("base_dist", "transforms")  # by which torch makes a log-normal of a normal

# Answers that some objects compute on first use: quantile action values of ChainerRL and PFRL.
_ASKED = ("q_values",)


def shown(thing: Any, ask: bool = True) -> dict[str, Any]:
    """What an object shows of itself, by name; see `parity.outputs.flatten`.

    Args:
        ask: whether the properties of its class are asked too.
    """
    found = _asked(thing, _names(thing, ask))
    if law_of(type(thing)) is not None and not is_users_class(type(thing)):
        # made of another distribution, as its class states
        found = {name: item for name, item in found.items() if name not in _TRANSFORMED}
    if all(isinstance(item, (*_SETTINGS, Setting)) for item in found.values()):
        found |= _kept(thing)
    # an object that shows nothing by itself is not known by its class
    return {**stated_by_class(type(thing)), **found} if found else {}


def _kept(thing: Any) -> dict[str, Any]:
    """The parameters of a distribution, or what an object keeps behind properties."""
    cls = type(thing)
    declared = _declared(thing)
    if declared is not None:
        return {name: item for name, item in declared.items() if not isinstance(item, _SETTINGS)}
    if isinstance(getattr(cls, "arg_constraints", None), Mapping):
        return _asked(thing, cls.arg_constraints)
    return _asked(thing, [name for base in cls.__mro__ for name in _returned(base)])


def shown_beside(container: Any, held: Iterable[Any], ask: bool = True) -> dict[str, Any]:
    """What a container of a user-defined class shows beside the items that it holds."""
    if not is_users_class(type(container)):
        return {}
    known = set(map(id, held))
    found = _asked(container, _names(container, ask))
    own = {name: item for name, item in found.items() if id(item) not in known}
    return {**stated_by_class(type(container)), **own}


def stated_by_class(cls: type) -> dict[str, Setting]:
    """Numbers, texts and arrays that a user-defined class says of all its objects.

    Private ones are among them if a method reads them.
    """
    found = {}
    for base in reversed(cls.__mro__):
        if is_defined_by_the_user(base):
            for name, member in vars(base).items():
                if name[:1] != "_" and _is_data(member):
                    found[name] = Setting(member)
                elif name[:2] != "__" and _is_data(member) and methods_from(cls, name):
                    found[name] = Setting(Private(member))
    return found


def _is_data(thing: object) -> bool:
    """Whether a thing is a number, a text or an array, or a container of such."""
    if isinstance(thing, dict):
        return all(map(_is_data, thing.values()))
    if isinstance(thing, (list, tuple, set, frozenset)):
        return all(map(_is_data, thing))
    array = hasattr(thing, "shape") and hasattr(thing, "dtype") and not isinstance(thing, type)
    return array or isinstance(thing, _DATA)


_DATA = (str, bytes, int, float, complex, Enum, np.generic, np.dtype)


def declares_itself(thing: object) -> bool:
    """Whether all of an object's meaning is known to lie in what it shows, whoever made its class.

    That of a dataclass does, of a namespace, and of a distribution that names its parameters.
    """
    if dataclasses.is_dataclass(thing):
        return all(field.name[:1] != "_" for field in dataclasses.fields(thing))
    return isinstance(thing, (types.SimpleNamespace, argparse.Namespace)) or names_parameters(thing)


def names_parameters(thing: object) -> bool:
    """Whether an object is a distribution that declares its parameters."""
    if law_of(type(thing)) is not None:
        return True
    constraints = getattr(type(thing), "arg_constraints", None)
    return isinstance(constraints, Mapping) or _declared(thing) is not None


def hung_on(tensor: Any) -> dict[str, Any]:
    """The public attributes that somebody gave a tensor, and those by which frameworks mark it.

    Texts and numbers are its Settings where its class is the user's.
    """
    given = getattr(tensor, "__dict__", {})
    found = {
        name: Setting(item) if isinstance(item, _DATA) else item
        for name, item in given.items()
        if name[:1] != "_" and (is_users_class(type(tensor)) or not isinstance(item, _DATA))
    }
    marks = {name: given.get(name) for one in traits() for name in one.marks} if given else {}
    passed = {name: Private(np.asarray(one)) for name, one in marks.items() if one is not None}
    return found | passed


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


def private(thing: Any) -> dict[str, Any]:
    """The private attributes of an object."""
    return {name: item for name, item in attributes(thing).items() if name[:1] == "_"}


def attributes(thing: Any) -> dict[str, Any]:
    """All that an object holds, in slots too."""
    slots = [
        name
        for base in type(thing).__mro__
        for name, member in vars(base).items()
        if isinstance(member, types.MemberDescriptorType)
    ]
    names = dict.fromkeys((*getattr(thing, "__dict__", {}), *slots))
    names.pop("__dict__", None)  # of a namespace: its attributes, not one of them
    return {name: getattr(thing, name, None) for name in names}


def named_by_a_library(cls: type) -> set[str]:
    """The names that code of the libraries' classes uses, of which a class is made."""
    return {name for code in codes_of_libraries(cls) for name in code.co_names}


def answers_from(cls: type, attribute: str) -> set[str]:
    """A user's properties that read an attribute."""
    return {name for name, get in _of_the_user(cls).items() if attribute in _names_in(get)}


def methods_from(cls: type, attribute: str) -> set[str]:
    """The methods that a user's class offers and read an attribute: they may give what it holds."""
    return {
        name
        for base in cls.__mro__
        for name, member in vars(base).items()
        if (name[:1] != "_" or name in _OFFERED)
        and is_users_function(member)
        and attribute in _names_in(member)
    }


# Of a special name, and part of what a result offers to its callers.
_OFFERED = ("__call__", "__getitem__", "__iter__", "__array__", "__float__")


def _names_in(member: object) -> set[str]:
    """The names that the code of a method or a property reads or writes."""
    return {name for code in codes(member) for name in code.co_names}


def _declared(thing: Any) -> Mapping[str, Any] | None:
    """The parameters that a distribution declares: TensorFlow Probability's, Chainer's."""
    for name in ("parameters", "params"):
        if isinstance(getattr(type(thing), name, None), property):
            found = getattr(thing, name)
            if isinstance(found, Mapping):
                return found
    return None


def _of_the_user(cls: type) -> dict[str, types.FunctionType]:
    """The properties that the user's own code defines, which callers read of a result."""
    found = {
        name: getter(member)
        for base in reversed(cls.__mro__)
        for name, member in vars(base).items()
    }
    return {name: get for name, get in found.items() if get is not None}


# What states how an object works and holds no values of a model by itself.
_SETTINGS = (str, bool, int, float, types.NoneType)
_BEHAVIOUR = (
    *(type, types.FunctionType, types.MethodType, types.BuiltinFunctionType, np.ufunc),
    *(types.MethodDescriptorType, types.WrapperDescriptorType),
)
_ABSENT = object()


@dataclasses.dataclass(frozen=True)
class _Raised:
    """Stands for what a property could not give, by the class of its error."""

    error: str


def _asked(thing: Any, names: Iterable[str]) -> dict[str, Any]:
    """Attributes by name that are there and public, and say more than where it works.

    Modules (`xp`), devices and the methods of the object itself hold no values. A function of
    the user's, or a method of another object, that somebody gave the object is a part of it; other
    functions and classes are its Settings.
    """
    found = {}
    given = getattr(thing, "__dict__", {})
    for name in dict.fromkeys(names):
        try:
            item = _ABSENT if name.startswith("_") else getattr(thing, name, _ABSENT)
        except Exception as error:  # the user's code may say anything
            item = _Raised(type(error).__name__)
        if item is _ABSENT or _says_where(name, item):
            continue
        if isinstance(item, _BEHAVIOUR):
            if getattr(item, "__self__", None) is thing:
                continue
            own = isinstance(item, types.FunctionType) and not is_users_function(item)
            if own and not is_users_class(type(thing)):
                continue  # a library's own default, as a formatter
            setting = not (name in given and (is_of_the_user(item) or is_bound(item)))
        else:
            declared = dataclasses.is_dataclass(thing) or isinstance(item, float)
            setting = isinstance(item, _SETTINGS) and not declared
        found[name] = Setting(item) if setting else item
    return found


def _says_where(name: str, item: object) -> bool:
    """Whether an attribute is a module, or a device on which a framework works."""
    if isinstance(item, str):
        return name.lower().endswith("device") and is_device(item)
    kind = type(item)
    device = kind.__name__.lower().endswith("device") and not is_users_class(kind)
    return device or isinstance(item, types.ModuleType)


def is_device(text: str) -> bool:
    """Whether a text is what frameworks write for a device: `cuda:0`, `/job:.../device:CPU:0`."""
    return _DEVICE.fullmatch(text) is not None


_DEVICE = re.compile(
    r"(/job:\S*)?/?((physical_)?device:)?/?(cpu|gpu|cuda|native|mps|xpu|tpu|hip|meta)(:\d+)?"
    r"|@(numpy|cupy:\d+|intel64)",
    re.IGNORECASE,
)


def states_how(thing: Any) -> bool:
    """Whether what holds no numbers may say how a method works: a text, a function, an object.

    Where something works, as a device or a module, says nothing of it. Of a framework's functions
    and objects each framework has its own.
    """
    if isinstance(thing, (str, bytes, Enum)):
        return not (isinstance(thing, str) and is_device(thing))
    if isinstance(thing, type):
        return False
    if type(thing) in (list, tuple, dict):
        items = thing.values() if isinstance(thing, dict) else thing
        return any(states_how(one) for one in items if type(one) not in (list, tuple, dict))
    return is_of_the_user(thing) or known_by_name(thing) or is_users_class(type(thing))


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
