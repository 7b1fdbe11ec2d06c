"""What one kind of thing needs to be put back: arrays, tensors, variables, generators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

Put = Callable[[], object]


class CannotPutBack(Exception):
    """A thing has changed, and what it was before cannot be put back."""


class Leaf(NamedTuple):
    """How a thing is put back.

    Attributes:
        note: notes its contents; what it returns puts them back, or raises `CannotPutBack`.
        inside: by name, what else it holds.
        move: gives a generator another state, by a number.
    """

    note: Callable[[], Put]
    inside: tuple[tuple[str, Any], ...] = ()
    move: Callable[[int], object] | None = None


def nothing() -> Put:
    """Of a thing that itself has no contents."""
    return lambda: None


def unchanged(read: Callable[[], Any]) -> Put:
    """Of a thing of which can only be seen whether it has changed."""
    before = read()

    def check() -> None:
        if read() != before:
            raise CannotPutBack

    return check


Flag = tuple[Callable[[], Any], Callable[[Any], object]]  # how it is read, and set


def kept_flags(flags: Iterable[Flag]) -> Put:
    """Sets flags of the whole process back to what they are now, those that have changed."""
    before = [(read, write, read()) for read, write in flags]

    def put_back() -> None:
        for read, write, value in before:
            if read() != value:
                write(value)

    return put_back


@dataclass(frozen=True)
class StateRules:
    """How the objects of a library are put back; the defaults are those of plain objects.

    Attributes:
        holders: classes whose objects' attributes are put back, and their subclasses; other
            objects of the library hold nothing that changes.
        leaf: how a thing of its own is put back; None where it is none, or holds attributes alone.
        settings: how what it keeps for the whole process is put back: random states, modes.
        streams: where random numbers of the whole process stand that no recording sees, by name.
        makes: of an owner, a name, what was there and what is: whether an item that was not there
            is what a first call makes for good: weights.
        fills: whether a first call may fill an array of this object for good, in place.
    """

    holders: Callable[[], tuple[type, ...]] = tuple
    leaf: Callable[[Any], Leaf | None] = lambda _: None
    settings: Callable[[], list[Put]] = list
    streams: Callable[[], dict[str, Any]] = dict
    makes: Callable[[Any, Any, Any, Any], bool] = lambda *_: False
    fills: Callable[[Any], bool] = lambda _: False
