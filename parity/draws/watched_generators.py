"""Generators of NumPy's that report what they draw, in the place of those that a model holds."""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Callable
from types import BuiltinMethodType, MethodType
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from parity.draws.numpy_kernels import LEGACY, MODERN, OTHERS
from parity.keeping import Structure

if TYPE_CHECKING:
    from parity.draws.host import Host

_MODULE: Any = random.random.__self__  # type: ignore[attr-defined]
_PYTHONS = (MethodType, BuiltinMethodType)
_NO_DRAWS = ("seed", "getstate", "setstate")


def is_pythons(thing: object) -> bool:
    """Whether it is a function of `random` that draws: a method of the generator behind it."""
    methods = isinstance(thing, _PYTHONS) and thing.__self__ is _MODULE
    return methods and thing.__name__ not in _NO_DRAWS  # type: ignore[attr-defined]


def is_pythons_own(thing: object) -> TypeGuard[random.Random]:
    return isinstance(thing, random.Random) and not isinstance(thing, random.SystemRandom)


def _is_numpys(thing: object) -> bool:
    """Whether it is a function of `numpy.random` that draws."""
    name = getattr(thing, "__name__", "") if isinstance(thing, _PYTHONS) else ""
    return name in (*LEGACY, *OTHERS) and getattr(np.random, name, None) is thing


def watched(generator: Any, host: Host) -> Any:
    """A generator on the same stream of bits that reports to a host what it draws."""
    modern = isinstance(generator, _GENERATOR)
    bits = generator.bit_generator if modern else generator._bit_generator
    found = _watched_kind(_GENERATOR if modern else _LEGACY)(bits)
    found.parity_of = generator, host
    return found


@functools.cache
def _watched_kind(base: Any) -> Any:
    """The class of watched generators, which carry what they stand for and to whom they report."""
    kernels = MODERN if base is _GENERATOR else LEGACY

    def method(name: str) -> Callable[..., Any]:
        def drawing(self: Any, *args: Any, **kwargs: Any) -> Any:
            generator, host = self.parity_of
            return host.call(kernels, name, getattr(generator, name), args, kwargs)

        return drawing

    methods = {name: method(name) for name in (*kernels, *OTHERS) if hasattr(base, name)}
    return type(base.__name__, (base,), methods)


_GENERATOR, _LEGACY = np.random.Generator, np.random.RandomState
KINDS = (_GENERATOR, _LEGACY)


class _AnyOfBase(type):
    """Of a class that makes watched generators: all generators are its instances, as before."""

    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, cls.__mro__[1])

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.__mro__[1])


def making(base: Any, host: Host) -> Any:
    """A class of NumPy's whose generators are watched, but for those made with a seed."""

    def new(_: type, *args: Any, **kwargs: Any) -> Any:
        made = base(*args, **kwargs)
        # the bits that a Generator is made of may be of a seed: `settle` finds whether they are
        return made if base is _LEGACY and (args or kwargs) else watched(made, host)

    return _AnyOfBase(base.__name__, (base,), {"__new__": new})


def _stand_in(item: Any, host: Host, of_a_class: bool) -> Any:
    """What is to be in the place of an item that a model holds; itself, nearly always."""
    if isinstance(item, KINDS):
        return watched(item, host)
    if type(item) is tuple and any(isinstance(one, KINDS) for one in item):
        return tuple(watched(one, host) if isinstance(one, KINDS) else one for one in item)
    if id(item) in host.made:  # by `from numpy.random import default_rng`
        return host.made[id(item)]
    if of_a_class:  # where a function would become a method
        return item
    if is_pythons(item):  # by `from random import random`
        return host.python(item)
    return host.wrapped(item.__name__, item) if _is_numpys(item) else item


def swapped(structure: Structure, host: Host) -> list[Callable[[], object]]:
    """Puts watched generators where a structure holds some; how each is put back."""
    swaps: list[Callable[[], object]] = []
    for key, item in structure.read().items():
        other = _stand_in(item, host, isinstance(structure.owner, type))
        if other is not item:
            structure.hold(key, other)
            swaps.append(functools.partial(structure.hold, key, item))
    return swaps


def swapped_in_scipy(shared: Any, other: Any) -> list[Callable[[], object]]:
    """Another generator for the laws of `scipy.stats`, which took NumPy's when they were imported.

    No model holds them: they are reached through the module.
    """
    laws = vars(sys.modules.get("scipy.stats", random)).values()
    holding = [one for one in laws if getattr(one, "_random_state", None) is shared]
    for one in holding:
        one._random_state = other
    return [functools.partial(setattr, one, "_random_state", shared) for one in holding]
