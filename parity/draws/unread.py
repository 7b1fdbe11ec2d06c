"""Numbers that a model draws and never reads, as those by which layers are dropped in training.

What Python does with a number cannot be followed. But a model that is recorded once more, with
things in the place of such numbers that note whatever is asked of them, shows whether it reads any.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, NoReturn

_standing_in: ContextVar[bool] = ContextVar("standing_in", default=False)


@contextlib.contextmanager
def standing_in() -> Iterator[None]:
    """Within it a model that is recorded gets stand-ins for single numbers that it draws."""
    token = _standing_in.set(True)
    try:
        yield
    finally:
        _standing_in.reset(token)


class Drawn:
    """Stands for a drawn number: whatever is asked of it is noted and refused.

    It is no number itself, so that compiled code has to ask for its value as well.
    """

    __slots__ = ("_is_read",)

    def __getattribute__(self, name: str) -> NoReturn:
        _refuse(self)


def stand_in(number: Any) -> Any:
    """What a model gets for what it drew: a stand-in for a number, where those are asked for."""
    single = isinstance(number, (int, float)) or getattr(number, "shape", None) == ()
    if not single or not _standing_in.get():
        return number
    made = Drawn()
    _IS_READ.__set__(made, False)
    return made


def is_unread(thing: object) -> bool:
    """Whether it stands for a number of which nothing was asked."""
    return type(thing) is Drawn and not _IS_READ.__get__(thing)


_IS_READ: Any = Drawn.__dict__["_is_read"]


def _refuse(thing: Drawn, *_: object, **__: object) -> NoReturn:
    _IS_READ.__set__(thing, True)
    raise TypeError("a number that is drawn outside the framework is read")


_MADE_BY = {"__new__", "__init__", "__init_subclass__", "__subclasshook__", "__class__"}
for _name in {*dir(float), *dir(int)} - _MADE_BY - {"__getattribute__"}:
    if _name.startswith("__") and callable(getattr(float, _name, getattr(int, _name, None))):
        setattr(Drawn, _name, _refuse)  # special methods are looked up past `__getattribute__`
