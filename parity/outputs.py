"""Outputs of any structure: every leaf is a tensor with a path, or is kept beside them by its path.

Nothing falls out: what is neither a container nor an array is a leaf of another kind, which a
comparison compares for equality or names as not compared.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set, Sized, ValuesView
from enum import Enum
from typing import Any

import numpy as np

from parity.objects import (
    Answer,
    Private,
    Setting,
    answers_from,
    hung_on,
    is_plain,
    is_users_class,
    methods_from,
    private,
    shown,
    shown_beside,
)

_NUMBERS = "biufc"  # NumPy's kinds of dtypes that hold numbers
_DENSE = 1 << 24  # elements up to which a sparse tensor is written out


class Outputs(dict[str, Any]):
    """The tensors of an output structure by path: `"output"` for a single one, else `"state/1"`.

    Attributes:
        others: what holds no numbers, by path: None, strings, members of enums, objects.
        foreign: paths of tensors of another framework, given as arrays.
        numbers: by path the keys that lead there and are numbers, as ids are: they are values.
    """

    def __init__(self) -> None:
        super().__init__()
        self.others: dict[str, Any] = {}
        self.foreign: set[str] = set()
        self.numbers: dict[str, tuple[str, ...]] = {}

    def as_arrays(self, to_numpy: Callable[[Any], Any]) -> Outputs:
        """The same outputs with their tensors as arrays of their own."""
        found = Outputs()
        found.update({path: np.array(to_numpy(item)) for path, item in self.items()})
        found.others = self.others
        return found

    def none_of_its_own(self, ops: Sized) -> bool:
        """Whether a model gave no tensors, or only another framework's without an operation."""
        return not self or (len(self.foreign) == len(self) and not len(ops))


@dataclasses.dataclass(frozen=True)
class Repeated:
    """Stands for an object that holds itself: where it was met first, as keys."""

    keys: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class _Foreign:
    array: Any
    tensor: Any


@dataclasses.dataclass(frozen=True)
class _Number:
    """A key of a dict that is no name."""

    key: Any

    def __str__(self) -> str:
        return str(self.key)

    def __repr__(self) -> str:
        return repr(self.key)


def flatten(output: Any, is_tensor: Callable[[object], bool]) -> Outputs:
    """Every leaf of what a model returned.

    NumPy arrays, Python's numbers (as 0-d arrays) and nested lists of numbers (as one array) count
    as tensors; so do another framework's, as arrays. Sparse tensors are written out, ragged ones
    give their values and row splits, masked arrays their data and their mask.

    Of an object what it shows is visited: public attributes, slots, fields, properties that the
    user's code defines, the parameters that a distribution declares (`parameters`, `params`,
    `arg_constraints`), and properties that only return an attribute. Others are not asked: they may
    be expensive, or draw. A private attribute is a leaf of another kind where a class of the user's
    keeps numbers in it that nothing public shows, or that a method may give as they are. A
    container of the user's own class shows its attributes beside its items, a number or a text of
    such a class too, and a tensor the tensors among its attributes.

    Args:
        is_tensor: tells a tensor of the model's framework.
    """
    leaves = list(_leaves((), output, is_tensor, {}))
    found = Outputs()
    for name, (keys, leaf) in zip(_names([keys for keys, _ in leaves]), leaves, strict=True):
        numbers = tuple(str(key) for key in keys if isinstance(key, _Number))
        if numbers:
            found.numbers[name] = numbers
        if isinstance(leaf, _Foreign):
            found[name] = leaf.array
            found.foreign.add(name)
        elif is_tensor(leaf) and not _is_text(leaf) or _is_numeric(leaf):
            found[name] = leaf
        else:
            found.others[name] = _text(leaf)
    return found


def _names(paths: list[tuple[Any, ...]]) -> list[str]:
    """A name for each path; where two would be one, as of keys `1` and `"1"`, keys are quoted."""
    plain = ["/".join(map(str, keys)) or "output" for keys in paths]
    count = Counter(plain)
    names = [
        name if count[name] == 1 else "/".join(repr(key).replace("/", "~1") for key in keys)
        for name, keys in zip(plain, paths, strict=True)
    ]
    seen: Counter[str] = Counter()
    for index, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            names[index] = f"{name}#{seen[name]}"
    return names


_Leaf = tuple[tuple[Any, ...], Any]


class _Path(tuple[Any, ...]):
    """Keys below a thing that is one to its user: none for a tensor written out."""


_ITSELF = _Path()


