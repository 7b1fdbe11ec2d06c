"""Draws by NumPy while a model runs: seen, and given again in a replay.

NumPy's functions are replaced while a model is recorded: each gives what it would give, and what it
drew is kept. In a replay they give the samples that they are handed, transformed as their arguments
say, so that the arguments are computed and compared like other values.
"""

from __future__ import annotations

import contextlib
import functools
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from types import BuiltinMethodType, CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from parity.callstack import is_users
from parity.draws.draw import Array, Draw, generator
from parity.draws.numpy_kernels import LEGACY, MODERN, OTHERS, Given, Kernel
from parity.host_reads import is_written
from parity.keeping import streams

_FIT = 1e-6  # of the largest, that a multiple of a draw may be off, in float32
_FEW = 4  # numbers through which some line always goes
_Swap = tuple[Callable[[Any], object], Any]  # sets a name, and what it was


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
    """

    name: str
    result: Array
    draw: Draw | None
    noise: Array
    make: Callable[[Array], Any] = field(default=lambda noise: noise)
    state: bytes = b""
    found: bool = False
    value: int | None = None


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
        self._framework = framework
        self._asked = False
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
            if name == "shuffle":  # in place
                drawn = HostDraw(name, np.array(args[0]), None, np.array(args[0]))
            else:
                drawn = self._drawn(name, kernel, np.array(result), given)
            drawn.state = state
            self.draws.append(drawn)
        finally:
            self._busy = False
        return result

    def _drawn(self, name: str, kernel: Kernel | None, result: Array, given: Given) -> HostDraw:
        draw = None if kernel is None else kernel.draw(given)
        if kernel is None or draw is None:
            return HostDraw(name, result, None, result)
        noise = kernel.noise(result, given, generator(len(self.draws)))
        return HostDraw(name, result, draw, noise, lambda noise: kernel.make(noise, given))

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
        names = [name for name in (*LEGACY, *OTHERS) if hasattr(np.random, name)]
        before = {name: getattr(np.random, name) for name in names}
        python = {name: one for name, one in vars(random).items() if _is_pythons(one)}
        make = np.random.default_rng
        swaps = [swap for thing in things for swap in _swapped(thing, self)]
        stood = self._streams()
        try:
            for name in names:
                setattr(np.random, name, self._wrapped(name, before[name]))
            for name, function in python.items():
                setattr(random, name, self.python(function))
            np.random.default_rng = lambda seed=None: (
                # with a seed of its own it gives the same whenever the model runs: no draw
                _watched(make(seed), self) if seed is None else make(seed)
            )
            yield self
        finally:
            moved = [one for one, now in self._streams().items() if stood.get(one) != now]
            self.unseen = ["random"] * self._asked + moved
            np.random.default_rng = make
            for module, functions in ((np.random, before), (random, python)):
                for name, function in functions.items():
                    setattr(module, name, function)
            for put_back, thing in swaps:
                put_back(thing)

    def _streams(self) -> dict[str, Any]:
        """Where the streams of random numbers stand whose draws are not seen; none in a replay."""
        if self._given is not None:
            return {}
        held = {"random.Random": [one.getstate() for one in self.held]}
        return held | {name: now for name, now in streams().items() if name != self._framework}

    def python(self, function: Any) -> Callable[..., Any]:
        """One of the functions of Python's `random`, which notes that the user's code draws."""

        @functools.wraps(function)
        def drawing(*args: Any, **kwargs: Any) -> Any:
            ours = threading.get_ident() == self._thread and self._given is None
            if ours and is_users(sys._getframe(1).f_code):  # libraries draw seeds and names
                self._asked = True
            return function(*args, **kwargs)

        return drawing

    def _wrapped(self, name: str, function: Any) -> Callable[..., Any]:
        def drawing(*args: Any, **kwargs: Any) -> Any:
            return self.call(LEGACY, name, function, args, kwargs)

        return drawing


_MODULE: Any = random.random.__self__  # type: ignore[attr-defined]
_PYTHONS = (MethodType, BuiltinMethodType)
_NO_DRAWS = ("seed", "getstate", "setstate")


def _is_pythons(thing: object) -> bool:
    """Whether it is a function of `random` that draws: a method of the generator behind it."""
    methods = isinstance(thing, _PYTHONS) and thing.__self__ is _MODULE
    return methods and thing.__name__ not in _NO_DRAWS  # type: ignore[attr-defined]


def _is_numpys(thing: object) -> bool:
    """Whether it is a function of `numpy.random` that draws."""
    name = getattr(thing, "__name__", "") if isinstance(thing, _PYTHONS) else ""
    return name in (*LEGACY, *OTHERS) and getattr(np.random, name, None) is thing


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


# --- generators ----------------------------------------------------------------------------------


def _watched(generator: Any, host: Host) -> Any:
    """A generator on the same stream of bits that tells a host what it draws."""
    modern = isinstance(generator, np.random.Generator)
    kernels, base = (MODERN, np.random.Generator) if modern else (LEGACY, np.random.RandomState)

    def method(name: str) -> Callable[..., Any]:
        def drawing(self: Any, *args: Any, **kwargs: Any) -> Any:
            return host.call(kernels, name, getattr(generator, name), args, kwargs)

        return drawing

    methods = {name: method(name) for name in (*kernels, *OTHERS) if hasattr(generator, name)}
    made = type(base.__name__, (base,), methods)
    if modern:
        return made(generator.bit_generator)
    return made()  # draws through the other, and keeps nothing of its own


def _swapped(thing: object, host: Host) -> list[_Swap]:
    """Puts watched generators in the place of those that an object or a function holds."""
    found: list[_Swap] = []
    kinds = (np.random.Generator, np.random.RandomState)
    seen: set[int] = set()

    def visit(item: object, depth: int) -> None:
        if id(item) in seen or depth > 3:
            return
        seen.add(id(item))
        if isinstance(item, BuiltinMethodType):
            item = item.__self__
        if isinstance(item, random.Random) and not isinstance(item, random.SystemRandom):
            host.held.append(item)
        if isinstance(item, MethodType):
            visit(item.__self__, depth)
            item = item.__func__
        if isinstance(item, FunctionType):
            for cell in item.__closure__ or ():
                _visit_cell(cell, depth)
            if item.__defaults__ and any(isinstance(one, kinds) for one in item.__defaults__):
                found.append((functools.partial(setattr, item, "__defaults__"), item.__defaults__))
                item.__defaults__ = tuple(
                    _watched(one, host) if isinstance(one, kinds) else one
                    for one in item.__defaults__
                )
            for name in item.__code__.co_names:
                if name in item.__globals__:
                    _visit_entry(item.__globals__, name, depth, deep=False)
        elif isinstance(item, (list, tuple)):
            for one in item:
                visit(one, depth + 1)
        elif hasattr(item, "__dict__") and not isinstance(item, type):
            for name in list(vars(item)):
                _visit_entry(vars(item), name, depth, deep=True)
            for name in ("__call__", "forward", "call"):
                visit(getattr(type(item), name, None), depth + 1)

    def _visit_entry(names: dict[str, Any], name: str, depth: int, deep: bool) -> None:
        item = names[name]
        if isinstance(item, kinds):
            found.append((lambda old: names.__setitem__(name, old), item))
            names[name] = _watched(item, host)
        elif _is_pythons(item) or _is_numpys(item):  # by `from random import random`
            found.append((lambda old: names.__setitem__(name, old), item))
            wrapped = host.python(item) if _is_pythons(item) else host._wrapped(item.__name__, item)
            names[name] = wrapped
        elif deep or isinstance(item, (FunctionType, random.Random)):
            visit(item, depth + 1)

    def _visit_cell(cell: CellType, depth: int) -> None:
        try:
            item = cell.cell_contents
        except ValueError:  # an empty cell
            return
        if isinstance(item, kinds):
            found.append((lambda old: setattr(cell, "cell_contents", old), item))
            cell.cell_contents = _watched(item, host)
        else:
            visit(item, depth + 1)

    visit(thing, 0)
    return found
