"""What Python itself offers: its generator, raw memory, contexts, iterators and files."""

from __future__ import annotations

import array
import gc
import io
import operator
import os
import random
import sys
import threading
import warnings
from collections.abc import Collection, Iterator
from contextvars import ContextVar
from functools import partial
from types import GeneratorType
from typing import Any

from parity.keeping.leaf import CannotPutBack, Flag, Leaf, Put, StateRules, kept, kept_flags

_OF_ITERATORS = {"builtins", "itertools", "_collections", "_csv"}
_UNSET = object()


def settings() -> list[Put]:
    return [partial(random.setstate, random.getstate()), kept_flags(_FLAGS)]


def _set_environment(before: dict[str, str]) -> None:
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


_FLAGS: tuple[Flag, ...] = ((lambda: dict(os.environ), _set_environment),)


def leaf(thing: Any) -> Leaf | None:
    if isinstance(thing, random.Random) and not isinstance(thing, random.SystemRandom):
        return Leaf(lambda: partial(thing.setstate, thing.getstate()), move=thing.seed)
    if isinstance(thing, (bytearray, array.array)):
        return Leaf(partial(_sequence, thing))
    if isinstance(thing, memoryview) and thing.contiguous and not thing.readonly:
        return Leaf(partial(_sequence, thing.cast("B")))
    if isinstance(thing, ContextVar):
        return _variable_of_a_context(thing)
    if isinstance(thing, threading.local):
        return _of_a_thread(thing)
    if isinstance(thing, io.IOBase) and _is_pythons(type(thing)):
        if thing in (sys.stdin, sys.stdout, sys.stderr):  # where whatever is printed goes
            return None
        in_memory = isinstance(thing, (io.StringIO, io.BytesIO))
        return Leaf(partial(_file_in_memory if in_memory else _file, thing))
    if isinstance(thing, GeneratorType):
        within = [("", item) for item in _gone_through(thing)]
        return Leaf(partial(_iterator, thing), (*_locals(thing).items(), *within))
    if _is_pythons_iterator(thing):
        # what it goes through it leaves as it is: only what goes on by itself is looked into
        held = gc.get_referents(thing)
        held += (one for item in held if isinstance(item, tuple) for one in item)
        inner = [("", item) for item in held if not isinstance(item, Collection)]
        return Leaf(partial(_iterator, thing), tuple(inner))
    return None


def _is_pythons(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names


def _is_pythons_iterator(thing: Any) -> bool:
    """Whether a thing is an iterator written in C, which holds no attributes."""
    return isinstance(thing, Iterator) and type(thing).__module__ in _OF_ITERATORS


def _variable_of_a_context(thing: ContextVar[Any]) -> Leaf:
    before = thing.get(_UNSET)

    def write(before: Any) -> None:
        if before is _UNSET:
            raise CannotPutBack
        thing.set(before)

    note = partial(kept, partial(thing.get, _UNSET), write, operator.is_)
    return Leaf(note, () if before is _UNSET else (("value", before),))


def _of_a_thread(thing: threading.local) -> Leaf:
    """What this thread holds there."""

    def write(before: dict[str, Any]) -> None:
        vars(thing).clear()
        vars(thing).update(before)

    def same(now: dict[str, Any], before: dict[str, Any]) -> bool:
        return now.keys() == before.keys() and all(now[name] is before[name] for name in now)

    return Leaf(partial(kept, lambda: dict(vars(thing)), write, same), (*vars(thing).items(),))


def _sequence(thing: Any) -> Put:
    every = slice(None)
    read: Any = bytes if isinstance(thing, memoryview) else operator.itemgetter(every)
    return kept(partial(read, thing), partial(operator.setitem, thing, every))


def _file_in_memory(thing: Any) -> Put:
    def write(before: tuple[Any, int]) -> None:
        contents, place = before
        thing.seek(0)
        thing.truncate()
        thing.write(contents)
        thing.seek(place)

    return kept(lambda: (thing.getvalue(), thing.tell()), write)


def _file(thing: Any) -> Put:
    """A file that is read is read again; what was written into one stays there."""

    def write(before: Any) -> None:
        if thing.closed or before is None:
            return
        if before is _UNSET or thing.writable():
            raise CannotPutBack
        thing.seek(before)

    return kept(partial(_tell, thing), write, lambda now, old: old is not _UNSET and now == old)


def _tell(thing: Any) -> Any:
    """Where a file stands; None where it has no places, as a terminal."""
    if thing.closed or not thing.seekable():
        return None
    try:
        return thing.tell()
    except OSError:  # text that is gone through line by line has no place
        return _UNSET


# --- iterators -----------------------------------------------------------------------------------


def _iterator(thing: Any) -> Put:
    """An iterator goes on and seldom back: it is seen where it stands."""
    index = _index(thing)

    def write(before: object) -> None:
        if index is not None:
            thing.__setstate__(index)
        if _place(thing) != before:
            raise CannotPutBack

    return kept(partial(_place, thing), write)


def _place(thing: Any) -> object:
    """Where an iterator stands: numbers by value, and what it holds by identity."""
    if isinstance(thing, GeneratorType):
        frame, held = thing.gi_frame, (*_locals(thing).items(), *_gone_through(thing))
        return frame and (frame.f_lasti, _known(held))
    left = operator.length_hint(thing, -1)
    return left if left >= 0 else _known(_reduced(thing))


def _locals(thing: GeneratorType[Any, Any, Any]) -> dict[str, Any]:
    return dict(thing.gi_frame.f_locals) if thing.gi_frame else {}


def _gone_through(thing: GeneratorType[Any, Any, Any]) -> list[Any]:
    """The iterators of the loops in which a generator stands; no local variable holds them."""
    return [item for item in gc.get_referents(thing) if isinstance(item, Iterator)]


def _known(thing: Any) -> object:
    """A thing as it is known again, and what a tuple or an iterator holds."""
    if isinstance(thing, tuple):
        return tuple(map(_known, thing))
    if isinstance(thing, (int, float, str, bytes)):
        return repr(thing)
    if _is_pythons_iterator(thing):
        return type(thing), _place(thing)
    size = len(thing) if isinstance(thing, list) else None  # which a cycle fills at first
    return id(thing), size


def _reduced(thing: Any) -> Any:
    """How Python would copy an iterator; None where it would not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of itertools it will not, some day
        try:
            return thing.__reduce__()
        except TypeError:
            return None


def _index(thing: Any) -> Any:
    """By which an iterator through a sequence goes back to where it stands."""
    if isinstance(thing, GeneratorType) or not hasattr(thing, "__setstate__"):
        return None
    made, *state = _reduced(thing) or (None,)
    return state[1] if made in (iter, reversed) and len(state) == 2 else None


STATE = StateRules(leaf=leaf, settings=settings)
