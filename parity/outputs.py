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

from parity.objects import Answer, hung_on, is_plain, shown, shown_beside

_NUMBERS = "biufc"  # NumPy's kinds of dtypes that hold numbers
_DENSE = 1 << 24  # elements up to which a sparse tensor is written out


class Outputs(dict[str, Any]):
    """The tensors of an output structure by path: `"output"` for a single one, else `"state/1"`.

    Attributes:
        others: what holds no numbers, by path: None, strings, members of enums, objects.
        foreign: paths of tensors of another framework, given as arrays.
    """

    def __init__(self) -> None:
        super().__init__()
        self.others: dict[str, Any] = {}
        self.foreign: set[str] = set()

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


def flatten(output: Any, is_tensor: Callable[[object], bool]) -> Outputs:
    """Every leaf of what a model returned.

    NumPy arrays, Python's numbers (as 0-d arrays) and nested lists of numbers (as one array) count
    as tensors; so do another framework's, as arrays. Sparse tensors are written out, ragged ones
    give their values and row splits, masked arrays their data and their mask.

    Of an object what it shows is visited: public attributes, slots, fields, properties that the
    user's code defines, the parameters that a distribution declares (`parameters`, `params`,
    `arg_constraints`), and properties that only return an attribute. Others are not asked: they may
    be expensive, or draw. Private attributes are its own affair, unless they hold all its tensors:
    then the object is a leaf of another kind. A container of the user's own class shows that beside
    its items, and a tensor the tensors among its attributes.

    Args:
        is_tensor: tells a tensor of the model's framework.
    """
    leaves = list(_leaves((), output, is_tensor, {}))
    found = Outputs()
    for name, (_, leaf) in zip(_names([keys for keys, _ in leaves]), leaves, strict=True):
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
        whole = _as_one_array(thing)
        if whole is not None:
            yield keys, whole
            return
        parts = _items(thing, type(thing) not in asked)
    if parts is None:
        yield keys, thing
        return
    above = {**above, id(thing): keys}
    found: list[_Leaf] = []
    for key, item in parts:
        below = (*keys, *key) if isinstance(key, _Path) else (*keys, key)
        led = asked | {type(thing)} if isinstance(key, Answer) else asked
        found += _leaves(below, item, is_tensor, above, led)
    if _hides_its_tensors(thing, found, is_tensor):
        found.append((keys, thing))
    yield from found


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
        return array if array.dtype.kind in _NUMBERS else None
    if isinstance(thing, range) or type(thing).__name__ in ("Size", "TensorShape"):
        return np.asarray(list(thing), np.int64) if None not in list(thing) else None
    if type(thing) is list and thing and _of_numbers(thing):
        try:
            array = np.asarray(thing)
        except ValueError:  # of several lengths: each list by itself
            return None
        return array if array.dtype.kind in _NUMBERS else None
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


def _foreign(thing: Any) -> _Foreign | None:
    """A tensor of a framework that is not the model's, as an array."""
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
    return _Foreign(array) if array.dtype.kind in _NUMBERS else None


# --- containers ----------------------------------------------------------------------------------

_Items = Iterable[tuple[Any, Any]]


def _parts_of_tensor(thing: Any, is_tensor: Callable[[object], bool]) -> _Items | None:
    """What a tensor that is no plain array is made of; known by what it offers, None for others."""
    kind = type(thing).__name__
    if isinstance(thing, np.ma.MaskedArray):
        mask = np.broadcast_to(np.asarray(thing.mask, bool), thing.shape)
        return [("data", np.where(mask, 0, thing.data)), ("mask", mask)]
    if isinstance(thing, np.ndarray) and thing.dtype.fields:
        return [(name, thing[name]) for name in thing.dtype.fields]
    if kind in ("RaggedTensor", "RaggedTensorValue"):
        splits = enumerate(thing.nested_row_splits)
        return [
            ("values", thing.flat_values),
            *((_Path(("row_splits", depth)), split) for depth, split in splits),
        ]
    if kind == "IndexedSlices":
        return [("values", thing.values), ("indices", thing.indices)]
    if kind == "TensorArray" and callable(getattr(thing, "stack", None)):
        return [(_ITSELF, thing.stack())]
    if kind == "SparseTensor":
        return _sparse_of_tensorflow(thing)
    if not is_tensor(thing):
        return None
    return _parts_of_torch(thing)


def _sparse_of_tensorflow(thing: Any) -> _Items:
    tf: Any = sys.modules["tensorflow"]  # which made it
    if int(np.prod(np.asarray(thing.dense_shape, np.float64))) > _DENSE:
        return [("values", thing.values), ("indices", thing.indices)]
    return [(_ITSELF, tf.sparse.to_dense(tf.sparse.reorder(thing)))]


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
    return [("values", thing.values()), ("indices", thing.indices())]


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
        return list(thing.items())
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return list(zip(thing._fields, thing, strict=True))
    if isinstance(thing, (tuple, list, deque, ValuesView)):
        return list(enumerate(thing))
    if isinstance(thing, np.ndarray) and thing.dtype == object:
        return list(enumerate(thing.tolist())) if thing.ndim else None
    if isinstance(thing, Set) and not isinstance(thing, (set, frozenset)):  # keys() and items()
        return list(enumerate(thing))
    return None


def _hides_its_tensors(thing: Any, found: list[_Leaf], is_tensor: Callable[[object], bool]) -> bool:
    """Whether an object that shows no tensor has some in private attributes."""
    private = [item for name, item in getattr(thing, "__dict__", {}).items() if name[:1] == "_"]
    if not any(is_tensor(item) or isinstance(item, np.ndarray) for item in private):
        return False
    return not any(
        is_tensor(leaf) or isinstance(leaf, _Foreign) or isinstance(leaf, np.ndarray) and leaf.ndim
        for _, leaf in found
    )
