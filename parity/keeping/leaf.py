"""What one kind of thing needs to be put back: arrays, tensors, variables, generators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

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


Flag = tuple[Callable[[], Any], Callable[[Any], object]]  # how it is read, and set


def kept_flags(flags: Iterable[Flag]) -> Put:
    """Sets flags of the whole process back to what they are now, those that have changed."""
    before = [(read, write, read()) for read, write in flags]

    def put_back() -> None:
        for read, write, value in before:
            if read() != value:
                write(value)

    return put_back


class Library(Protocol):
    """What has to be known of a library whose objects models hold."""

    packages: tuple[str, ...]  # its objects hold nothing that changes, but for `holders`

    def holders(self) -> tuple[type, ...]:
        """Classes whose objects' attributes are put back, and their subclasses."""

    def leaf(self, thing: Any) -> Leaf | None:
        """How a thing of its own is put back; None where it is none, or holds attributes alone."""

    def settings(self) -> list[Put]:
        """How what it keeps for the whole process is put back: random states, modes."""

    def streams(self) -> dict[str, Any]:
        """Where the random numbers of the whole process stand that no recording sees, by name."""

    def makes(self, owner: Any, name: Any, before: Any, now: Any) -> bool:
        """Whether an item that was not there is what a first call makes for good: weights."""

    def fills(self, owner: Any) -> bool:
        """Whether a first call may fill an array of this object for good, in place."""
