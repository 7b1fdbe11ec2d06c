"""Arrays, and the random generators of NumPy and Python."""

from __future__ import annotations

import array
import itertools
import operator
import os
import random
import threading
import types
import zlib
from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from parity.keeping.leaf import CannotPutBack, Flag, Leaf, Put, kept_flags

packages = ("numpy",)
# Larger arrays are not copied: a checksum tells whether they have changed.
_LARGEST = 2**30
_UNSET = object()


def holders() -> tuple[type, ...]:
    return ()


def makes(owner: Any, name: Any, before: Any, now: Any) -> bool:
    return False  # an array may be anything: it is put back


def fills(owner: Any) -> bool:
    return False


def settings() -> list[Put]:
    python, numpy = random.getstate(), np.random.get_state()

    def put_back() -> None:
        random.setstate(python)
        np.random.set_state(numpy)

    return [put_back, kept_flags(_FLAGS)]


def _set_environment(before: dict[str, str]) -> None:
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


_FLAGS: tuple[Flag, ...] = (
    (np.geterr, lambda found: np.seterr(**found)),
    (np.get_printoptions, lambda found: np.set_printoptions(**found)),
    (lambda: dict(os.environ), _set_environment),
)


def streams() -> dict[str, Any]:
    return {}  # these are watched: parity/draws/host.py


def leaf(thing: Any) -> Leaf | None:
    if isinstance(thing, np.ndarray):
        masks = np.ma.getmask(thing)
        inside = (("mask", masks),) if masks is not np.ma.nomask else ()
        return Leaf(partial(_array, thing), inside) if not thing.dtype.hasobject else None
    if isinstance(thing, np.random.Generator):
        return leaf(thing.bit_generator)
    if isinstance(thing, np.random.BitGenerator):
        move = lambda seed: setattr(thing, "state", type(thing)(seed).state)  # noqa: E731
        return Leaf(partial(_bit_generator, thing), move=move)
    if isinstance(thing, np.random.RandomState):
        move = lambda seed: thing.set_state(np.random.RandomState(seed).get_state())  # noqa: E731
        return Leaf(lambda: partial(thing.set_state, thing.get_state()), move=move)
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
    if isinstance(thing, Iterator) and type(thing).__module__ in ("builtins", "itertools"):
        return Leaf(partial(_iterator, thing))
    return None


def same_bytes(a: Any, b: Any) -> bool:
    """Whether two arrays hold the same bits: -0.0 is not 0.0, and NaN is itself."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    ours, theirs = (np.ascontiguousarray(one).reshape(-1).view(np.uint8) for one in (a, b))
    return bool(np.array_equal(ours, theirs))


def _array(thing: Any) -> Put:
    if thing.nbytes > _LARGEST:
        before = _checksum(thing)

        def unchanged() -> None:
            if _checksum(thing) != before:
                raise CannotPutBack

        return unchanged
    contents, shape = np.array(thing, copy=True, subok=False), thing.shape

    def put_back() -> None:
        if same_bytes(np.asarray(thing), contents):
            return
        if thing.shape != shape or not thing.flags.writeable:
            raise CannotPutBack
        np.asarray(thing)[...] = contents

    return put_back


def _checksum(thing: Any) -> int:
    return zlib.crc32(np.ascontiguousarray(thing).reshape(-1).view(np.uint8).data)


def _bit_generator(thing: Any) -> Put:
    state, seeds = thing.state, thing.seed_seq
    spawned = getattr(seeds, "n_children_spawned", 0)

    def put_back() -> None:
        thing.state = state
        if getattr(seeds, "n_children_spawned", 0) != spawned:
            raise CannotPutBack

    return put_back


def _variable_of_a_context(thing: ContextVar[Any]) -> Leaf:
    before = thing.get(_UNSET)

    def put_back() -> None:
        if thing.get(_UNSET) is before:
            return
        if before is _UNSET:
            raise CannotPutBack
        thing.set(before)

    return Leaf(lambda: put_back, () if before is _UNSET else (("value", before),))


def _of_a_thread(thing: threading.local) -> Leaf:
    """What this thread holds there."""
    before = dict(vars(thing))

    def put_back() -> None:
        now = vars(thing)
        if now.keys() != before.keys() or any(now[name] is not before[name] for name in now):
            now.clear()
            now.update(before)

    return Leaf(lambda: put_back, tuple(before.items()))


def _sequence(thing: Any) -> Put:
    contents = bytes(thing) if isinstance(thing, memoryview) else thing[:]

    def put_back() -> None:
        if thing != contents:
            thing[:] = contents

    return put_back


def _iterator(thing: Any) -> Put:
    """An iterator goes on and never back: it is seen where it stands."""
    before = _place(thing)

    def unchanged() -> None:
        if _place(thing) != before:
            raise CannotPutBack

    return unchanged


def _place(thing: Any) -> object:
    if isinstance(thing, types.GeneratorType):
        frame = thing.gi_frame
        held = frame.f_locals if frame else {}
        numbers = {key: item for key, item in held.items() if isinstance(item, (int, float))}
        return frame and frame.f_lasti, repr(numbers)
    return repr(thing) if isinstance(thing, itertools.count) else operator.length_hint(thing, -1)
