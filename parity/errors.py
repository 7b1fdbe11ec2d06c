"""Every error that parity raises on purpose: one root, and a message that says what, where, what to do."""

from __future__ import annotations


class ParityError(Exception):
    """Root of parity's errors; its text is meant for the user and needs no traceback."""


class FrameworkMissing(ParityError):
    """A model names a framework that is not installed, or whose adapter does not know it."""


class ModelError(ParityError):
    """A model could not be run: it raised, or it is of a kind that cannot be recorded."""


class InputError(ParityError):
    """The inputs do not fit what a model or the comparison takes."""


class ReplayError(ParityError):
    """A recorded operation could not be run again."""
