"""Whose code a class or a function is: the user's own, or a library's."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import sysconfig
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from parity.callstack import foreign_paths, is_users

_INSTALLED = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib")})


def is_users_class(cls: type) -> bool:
    """Whether a class, or one that it is made of, is defined by the user's own code."""
    return any(map(is_defined_by_the_user, cls.__mro__))


def is_defined_by_the_user(cls: type) -> bool:
    """Whether the user's own code defines a class, whatever it is made of."""
    return _is_the_users(cls.__module__, sys.modules.get(cls.__module__))


def is_users_module(module: types.ModuleType) -> bool:
    """Whether the user wrote a module."""
    return _is_the_users(module.__name__, module)


def _is_the_users(name: str, module: types.ModuleType | None) -> bool:
    if name.partition(".")[0] in _WITHOUT_A_FILE:
        return False
    file = getattr(module, "__file__", None) or ""
    return not file.startswith((*foreign_paths(), *_INSTALLED))


# Some modules of Python's, and those that exist in name only, of classes written in C++.
_WITHOUT_A_FILE = sys.stdlib_module_names | {"pybind11_builtins", "nanobind"}


def is_users_function(thing: object) -> bool:
    """Whether a function is written by the user."""
    return (
        isinstance(thing, types.FunctionType)
        and is_users(thing.__code__)
        and not thing.__code__.co_filename.startswith(_INSTALLED)
    )


def is_librarys(cls: type, name: str) -> bool:
    """Whether a class has a member of that name, and has it of a library."""
    owner = next((base for base in cls.__mro__ if name in vars(base)), None)
    return owner is not None and not is_defined_by_the_user(owner)


def is_bound(thing: object) -> bool:
    """Whether a callable is a method of an object, in which it may read anything."""
    owner = getattr(thing, "__self__", None)
    return owner is not None and not isinstance(owner, (type, types.ModuleType))


def body_of(thing: object) -> Any:
    """The code that a `tf.function` was made of, bound as it is; None for anything else.

    TensorFlow binds a method to its object weakly. Once it was traced, its own way to the code
    leads to the code's translation.
    """
    body = getattr(thing, "python_function", None)
    if not callable(body):
        return None
    method, owner = _held_weakly(thing)
    return body if method is None or owner is None else types.MethodType(method, owner)


def is_without_object(thing: object) -> bool:
    """Whether a thing is a `tf.function` of a method whose object is gone."""
    method, owner = _held_weakly(thing)
    return method is not None and owner is None


def _held_weakly(thing: object) -> tuple[Any, Any]:
    """The method of which a `tf.function` was made, and its object; None where there is none."""
    bound = getattr(getattr(thing, "python_function", None), "__original_wrapped__", None)
    held = getattr(getattr(bound, "__self__", None), "weakrefself_target__", None)
    return (None, None) if held is None else (bound.__func__, held())  # type: ignore[union-attr]


def is_of_the_user(thing: object) -> bool:
    """Whether a function is the user's own, or a method of a user's object."""
    if isinstance(thing, types.MethodType):
        return is_users_class(type(thing.__self__)) and is_users_function(thing.__func__)
    return is_users_function(thing)


def known_by_name(thing: object) -> bool:
    """Whether a thing is a class, or a function that a library offers: `torch.tanh` is `tf.tanh`.

    A function that a library makes on demand, as a schedule of a learning rate, holds values.
    """
    if isinstance(thing, types.FunctionType):
        offered = getattr(sys.modules.get(thing.__module__), thing.__name__, None) is thing
        return offered and not is_users_function(inspect.unwrap(thing))
    return isinstance(thing, _OFFERED) and not is_bound(thing)


_OFFERED = (type, types.BuiltinFunctionType, types.MethodDescriptorType, np.ufunc)


# What gives a method, though it may be made of a user's function.
_METHODS = (
    *(types.FunctionType, classmethod, staticmethod),
    *(functools.partialmethod, functools.singledispatchmethod),
)


def getter(member: object) -> types.FunctionType | None:
    """The user's function by which a descriptor makes what it gives; None for anything else.

    A property is one, and so is any other that holds such a function, as torch's `lazy_property`.
    """
    if isinstance(member, _METHODS) or not hasattr(type(member), "__get__"):
        return None
    held: list[Any] = [getattr(member, name, None) for name in ("fget", "func", "__func__")]
    held += getattr(member, "__dict__", {}).values()
    return next(filter(is_users_function, held), None)


def codes_of_libraries(cls: type) -> Iterator[types.CodeType]:
    """The code of the libraries' classes of which a class is made."""
    for base in cls.__mro__:
        if not is_defined_by_the_user(base):
            for member in vars(base).values():
                yield from codes(member)


@functools.cache
def set_by_libraries(cls: type) -> frozenset[str]:
    """The attributes that code of the library's classes sets, by `__setattr__` too."""
    found: set[str] = set()
    for code in codes_of_libraries(cls):
        found |= {one.argval for one in dis.get_instructions(code) if one.opname == "STORE_ATTR"}
        if "__setattr__" in code.co_names:
            found |= {one for one in code.co_consts if isinstance(one, str)}
    return frozenset(found)


def codes(member: object) -> list[types.CodeType]:
    """The code of a method or a property, and of functions that are defined in it."""
    member = getattr(member, "fget", getattr(member, "func", getattr(member, "__func__", member)))
    if not isinstance(member, types.FunctionType):
        return []
    code = inspect.unwrap(member).__code__
    return [code, *(one for one in code.co_consts if isinstance(one, types.CodeType))]
