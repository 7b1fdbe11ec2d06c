"""NumPy arrays whose use is recorded: what a model's own NumPy code makes of them is on the tape.

A `Followed` array is one that knows its value on a tape. NumPy hands its functions over to it, and
each is an operation, with the line that called it. What leaves NumPy, as a condition in Python or a
list, is a read by the host, as of any framework's tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.draws.draw import Transform
from parity.recorder import Recorder
from parity.tape import Array, Role

# NumPy's functions and methods, by their names, that put the same values elsewhere.
MOVES = frozenset(
    "reshape ravel flatten transpose swapaxes moveaxis rollaxis expand_dims squeeze getitem take "
    "concatenate stack hstack vstack dstack column_stack split array_split broadcast_to repeat "
    "tile flip fliplr flipud roll pad astype copy atleast_1d atleast_2d atleast_3d".split()
)
_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
_REVERSED = {"subtract": "subtract_from", "divide": "divide_from", "power": "power_from"}
_ON_FLAGS = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "invert": "logical_not"}
# Of what these say only shapes and dtypes count.
_OF_SHAPES = frozenset(
    "shape ndim size result_type can_cast iscomplexobj isrealobj shares_memory "
    "may_share_memory".split()
)
_METHODS = (
    "all any argmax argmin argsort astype clip copy cumprod cumsum diagonal dot flatten max mean "
    "min nonzero prod ravel repeat reshape round squeeze std sum swapaxes take trace transpose var"
).split()


@dataclass(frozen=True)
class _Slot:
    """The place of an array among the arguments of a function."""

    at: int


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

    def array(self, array: Array, value: int) -> Followed:
        """An array in the place of one that has a value, to be followed."""
        found = array.view(Followed)
        found._following, found._own = self, array
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
        template = _emptied((tuple(args), dict(kwargs)), arrays)
        given, named = _filled(template, [plain(one) for one in arrays])
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
            call=Transform(_Again(function, template)),
        )
        followed = [self.array(one, value) for one, value in zip(made, op.outputs, strict=True)]
        if isinstance(result, (tuple, list)):
            return type(result)(followed) if type(result) in (tuple, list) else tuple(followed)
        return followed[0]

    def value(self, array: Array) -> int:
        known = self.recorder.find(array)
        return self._value_of(plain(array)) if known is None else known

    def written(self, target: Followed, found: Any) -> None:
        """An array is changed in place: to what something gave.

        What was read of it so far is what it held.
        """
        before = plain(target).copy()
        plain(target)[...] = plain(found)
        value = self.recorder.find(found)
        if value is None:
            return
        for one in filter(lambda one: one is not None, (target, target._own)):
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
        kind = _kind_of(ufunc, method, inputs)
        attributes = _attributes(kind, inputs, kwargs)
        if own is None or kind is None or targets is not None and len(targets) > 1:
            return function(*_plain(inputs), **_plain(kwargs), **_out(targets))
        if targets is None:
            return own.call(kind, function, inputs, kwargs, attributes)
        found = own.call(kind, function, inputs, kwargs, attributes)
        own.written(targets[0], found)
        return targets[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        own = _following_of((args, kwargs))
        if own is None or "out" in kwargs or func.__name__ in _OF_SHAPES:
            return func(*_plain(args), **_plain(kwargs))
        name = func.__name__
        kind = {"amax": "max", "amin": "min"}.get(name, name)
        return own.call(kind, func, args, kwargs, _attributes(kind, args, kwargs))

    def __getitem__(self, index: Any) -> Any:
        own = _following_of((self,))
        if own is None:
            return plain(self)[_plain(index)]
        simple = not any(isinstance(one, (np.ndarray, list)) for one in _parts(index))
        kind, attributes = ("getitem", {"slices": index}) if simple else ("take", {})
        return own.call(kind, _item, (self, index), {}, attributes)

    def __setitem__(self, index: Any, value: Any) -> None:
        own = _following_of((self, index, value))
        if own is None or not own._active:
            plain(self)[_plain(index)] = _plain(value)
        else:
            own.written(self, own.call("setitem", _with_item, (self, index, value), {}))

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
        function = _astype if name == "astype" else own
        return following.call(
            name, function, (self, *args), kwargs, _attributes(name, (self, *args), kwargs)
        )

    call.__name__ = name
    return call


for _name in _METHODS:
    setattr(Followed, _name, _with_method(_name))


def plain(array: Any) -> Any:
    """The same array, not followed."""
    return array.view(np.ndarray) if isinstance(array, Followed) else array


def _plain(things: Any) -> Any:
    arrays: list[Array] = []
    return _filled(_emptied(things, arrays), [plain(one) for one in arrays])


def _following_of(things: Any) -> Following | None:
    """What follows the arrays among some arguments, if it is on."""
    arrays: list[Array] = []
    _emptied(things, arrays)
    found = (one._following for one in arrays if isinstance(one, Followed))
    return next((one for one in found if one is not None and one._active), None)


def _parts(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _place(array: Array) -> tuple[Any, ...]:
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


# --- what runs again ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Again:
    """A function with its arguments, but for the arrays."""

    function: Callable[..., Any]
    template: Any

    def __call__(self, *arrays: Array) -> Sequence[Array]:
        args, kwargs = _filled(self.template, arrays)
        dtype = kwargs.get("dtype")
        if dtype is not None and np.dtype(dtype).kind == "f":
            if any(one.dtype == np.float64 for one in arrays):
                kwargs["dtype"] = np.float64  # a replay in float64 rounds nothing
        result = self.function(*args, **kwargs)
        return list(result) if isinstance(result, (tuple, list)) else [result]


def _emptied(things: Any, arrays: list[Array]) -> Any:
    """Arguments with a slot for each array, which goes onto the list."""
    if isinstance(things, np.ndarray):
        arrays.append(things)
        return _Slot(len(arrays) - 1)
    if type(things) in (tuple, list):
        return type(things)(_emptied(one, arrays) for one in things)
    if type(things) is dict:
        return {key: _emptied(one, arrays) for key, one in things.items()}
    return things


def _filled(template: Any, arrays: Sequence[Array]) -> Any:
    if isinstance(template, _Slot):
        return arrays[template.at]
    if type(template) in (tuple, list):
        return type(template)(_filled(one, arrays) for one in template)
    if type(template) is dict:
        return {key: _filled(one, arrays) for key, one in template.items()}
    return template


def _item(array: Array, index: Any) -> Any:
    return array[index]


def _with_item(array: Array, index: Any, value: Any) -> Array:
    changed: Array = array.copy()
    changed[index] = value
    return changed


def _astype(array: Array, dtype: Any, *args: Any, **kwargs: Any) -> Array:
    if array.dtype == np.float64 and np.dtype(dtype).kind == "f":
        return array  # what is given is cast to what was recorded, except in float64
    found: Array = array.astype(dtype, *args, **kwargs)
    return found


def _out(targets: Any) -> dict[str, Any]:
    return {} if targets is None else {"out": _plain(targets)}


# --- how it is called -----------------------------------------------------------------------------


def _kind_of(ufunc: Any, method: str, inputs: Sequence[Any]) -> str | None:
    """The name of what a ufunc computes; None where that has none."""
    name = str(ufunc.__name__)
    if method == "__call__":
        flags = all(one.dtype == bool for one in inputs if isinstance(one, np.ndarray))
        name = _ON_FLAGS.get(name, name) if flags else name
        if len(inputs) == 2 and not isinstance(inputs[0], np.ndarray):
            return _REVERSED.get(name, name)
        if len(inputs) == 2 and not isinstance(inputs[1], np.ndarray):
            return {"maximum": "clip_min", "minimum": "clip_max"}.get(name, name)
        return name
    if method == "reduce":
        return _REDUCTIONS.get(name)
    return {"add": "cumsum", "multiply": "cumprod"}.get(name) if method == "accumulate" else None


def _attributes(kind: str | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a call, by the names that Chainer's functions have for them."""
    found = {key: one for key, one in kwargs.items() if not isinstance(one, np.ndarray)}
    numbers = [one for one in args if isinstance(one, (int, float, np.generic))]
    if kind == "einsum" and args and isinstance(args[0], str) and "->" in args[0]:
        read, made = args[0].replace(" ", "").split("->")
        return {"in_subs": read, "out_sub": made}
    if kind in ("clip_min", "clip_max", "clip"):
        names = {"clip_min": ["x_min"], "clip_max": ["x_max"]}.get(kind, ["x_min", "x_max"])
        return found | dict(zip(names, numbers, strict=False))
    if kind in _AXES and len(args) > 1 and isinstance(args[1], (int, tuple)):
        found["axis"] = args[1]
    elif kind not in _AXES and len(args) == 2 and len(numbers) == 1:
        found["value"] = numbers[0]
    return found


_AXES = frozenset(
    "sum prod max min all any mean var std argmax argmin argsort sort cumsum cumprod concatenate "
    "stack expand_dims squeeze flip take repeat softmax".split()
)
