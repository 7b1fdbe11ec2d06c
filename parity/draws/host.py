"""Draws by NumPy while a model runs: seen, and given again in a replay.

NumPy's functions are replaced while a model is recorded: each gives what it would give, and what it
drew is kept. In a replay they give the samples that are substituted, transformed as their arguments
state, so that the arguments are computed and compared like other values.
"""

from __future__ import annotations

import contextlib
import functools
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from parity.callstack import is_users
from parity.draws.draw import Array, Draw, generator
from parity.draws.families import fresh, known
from parity.draws.numpy_kernels import LEGACY, OTHERS, Given, Kernel
from parity.draws.unread import is_unread, stand_in
from parity.draws.watched_generators import (
    KINDS,
    is_pythons,
    is_pythons_own,
    making,
    swapped,
    swapped_in_scipy,
    watched,
)
from parity.frameworks import traits
from parity.host_reads import is_written
from parity.keeping import looked_through, streams
from parity.patching import patched

_FIT = 1e-6  # of the largest, that a multiple of a draw may be off, in float32
_FEW = 4  # numbers through which some line always goes


@dataclass
class HostDraw:
    """One call of a function of NumPy that draws.

    Attributes:
        result: what it returned.
        noise: what it drew; see `Kernel`.
        make: the result of noise.
        state: a digest of the generator's, before it drew.
        found: whether the tape has it.
        value: of its noise on the tape.
        given: what the model got; see `stand_in`.
        traced: whether the body of a `tf.function` drew it, which draws when it is traced and then
            never again; while a model is recorded such bodies run like any other code.
    """

    name: str
    result: Array
    draw: Draw | None
    noise: Array
    make: Callable[[Array], Any] = field(default=lambda noise: noise)
    state: bytes = b""
    found: bool = False
    value: int | None = None
    given: Any = None
    traced: bool = False


# How many calls of a run give samples from the ends of their laws; None in runs as they are.
_far: ContextVar[int | None] = ContextVar("far", default=None)


@contextlib.contextmanager
def far_out(calls: int) -> Iterator[None]:
    """Within it the first calls of a run that is recorded give many samples that are far out."""
    token = _far.set(calls)
    try:
        yield
    finally:
        _far.reset(token)


