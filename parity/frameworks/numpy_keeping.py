"""NumPy: arrays, and random generators."""

from __future__ import annotations

import zlib
from functools import partial
from typing import Any

import numpy as np

from parity.keeping.leaf import CannotPutBack, Flag, Leaf, Put, StateRules, kept_flags

# Larger arrays are not copied: a checksum tells whether they have changed.
_LARGEST = 2**30


def settings() -> list[Put]:
    return [partial(np.random.set_state, np.random.get_state()), kept_flags(_FLAGS)]


_FLAGS: tuple[Flag, ...] = (
    (np.geterr, lambda found: np.seterr(**found)),
    (np.get_printoptions, lambda found: np.set_printoptions(**found)),
)


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
    return None


def same_bytes(a: Any, b: Any) -> bool:
    """Whether two arrays hold the same bits: -0.0 is not 0.0, and NaN is itself."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    first, second = (np.ascontiguousarray(one).reshape(-1).view(np.uint8) for one in (a, b))
    return bool(np.array_equal(first, second))


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


STATE = StateRules(leaf=leaf, settings=settings)
