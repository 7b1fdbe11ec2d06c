"""NumPy arrays whose use is recorded: what a model's own NumPy code makes of them is on the tape.

A `Followed` array is one that knows its value on a tape. NumPy hands its functions over to it, and
each is an operation, with the line that called it. What leaves NumPy, as a condition in Python or a
list, is a read by the host, as of any framework's tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from parity.callstack import is_users
from parity.draws.draw import Transform
from parity.frameworks.numpy_calls import (
    MOVES,
    Again,
    as_dtype,
    attributes_of,
    emptied,
    filled,
    into_copy,
    item_of,
    kind_of,
    with_item,
)
from parity.patching import patched
from parity.recorder import Recorder
from parity.tape import Array, Role

# Of what these say only shapes and dtypes count.
_OF_SHAPES = frozenset(
    "shape ndim size result_type can_cast iscomplexobj isrealobj shares_memory "
    "may_share_memory".split()
)
_METHODS = (
    "all any argmax argmin argsort astype clip copy cumprod cumsum diagonal dot flatten max mean "
    "min nonzero prod ravel repeat reshape round squeeze std sum swapaxes take trace transpose var"
).split()


class Following:
    """Records what is done with the arrays of one run.

    Args:
        value_of: the id of an array's value; one that was not seen before becomes a leaf.
    """

    def __init__(self, recorder: Recorder, value_of: Callable[[Array], int]) -> None:
        self.recorder, self._value_of = recorder, value_of
        self._active = False
        self._handed: list[tuple[int, Array]] = []
        self._at: dict[tuple[Any, ...], int] = {}  # values by where they lie in memory

    @contextmanager
    def on(self, active: bool = True) -> Iterator[None]:
        """Whether what runs within is the model's own code, and not a framework's kernel."""
        before, self._active = self._active, active
        try:
            yield
        finally:
            self._active = before

    @contextmanager
    def making(self) -> Iterator[None]:
        """Follows what the model's own lines make of nothing, or convert, by functions of NumPy."""
        made = {name: _making(self, getattr(np, name)) for name in _CREATIONS}
        converted = {name: _converting(getattr(np, name)) for name in _CONVERSIONS}
        with patched(np, **made, **converted):
            yield

    def _seen(self, array: Array) -> Followed:
        found = array.view(Followed)
        found._following, found._own = self, array
        return found

    def array(self, array: Array, value: int) -> Followed:
        """An array in the place of one that has a value, to be followed."""
        found = self._seen(array)
        self.recorder.alias(found, value)
        self._at[_place(array)] = value
        self._handed.append((value, array))
        return found

    def find(self, array: Array) -> int | None:
        """The value of an array that lies where one does that was followed, as of `np.asarray`."""
        return self._at.get(_place(array))

    def lost(self) -> None:
        """An array is used that may have been made of those that were followed, but unseen."""
        for value, array in self._handed:
            self.recorder.host_read(value, array.copy())
        self._handed.clear()

    def read(self, array: Followed) -> None:
        """Python reads what an array holds."""
        value = self.recorder.find(array)
        if value is not None and self._active:
            self.recorder.host_read(value, plain(array).copy())

    def call(
        self,
        kind: str,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        attributes: Mapping[str, Any] | None = None,
    ) -> Any:
        """What a function of NumPy gives, followed where it is arrays."""
        arrays: list[Array] = []
        template = emptied((tuple(args), dict(kwargs)), arrays)
        given, named = filled(template, [plain(one) for one in arrays])
        result = function(*given, **named)
        if not self._active:
            return result
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        if not results or not all(isinstance(one, (np.ndarray, np.generic)) for one in results):
            for one in arrays:
                if isinstance(one, Followed):
                    self.read(one)
            return result
        made = [np.asarray(one) for one in results]
        role: Role = "move" if kind in MOVES else "compute"
        op = self.recorder.op(
            f"numpy.{kind}",
            [self.value(one) for one in arrays],
            [(one, one.shape, one.dtype.name) for one in made],
            role=role,
            attributes=attributes or {},
            call=Transform(Again(as_dtype if kind == "astype" else function, template)),
        )
        followed = [self.array(one, value) for one, value in zip(made, op.outputs, strict=True)]
        if isinstance(result, (tuple, list)):
            return type(result)(followed) if type(result) in (tuple, list) else tuple(followed)
        return followed[0]

    def value(self, array: Array) -> int:
        """The id of an array's value: of one that is not followed as it is now."""
        known = self.recorder.find(array)
        if known is not None and (isinstance(array, Followed) or self._unchanged(known, array)):
            return known
        if known is not None:
            self.recorder.changes(array, self.recorder.recorded[known])
        if isinstance(array, Followed) and array._own is not None:  # made of nothing
            held = plain(array).copy()
            value = self.recorder.leaf(held, "constant", "", held.shape, held.dtype.name)
            self.recorder.alias(array, value)
            self._at[_place(plain(array))] = value
            return value
        value = self._value_of(plain(array))
        if self.recorder.recorded[value] is array:  # the model may write to it later on
            self.recorder.recorded[value] = array.copy()
        return value

    def _unchanged(self, value: int, array: Array) -> bool:
        held = self.recorder.recorded[value]
        return held is array or np.array_equal(
            plain(held), array, equal_nan=array.dtype.kind == "f"
        )

    def written(self, target: Array, found: Any) -> None:
        """An array is changed in place: to what something gave.

        What was read of it so far is what it held.
        """
        before = plain(target).copy()
        plain(target)[...] = plain(found)
        value = self.recorder.find(found)
        if value is None:
            return
        for one in (target, getattr(target, "_own", None)):
            if one is not None:
                self.recorder.changes(one, before)
                self.recorder.alias(one, value)
        self._at[_place(plain(target))] = value


