"""Inputs that one model alone reads: with other values there the models differ."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.replay_check import PlainRun
from parity.errors import ParityError
from parity.inputs.binding import FLAG
from parity.model import Inputs, as_it_is, flatten_given, map_given
from parity.numerics.difference import residual
from parity.tape import Array, Tape


def read_by_one(plain: tuple[PlainRun, PlainRun]) -> list[str]:
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
    """Whether another input that a model reads may say what this one does, in whole numbers.

    As a mask says lengths.
    """
    for other, value in tape.inputs.items():
        array = tape.recorded_array(value)
        whole = array.dtype.kind in "biu" or bool((array == np.round(array)).all() and array.any())
        if other != name and whole and tape.graph.is_used(value):
            return True
    return False


def _may_be_unread(plain: tuple[PlainRun, PlainRun]) -> Iterator[str]:
    """The inputs that operations of one model alone read on the way to an output.

    Of a NumPy function nothing is known, nor who reads a number of Python's.
    """
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
    """Whether other values of an input change an output; the host may read what no operation does.

    A model that does not take them reads them.
    """
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