class Host:
    """NumPy's generators, replaced.

    Args:
        given: the noise of a replay's calls; None while recording.
        framework: the one that is recorded, whose own draws are seen.

    Attributes:
        draws: of the run, in their order.
        unseen: who else drew: `random`, or another framework.
    """

    def __init__(self, given: Sequence[Array] | None = None, framework: str = "") -> None:
        self.draws: list[HostDraw] = []
        self.unseen: list[str] = []
        self.held: list[random.Random] = []
        self.made: dict[int, Any] = {}  # what stands for NumPy's makers of generators
        self._framework = framework
        self._asked = False
        self._stood: list[Any] = []  # for numbers of `random`
        self._given = None if given is None else iter(given)
        self._thread = threading.get_ident()
        self._busy = False

    def call(
        self, kernels: Mapping[str, Kernel], name: str, function: Any, args: Any, kwargs: Any
    ) -> Any:
        """Calls one of NumPy's functions, or gives what a replay has for it."""
        if self._busy or threading.get_ident() != self._thread:
            return function(*args, **kwargs)
        kernel = kernels.get(name)
        given = _arguments(kernel, args, kwargs)
        if self._given is not None:
            noise = next(self._given, None)
            if noise is None:
                raise ValueError(f"numpy.random.{name} was not called in the recorded run")
            known = kernel is not None and kernel.draw(given) is not None
            return _as_called(kernel.make(noise, given) if kernel and known else noise)
        self._busy = True
        state = _state(getattr(function, "__self__", None))
        try:
            result = function(*args, **kwargs)
            draw = kernel.draw(given) if kernel else None
            if kernel is None or draw is None:
                array = np.array(args[0] if name == "shuffle" else result)  # which it does in place
                drawn = HostDraw(name, array, None, array)
            else:
                result = self._far_out(kernel, draw, result, given)
                array = np.array(result)
                noise = kernel.noise(array, given, generator(len(self.draws)))
                drawn = HostDraw(name, array, draw, noise, lambda noise: kernel.make(noise, given))
            drawn.state = state
            drawn.traced = any(one.is_traced() for one in traits())
            self.draws.append(drawn)
        finally:
            self._busy = False
        drawn.given = stand_in(result)
        return drawn.given

    def _far_out(self, kernel: Kernel, draw: Draw, result: Any, given: Given) -> Any:
        """What a call gives: as it was drawn, or samples from the ends of its law."""
        asked = _far.get()
        if asked is None or not known(draw) or "out" in given:
            return result
        if len(self.draws) >= asked:  # a loop may draw until it has samples that are not so far out
            return result
        random = generator(len(self.draws), 23)
        drawn = np.asarray(result)
        shape = np.shape(kernel.noise(np.array(result), given, random))
        made = np.asarray(kernel.make(fresh(draw, shape, random, far=True), given))
        made = made.astype(drawn.dtype).reshape(drawn.shape)
        return made if isinstance(result, np.ndarray) else _as_called(made)

    def find(self, array: Array) -> tuple[HostDraw, Callable[[Array], Any]] | None:
        """The draw that an array is, as it was cast, shaped, stretched or moved, and how.

        Arrays are known by their contents: what is made of a draw outside the framework is an
        array of its own.
        """
        for one in sorted(self.draws, key=lambda one: one.found):  # one may be read several times
            if one.result.size != array.size or one.found and array.size < _FEW:
                continue
            if array.size < _FEW and is_written(array):
                continue  # a 6 may be any 6: a count, an axis
            cast = one.result.astype(array.dtype).reshape(array.shape)
            line = (1.0, 0.0)
            if not np.array_equal(cast, array):
                fitted = _line(one.result.reshape(array.shape), array)
                if fitted is None:
                    continue
                line = fitted
            one.found = True
            return one, functools.partial(_on_line, one.make, line, array.shape)
        return None

    @property
    def lost(self) -> list[HostDraw]:
        """Draws that are not on the tape."""
        return [one for one in self.draws if not one.found]

    @contextlib.contextmanager
    def watching(self, *things: object) -> Iterator[Host]:
        """Replaces the functions of `numpy.random`, and the generators that objects hold."""
        names = (name for name in (*LEGACY, *OTHERS) if hasattr(np.random, name))
        drawing = {name: self.wrapped(name, getattr(np.random, name)) for name in names}
        python = {name: self.python(one) for name, one in vars(random).items() if is_pythons(one)}
        makers = {one.__name__: one for one in (np.random.default_rng, *KINDS)}
        made = {name: self._maker(name, one) for name, one in makers.items()}
        self.made = {id(one): made[name] for name, one in makers.items()}
        shared = np.random.mtrand._rand
        kept = list(looked_through(things))
        swaps = [put for one in kept for held in one.structures for put in swapped(held, self)]
        known = (item for one in kept for item in one.known.values())
        self.held = [item for item in known if is_pythons_own(item)]
        stood = self._streams()
        asked_for = watched(shared, self)  # by libraries
        try:
            swaps += swapped_in_scipy(shared, asked_for)
            with patched(np.random, **drawing, **made), patched(random, **python):
                with patched(np.random.mtrand, _rand=asked_for):
                    yield self
        finally:
            moved = [one for one, now in self._streams().items() if stood.get(one) != now]
            self.unseen = ["random"] * (self._asked or not all(map(is_unread, self._stood))) + moved
            self.draws = [one for one in self.draws if not is_unread(one.given)]
            for put_back in reversed(swaps):
                put_back()

    def _streams(self) -> dict[str, Any]:
        """Where the streams of random numbers stand whose draws are not seen; none in a replay."""
        if self._given is not None:
            return {}
        held = {"random.Random": [one.getstate() for one in self.held]}
        return held | {name: now for name, now in streams().items() if name != self._framework}

    def python(self, function: Any) -> Callable[..., Any]:
        """One of the functions of Python's `random`, which notes that the user's code draws."""

        def drawing(*args: Any, **kwargs: Any) -> Any:
            own = threading.get_ident() == self._thread and self._given is None
            if own and is_users(sys._getframe(1).f_code):  # libraries draw seeds and names
                given = stand_in(function(*args, **kwargs))
                if is_unread(given):
                    self._stood.append(given)
                else:
                    self._asked = True
                return given
            return function(*args, **kwargs)

        return drawing

    def _maker(self, name: str, make: Any) -> Any:
        """What makes generators, so that they are watched."""
        if name != "default_rng":
            return making(make, self)
        return lambda seed=None: (
            # with a seed of its own it gives the same whenever the model runs: no draw
            watched(make(seed), self) if seed is None else make(seed)
        )

    def wrapped(self, name: str, function: Any) -> Callable[..., Any]:
        def drawing(*args: Any, **kwargs: Any) -> Any:
            return self.call(LEGACY, name, function, args, kwargs)

        return drawing


def _state(generator: Any) -> bytes:
    """A digest of a generator's state; empty where it has none that can be had."""
    if isinstance(generator, np.random.Generator):
        state = generator.bit_generator.state
    elif isinstance(generator, np.random.RandomState):
        state = generator.get_state(legacy=False)
    else:
        return b""
    return sha256(repr(_plain(state)).encode()).digest()


def _plain(state: Any) -> Any:
    """Arrays as lists, of which `repr` leaves nothing out."""
    if isinstance(state, dict):
        return {name: _plain(item) for name, item in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state


def _on_line(
    make: Callable[[Array], Any], line: tuple[float, float], shape: tuple[int, ...], noise: Array
) -> Array:
    made: Array = np.asarray(make(noise)).reshape(shape)
    return made if line == (1.0, 0.0) else line[0] * made + line[1]


def _line(drawn: Array, array: Array) -> tuple[float, float] | None:
    """Scale and shift with which an array is a multiple of a draw, to seven digits."""
    if array.dtype.kind != "f" or drawn.dtype.kind != "f" or array.size < _FEW:
        return None
    x, y = drawn.astype(np.float64), array.astype(np.float64)
    moved = x - x.mean()
    scale = float((moved * (y - y.mean())).sum() / ((moved * moved).sum() or 1.0))
    shift = float(y.mean() - scale * x.mean())
    scale, shift = float(f"{scale:.7g}"), float(f"{shift:.7g}")
    if abs(shift) < _FIT * abs(scale):
        shift = 0.0
    off = np.abs(scale * x + shift - y).max()
    return (scale, shift) if scale and off <= _FIT * np.abs(y).max() else None


def _arguments(kernel: Kernel | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Given:
    if kernel is None or not kernel.names:
        return {}
    return {**dict(zip(kernel.names, args, strict=False)), **kwargs}


def _as_called(result: Any) -> Any:
    return result[()] if isinstance(result, np.ndarray) and result.ndim == 0 else result