class Followed(np.ndarray):
    """An array that reports what is done with it; see `Following`."""

    _following: Following | None = None
    _own: Array | None = None  # the array in whose place it is

    def __array_finalize__(self, source: Any) -> None:
        self._following = getattr(source, "_following", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        own = _following_of((inputs, kwargs))
        targets = kwargs.pop("out", None)
        function = getattr(ufunc, method)
        kind = kind_of(ufunc, method, inputs)
        attributes = attributes_of(kind, inputs, kwargs)
        if own is None or kind is None or targets is not None and len(targets) > 1:
            return function(*_plain(inputs), **_plain(kwargs), **_out(targets))
        if targets is None:
            return own.call(kind, function, inputs, kwargs, attributes)
        if "where" in kwargs:  # what it leaves out stays what the target holds
            function, inputs = partial(into_copy, function), (targets[0], *inputs)
        own.written(targets[0], own.call(kind, function, inputs, kwargs, attributes))
        return targets[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        own = _following_of((args, kwargs))
        if own is None or "out" in kwargs or func.__name__ in _OF_SHAPES:
            return func(*_plain(args), **_plain(kwargs))
        name = func.__name__
        kind = {"amax": "max", "amin": "min"}.get(name, name)
        return own.call(kind, func, args, kwargs, attributes_of(kind, args, kwargs))

    def __getitem__(self, index: Any) -> Any:
        own = _following_of((self,))
        if own is None:
            return plain(self)[_plain(index)]
        simple = not any(isinstance(one, (np.ndarray, list)) for one in _parts(index))
        kind, attributes = ("getitem", {"slices": index}) if simple else ("take", {})
        return own.call(kind, item_of, (self, index), {}, attributes)

    def __setitem__(self, index: Any, value: Any) -> None:
        own = _following_of((self, index, value))
        if own is None or not own._active:
            plain(self)[_plain(index)] = _plain(value)
        else:
            own.written(self, own.call("setitem", with_item, (self, index, value), {}))

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(len(self)))

    @property
    def T(self) -> Any:  # noqa: N802
        return self.transpose()

    def _read(self) -> Array:
        own = _following_of((self,))
        if own is not None:
            own.read(self)
        array: Array = plain(self)
        return array

    def __bool__(self) -> bool:
        return bool(self._read())

    def __int__(self) -> int:
        return int(self._read())

    def __float__(self) -> float:
        return float(self._read())

    def __index__(self) -> int:
        return self._read().__index__()

    def __complex__(self) -> complex:
        return complex(self._read())

    def __contains__(self, item: Any) -> bool:
        return item in self._read()

    def item(self, *args: Any) -> Any:
        return self._read().item(*args)

    def tolist(self) -> Any:
        return self._read().tolist()


def _with_method(name: str) -> Callable[..., Any]:
    own = getattr(np.ndarray, name)

    def call(self: Followed, *args: Any, **kwargs: Any) -> Any:
        following = _following_of((self,))
        targets = kwargs.get("out")
        if following is None or targets is not None:
            return own(plain(self), *_plain(args), **_plain(kwargs))
        attributes = attributes_of(name, (self, *args), kwargs)
        return following.call(name, own, (self, *args), kwargs, attributes)

    call.__name__ = name
    return call


for _name in _METHODS:
    setattr(Followed, _name, _with_method(_name))


def _making(following: Following, own: Callable[..., Array]) -> Callable[..., Array]:
    """A function that makes an array of nothing, which is followed if a line of the model asks."""

    def make(*args: Any, **kwargs: Any) -> Array:
        if not following._active or not is_users(sys._getframe(1).f_code):
            return own(*_plain(args), **_plain(kwargs))
        read = (one for one in (*args, *kwargs.values()) if isinstance(one, Followed))
        for one in read:
            following.read(one)
        return following._seen(own(*_plain(args), **_plain(kwargs)))

    return make


def _converting(own: Callable[..., Array]) -> Callable[..., Array]:
    """A function that gives an array of NumPy's own class, and is not handed over."""

    def convert(thing: Any, *args: Any, **kwargs: Any) -> Any:
        following = _following_of((thing,))
        if following is None:
            return own(thing, *args, **kwargs)
        named = dict(zip(("dtype",), args, strict=False)) | kwargs
        if isinstance(thing, Followed) and named.get("dtype") not in (None, thing.dtype):
            return following.call("astype", np.ndarray.astype, (thing, named["dtype"]), {})
        kind = "copy" if isinstance(thing, Followed) else "stack"
        return following.call(kind, own, (thing,), named)

    return convert


_CREATIONS = ("zeros", "ones", "empty", "full", "arange", "eye", "identity", "linspace", "tri")
_CONVERSIONS = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")


def plain(array: Any) -> Any:
    """The same array, not followed."""
    return array.view(np.ndarray) if isinstance(array, Followed) else array


def _plain(things: Any) -> Any:
    arrays: list[Array] = []
    return filled(emptied(things, arrays), [plain(one) for one in arrays])


def _following_of(things: Any) -> Following | None:
    """What follows the arrays among some arguments, if it is on."""
    arrays: list[Array] = []
    emptied(things, arrays)
    found = (one._following for one in arrays if isinstance(one, Followed))
    return next((one for one in found if one is not None and one._active), None)


def _parts(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _place(array: Array) -> tuple[Any, ...]:
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def _out(targets: Any) -> dict[str, Any]:
    return {} if targets is None else {"out": _plain(targets)}