def _leaves(
    keys: tuple[Any, ...],
    thing: Any,
    is_tensor: Callable[[object], bool],
    above: dict[int, tuple[Any, ...]],
    asked: frozenset[type] = frozenset(),
) -> Iterator[_Leaf]:
    """The leaves below `thing`.

    Args:
        above: the containers that it lies in, by identity.
        asked: classes whose properties led here: they are not asked again, it may have no end.
    """
    if id(thing) in above:
        yield keys, Repeated(above[id(thing)])
        return
    parts = _parts_of_tensor(thing, is_tensor)
    if parts is None and (is_tensor(thing) or _is_numeric(thing)):
        yield keys, thing
        above = {**above, id(thing): keys}
        for name, item in hung_on(thing).items():
            for leaf in _leaves((*keys, name), item, is_tensor, above, asked):
                if is_tensor(leaf[1]) or isinstance(leaf[1], (np.ndarray, _Foreign)):
                    yield leaf
        return
    if parts is None:
        whole = thing if isinstance(thing, (str, bytes)) else _as_one_array(thing)
        ask = type(thing) not in asked
        if whole is not None:
            yield keys, whole
            parts = shown_beside(thing, [thing], ask).items()
        else:
            parts = _items(thing, ask)
    if parts is None:
        yield keys, thing
        return
    above = {**above, id(thing): keys}
    found: list[_Leaf] = []
    for key, item in parts:
        below = (*keys, *key) if isinstance(key, _Path) else (*keys, key)
        led = asked | {type(thing)} if isinstance(key, Answer) else asked
        found += _leaves(below, item, is_tensor, above, led)
    yield from found
    for name, item in _hidden(thing, keys, found, is_tensor):
        yield (*keys, name), item


# --- leaves --------------------------------------------------------------------------------------


def _is_numeric(thing: object) -> bool:
    return (
        isinstance(thing, (np.ndarray, np.generic))
        and not isinstance(thing, np.ma.MaskedArray)
        and thing.dtype.kind in _NUMBERS
    )


def _is_text(tensor: Any) -> bool:
    """Whether a tensor holds strings or handles, as TensorFlow's may."""
    dtype = getattr(tensor, "dtype", None)
    return getattr(dtype, "name", "") in ("string", "resource", "variant")


def _text(leaf: Any) -> Any:
    """A leaf that holds no numbers; TensorFlow's strings as NumPy's."""
    if getattr(getattr(leaf, "dtype", None), "name", "") == "string":
        return np.asarray(leaf.numpy()).astype(bytes)
    return leaf


def _as_one_array(thing: Any) -> Any:
    """A Python number, a nested list of them, or another framework's tensor; else None."""
    if isinstance(thing, Enum):
        return None
    if isinstance(thing, (bool, int, float, complex)):
        array = np.asarray(thing)  # an integer beyond 64 bits makes no array of numbers
        array = array.astype(np.uint64) if array.dtype.kind == "u" else array  # of two of one size
        return array if array.dtype.kind in _NUMBERS else None
    if isinstance(thing, range) or type(thing).__name__ in ("Size", "TensorShape"):
        return np.asarray(list(thing), np.int64) if None not in list(thing) else None
    if type(thing) is list and thing and _of_numbers(thing):
        try:
            array = np.asarray(thing)
        except ValueError:  # of several lengths: each list by itself
            return None
        exact = array.dtype.kind != "f" or not _holds_long_integers(thing)
        return array if array.dtype.kind in _NUMBERS and exact else None
    if isinstance(thing, np.ndarray) or isinstance(thing, type):
        return None
    return _foreign(thing)


def _of_numbers(things: list[Any]) -> bool:
    return all(
        _of_numbers(item)
        if type(item) is list
        else isinstance(item, (bool, int, float, complex)) and not isinstance(item, Enum)
        for item in things
    )


def _holds_long_integers(things: Any) -> bool:
    """Whether a float64 would round an integer among numbers, as an id."""
    if isinstance(things, list):
        return any(map(_holds_long_integers, things))
    return isinstance(things, int) and abs(things) > _EXACT


_EXACT = 2**53


def _foreign(thing: Any) -> _Foreign | None:
    """A tensor of a framework that is not the model's, as an array."""
    given = thing
    if not (hasattr(thing, "shape") and hasattr(thing, "dtype")):
        return None
    if hasattr(thing, "detach"):  # torch
        thing = thing.detach().cpu()
        thing = thing.float() if str(thing.dtype) == "torch.bfloat16" else thing
    thing = getattr(thing, "array", thing)  # Chainer
    if not (hasattr(thing, "__array__") or hasattr(thing, "numpy")):
        return None
    array = np.asarray(thing.numpy() if hasattr(thing, "numpy") else thing)
    if array.dtype.name == "bfloat16" or array.dtype.kind == "V" and not array.dtype.names:
        array = array.astype(np.float32)
    return _Foreign(array, given) if array.dtype.kind in _NUMBERS else None


