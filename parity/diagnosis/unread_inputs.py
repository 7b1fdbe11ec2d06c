"""Inputs that one model alone reads: with other values there the models differ."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.replay_check import PlainRun, PlainRuns
from parity.errors import ParityError
from parity.inputs.binding import FLAG
from parity.model import Inputs, as_it_is, flatten_given, map_given
from parity.numerics.difference import residual
from parity.tape import Array, Tape

_notes: ContextVar[list[str] | None] = ContextVar("notes", default=None)


@contextmanager
def noted_only() -> Iterator[list[str]]:
    """Within it such inputs are listed here, and are no reason for doubt.

    For a transfer: where the models agree on the values that were given, the weights are proved,
    whatever the code makes of others.
    """
    notes: list[str] = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def doubtful_inputs(plain: PlainRuns) -> list[str]:
    """What is said of inputs that one model alone reads; nothing where that is only noted."""
    found, notes = _read_by_one(plain), _notes.get()
    if notes is None:
        return found
    notes += found
    return []


def _read_by_one(plain: PlainRuns) -> list[str]:
    """Inputs whose values change the outputs of one model alone; what is said of each.

    As a mask of ones, or a temperature that a port holds as a constant.
    """
    found = []
    for name in _may_be_unread(plain):
        read = [any(_changes(one, name, way) for way in WAYS) for one in plain]
        if read[0] == read[1]:
            continue
        reader, other = (plain[read.index(one)].tape for one in (True, False))
        if not _may_say_the_same(other, name):
            found.append(
                f"input {name!r} changes the outputs of {reader.model}, and not those of "
                f"{other.model}, which does not read it: they agree for the values that were "
                "given there, and differ for others"
            )
    return found


def _may_say_the_same(tape: Tape, name: str) -> bool:
    """Whether a model reads another input of whole numbers: lengths say what a mask does."""
    for other, value in tape.given.items():
        array = tape.recorded_array(value)
        whole = array.dtype.kind in "biu" or bool((array == np.round(array)).all() and array.any())
        if other != name and whole and tape.graph.is_used(value):
            return True
    return False


def _may_be_unread(plain: PlainRuns) -> Iterator[str]:
    """The inputs that one model alone may read, as far as that is known of it."""
    tapes = reference, candidate = plain[0].tape, plain[1].tape
    numbers = [_numbers(one.inputs) for one in plain]
    yield from (name for name in numbers[0] if name in numbers[1])
    opaque = len(reference.inputs) > 1 and any(tape.framework == "numpy" for tape in tapes)
    for name in reference.inputs:
        if name in candidate.inputs:
            read = [tape.graph.is_used(tape.inputs[name]) for tape in tapes]
            if read[0] != read[1] or opaque:
                yield name


def _numbers(inputs: Inputs) -> list[str]:
    """The names of inputs that are Python's numbers, and not the mode."""
    given = flatten_given(inputs)
    return [name for name, one in given.items() if isinstance(one, (int, float)) and name != FLAG]


def _changed(inputs: Inputs, name: str, way: Callable[[Array], Array]) -> Inputs:
    names = iter(flatten_given(inputs))

    def change(item: Any) -> Any:
        if next(names) != name:
            return item
        changed = way(np.asarray(item))
        return changed.item() if as_it_is(item) else changed

    return map_given(change, inputs)


def _changes(plain: PlainRun, name: str, way: Callable[[Array], Array]) -> bool:
    """Whether other values of an input change an output, or are not taken, and so are read."""
    try:
        with warnings.catch_warnings():  # of what nobody gave it
            warnings.simplefilter("ignore")
            before = plain.run()
            after = plain.on(_changed(plain.inputs, name, way))
    except ParityError:
        return True
    return any(
        name not in after
        or after[name].shape != array.shape
        or not residual(array, after[name]) <= limits.CHANGED_INPUT
        for name, array in before.items()
    )


def _less(array: Array) -> Array:
    return np.asarray(array * 0.375, array.dtype)


def _turned_round(array: Array) -> Array:
    return np.ascontiguousarray(array.ravel()[::-1].reshape(array.shape))


# Values to put in the place of an input's.
WAYS = (_less, _turned_round, np.zeros_like)
