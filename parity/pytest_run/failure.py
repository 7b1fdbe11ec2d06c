"""The failure of `assert_parity`, as pytest shows it."""

from __future__ import annotations

import sys

import pytest

from parity.escape import for_terminal


class NotParity(pytest.fail.Exception, AssertionError):  # type: ignore[name-defined,misc]
    """The failure of `assert_parity`: an AssertionError that pytest shows as its text alone."""

    __module__ = "builtins"  # pytest's summary then says `NotParity: ...`, as it does of its own

    def __init__(self, text: str) -> None:
        super().__init__(for_terminal(text), pytrace=False)  # type: ignore[call-arg]

    def __str__(self) -> str:
        # pytest shows no notes with an exception like this; hypothesis puts its example there
        return "\n".join([super().__str__(), *getattr(self, "__notes__", ())])


def called_from(depth: int) -> str:
    """The test's line, as pytest ends a traceback."""
    from parity.format import relative

    frame = sys._getframe(depth)
    return f"{relative(f'{frame.f_code.co_filename}:{frame.f_lineno}')}: NotParity"