# --- containers ----------------------------------------------------------------------------------

_Items = Iterable[tuple[Any, Any]]


def _parts_of_tensor(thing: Any, is_tensor: Callable[[object], bool]) -> _Items | None:
    """What a tensor that is no plain array is made of; known by what it offers, None for others."""
    kind = type(thing).__name__
    if isinstance(thing, np.ma.MaskedArray):
        mask = np.broadcast_to(np.asarray(thing.mask, bool), thing.shape)
        parts = [("data", np.where(mask, 0, thing.data)), ("mask", mask)]
        if thing is np.ma.masked:  # which takes none
            return parts
        # what its user reads there
        return [*parts, ("fill_value", Setting(np.asarray(thing.fill_value).item()))]
    if isinstance(thing, np.ndarray) and thing.dtype.fields:
        return [(name, thing[name]) for name in thing.dtype.fields]
    if kind in ("RaggedTensor", "RaggedTensorValue"):
        splits = enumerate(thing.nested_row_splits)
        return [
            ("values", thing.flat_values),
            *((_Path(("row_splits", depth)), split) for depth, split in splits),
        ]
    if kind == "IndexedSlices":
        return _rows_of_tensorflow(thing)
    if kind == "TensorArray" and callable(getattr(thing, "stack", None)):
        return [(_ITSELF, thing.stack())]
    if kind == "SparseTensor":
        return _sparse_of_tensorflow(thing)
    scipy: Any = sys.modules.get("scipy.sparse")  # without it there are none of its arrays
    if scipy is not None and scipy.issparse(thing):
        return _sparse_of_scipy(thing)
    if not is_tensor(thing):
        return None
    return _parts_of_torch(thing)


def _sparse_of_tensorflow(thing: Any) -> _Items:
    tf: Any = sys.modules["tensorflow"]  # which made it
    thing = tf.sparse.reorder(thing)
    if int(np.prod(np.asarray(thing.dense_shape, np.float64))) > _DENSE:
        places = ("indices", tf.transpose(thing.indices))
        return [("values", thing.values), places, ("shape", thing.dense_shape)]
    return [(_ITSELF, tf.sparse.to_dense(thing))]


def _rows_of_tensorflow(thing: Any) -> _Items:
    """Rows of a gradient, as what they stand for: in any order, and some of them several times."""
    tf: Any = sys.modules["tensorflow"]
    shape = None if thing.dense_shape is None else np.asarray(thing.dense_shape, np.float64)
    if shape is not None and int(np.prod(shape)) <= _DENSE:
        return [(_ITSELF, tf.convert_to_tensor(thing))]
    places = tf.unique(tf.sort(thing.indices))[0]
    rows = tf.math.unsorted_segment_sum(
        thing.values, tf.searchsorted(places, thing.indices), tf.size(places)
    )
    found = [("values", rows), ("indices", places)]
    return found if shape is None else [*found, ("shape", thing.dense_shape)]


def _sparse_of_scipy(thing: Any) -> _Items:
    """As what it stands for: of the order of its entries nothing depends."""
    if int(np.prod(np.asarray(thing.shape, np.float64))) <= _DENSE:
        return [(_ITSELF, thing.toarray())]
    thing = thing.tocoo(copy=True)
    thing.sum_duplicates()
    places = getattr(thing, "coords", (thing.row, thing.col))
    return [("values", thing.data), ("indices", np.stack(places)), ("shape", np.array(thing.shape))]


def _parts_of_torch(thing: Any) -> _Items | None:
    if getattr(thing, "is_nested", False):
        return list(enumerate(thing.unbind()))
    if getattr(thing, "is_quantized", False):
        return [(_ITSELF, thing.dequantize())]
    if callable(getattr(thing, "get_mask", None)):
        mask = thing.get_mask()
        return [("data", thing.get_data().where(mask, 0)), ("mask", mask)]
    if callable(getattr(thing, "__tensor_flatten__", None)):
        return [(name, getattr(thing, name)) for name in thing.__tensor_flatten__()[0]]
    layout = str(getattr(thing, "layout", "torch.strided"))
    if not layout.startswith("torch.sparse"):
        return None
    if thing.numel() <= _DENSE or layout != "torch.sparse_coo":
        return [(_ITSELF, thing.to_dense())]
    thing = thing.coalesce()
    shape = ("shape", np.array(thing.shape))
    return [("values", thing.values()), ("indices", thing.indices()), shape]


