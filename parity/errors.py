"""Every error that parity raises on purpose: one root; a message says what, where, what to do."""

from __future__ import annotations


class ParityError(Exception):
    """Root of parity's errors; its text is meant for the user and needs no traceback.

    Attributes:
        command: the text where the command `parity` shows it, if what to do is another there.
    """

    def __init__(self, message: str = "", command: str | None = None) -> None:
        super().__init__(message)
        self.command = command


class FrameworkMissing(ParityError):
    """A framework that a model needs is not installed.

    Attributes:
        framework: its name.
    """

    def __init__(self, message: str, framework: str) -> None:
        super().__init__(message)
        self.framework = framework


class UsageError(ParityError):
    """Something was named, on the command line or to a function, that is not there."""


class ModelError(ParityError):
    """A model could not be run: it raised, or it is of a kind that cannot be recorded."""


class InputError(ParityError):
    """The inputs do not fit what a model or the comparison takes."""


class ReplayError(ParityError):
    """A recorded operation could not be run again."""


class NoFloat64(ReplayError):
    """An operation has no float64 in its framework: it can only run as it was recorded."""


class FileError(ParityError):
    """A file is damaged, unsafe or of no known kind, or cannot be written."""
