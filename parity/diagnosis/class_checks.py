"""Does the user's code distinguish two classes, or has each model just one of its own?"""

from __future__ import annotations

import inspect
import re
import sys
import typing
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from parity.code_owners import codes, is_defined_by_the_user


def told_apart(reference: type, candidate: type) -> bool:
    """Whether code of the module of two classes chooses between them, or asks which one it has.

    So it may, where one function, one class, one union or one table names both, and where they are
    kinds of one class of the user's. A class that only its own model names says nothing.
    """
    if any(map(is_defined_by_the_user, {*reference.__mro__} & {*candidate.__mro__})):
        return True
    module = sys.modules.get(reference.__module__)
    both = {reference.__name__, candidate.__name__}
    return any(
        both <= names
        for member in list(vars(module).values() if module is not None else ())
        for names in _named(member, reference.__module__)
    )


def _named(member: object, module: str) -> Iterator[set[str]]:
    """The names that are used together in a function, in a class, or in what holds classes."""
    if isinstance(member, type):
        if member.__module__ == module:
            yield {
                name for one in vars(member).values() for code in codes(one) for name in _in(code)
            }
    elif isinstance(member, FunctionType):
        if member.__module__ == module:
            yield from _in_function(inspect.unwrap(member))
    else:
        held: Any = list(member.values()) if type(member) is dict else member
        items = held if type(held) in (list, tuple, set, frozenset) else typing.get_args(held)
        yield {one.__name__ for one in items if isinstance(one, type)}


def _in_function(function: Any) -> Iterator[set[str]]:
    """The names in its code, in that of each function that is defined in it, and in its hints."""
    yield set(re.findall(r"\w+", " ".join(map(str, function.__annotations__.values()))))
    inside = [function.__code__]
    while inside:
        code = inside.pop()
        yield _in(code)
        inside += [one for one in code.co_consts if isinstance(one, CodeType)]


def _in(code: CodeType) -> set[str]:
    return {*code.co_names, *code.co_freevars}