def _items(thing: Any, ask: bool) -> _Items | None:
    """Keys and items of a container, and what it shows beside them; None for a leaf."""
    held = _held(thing)
    if held is not None:
        return [*held, *shown_beside(thing, [item for _, item in held], ask).items()]
    if is_plain(thing) or isinstance(thing, Repeated):
        return None
    return list(shown(thing, ask).items()) or None


def _held(thing: Any) -> list[tuple[Any, Any]] | None:
    """Keys and items of a container; None for what is none."""
    if isinstance(thing, Mapping):
        return [(_Number(key) if _is_number(key) else key, item) for key, item in thing.items()]
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return list(zip(thing._fields, thing, strict=True))
    if isinstance(thing, (tuple, list, deque, ValuesView)):
        return list(enumerate(thing))
    if isinstance(thing, np.ndarray) and thing.dtype == object:
        return list(enumerate(thing.tolist())) if thing.ndim else None
    if isinstance(thing, Set) and not isinstance(thing, (set, frozenset)):  # keys() and items()
        return list(enumerate(thing))
    return None


def _is_number(key: Any) -> bool:
    """Whether a key is data, as an id, a place or a threshold are, and no name."""
    return key.isdecimal() if isinstance(key, str) else not isinstance(key, Enum)


# --- private attributes --------------------------------------------------------------------------


def _hidden(
    thing: Any, keys: tuple[Any, ...], found: list[_Leaf], is_tensor: Callable[[object], bool]
) -> Iterator[tuple[str, Any]]:
    """Private attributes with numbers that nothing public shows, of a class of the user's.

    A number is shown if it is a leaf, or if a property that reads the attribute gives as many.
    Of a library's class, what it keeps to itself counts only where it shows no tensor at all.
    Whole numbers say how an object works, as public ones do: both objects need not have them.
    """
    attributes = private(thing)
    if not attributes:
        return
    leaves = [leaf.tensor if isinstance(leaf, _Foreign) else leaf for _, leaf in found]
    users = is_users_class(type(thing))
    if not users and any(_is_array(leaf, is_tensor) and _size(leaf) > 1 for leaf in leaves):
        return
    public = {id(leaf) for leaf in leaves}
    plain = {leaf.item() for leaf in leaves if isinstance(leaf, np.ndarray) and not leaf.ndim}
    for name, item in attributes.items():
        held = [
            one
            for one in _numbers(item, is_tensor, set())
            if id(one) not in public and not (isinstance(one, _SCALARS) and one in plain)
        ]
        if not users:
            held = [one for one in held if not isinstance(one, _SCALARS)]
        read = answers_from(type(thing), name)
        given = [leaf for path, leaf in found if _answers(path[len(keys) :]) & read]
        if sum(map(_size, held)) > sum(map(_size, given)):
            setting = all(isinstance(one, int) for one in held)
            yield name, Setting(Private(item)) if setting else Private(item)
        elif users and (held or isinstance(item, _SCALARS)) and methods_from(type(thing), name):
            yield name, Private(_as_array(item, is_tensor))


_SCALARS = (int, float, complex)


def _answers(path: tuple[Any, ...]) -> set[str]:
    """The property by which a path begins, if it does."""
    return {key for key in path[:1] if isinstance(key, Answer)}


def _numbers(thing: Any, is_tensor: Callable[[object], bool], seen: set[int]) -> Iterator[Any]:
    """The tensors and arrays below a thing, and the numbers in containers; nothing is asked."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, _SCALARS) or _is_array(thing, is_tensor):
        yield thing
        return
    if is_plain(thing):
        return
    for _, item in _held(thing) or ():
        yield from _numbers(item, is_tensor, seen)
    for item in list(getattr(thing, "__dict__", {}).values()):
        for one in _numbers(item, is_tensor, seen):
            if not isinstance(one, _SCALARS):
                yield one


def _is_array(thing: Any, is_tensor: Callable[[object], bool]) -> bool:
    return is_tensor(thing) or _is_numeric(thing) or _foreign(thing) is not None


def _as_array(thing: Any, is_tensor: Callable[[object], bool]) -> Any:
    """A tensor as an array of NumPy's; anything else as it is."""
    foreign = _foreign(thing) if _is_array(thing, is_tensor) else None
    return thing if foreign is None else foreign.array


def _size(leaf: Any) -> int:
    """How many numbers a leaf holds; one if it is no array."""
    leaf = leaf.array if isinstance(leaf, _Foreign) else leaf
    return int(np.prod(tuple(getattr(leaf, "shape", ())), dtype=np.int64))
