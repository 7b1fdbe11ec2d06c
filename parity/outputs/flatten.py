"""Outputs of any structure: every leaf is a tensor with a path, or is kept beside them by its path.

Nothing falls out: what is neither a container nor an array is a leaf of another kind, which a
comparison compares for equality or names as not compared.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from enum import Enum
from typing import Any

import numpy as np

from parity.code_owners import is_users_class
from parity.frameworks import traits
from parity.outputs.containers import (
    NumericKey,
    Repeated,
    Returned,
    items_of,
    parameters,
    shown_items,
)
from parity.outputs.objects import (
    Answer,
    Private,
    Setting,
    answers_from,
    declares_itself,
    hung_on,
    is_plain,
    methods_from,
    named_by_a_library,
    names_parameters,
    private,
    shown_beside,
    states_how,
)
from parity.outputs.tensors import NUMBERS, Foreign, Path, foreign, is_narrow, parts_of_tensor


class Outputs(dict[str, Any]):
    """The tensors of an output structure by path: `"output"` for a single one, else `"state/1"`.

    Attributes:
        others: what is not numeric, by path: None, strings, members of enums, objects.
        foreign: paths of tensors of another framework, given as arrays.
        numbers: by path the keys that lead there and are numbers, as ids are: they are values.
        classes: the classes of the user's objects that show their items, and of distributions.
        gradients: paths of gradients of the others.
    """

    def __init__(self) -> None:
        super().__init__()
        self.others: dict[str, Any] = {}
        self.foreign: set[str] = set()
        self.numbers: dict[str, tuple[str, ...]] = {}
        self.classes: dict[str, type] = {}
        self.gradients: set[str] = set()

    def as_arrays(self, to_numpy: Callable[[Any], Any]) -> Outputs:
        """The same outputs with their tensors as arrays of their own."""
        found = Outputs()
        found.update({path: np.array(to_numpy(item)) for path, item in self.items()})
        found.others, found.classes = self.others, self.classes
        return found

    def add_gradients(self, found: Mapping[str, Any], is_tensor: Callable[[object], bool]) -> None:
        """Adds gradients by name: a tensor, one of several parts, or None for no path to it."""
        for name, thing in found.items():
            flat = flatten(thing, is_tensor) if thing is not None else {}
            parts = {name if path == "output" else f"{name}/{path}": path for path in flat}
            self.update({part: flat[path] for part, path in parts.items()})
            self.others |= {} if parts else {name: None}
            self.gradients |= {*parts, name} if not parts else {*parts}

    def none_of_its_own(self, ops: Sized) -> bool:
        """Whether a model gave no tensors, or only another framework's without an operation."""
        return not self or (len(self.foreign) == len(self) and not len(ops))


@dataclasses.dataclass(frozen=True)
class _Made:
    """The class by which an object was made; it stands beside its leaves."""

    cls: type


def flatten(output: Any, is_tensor: Callable[[object], bool]) -> Outputs:
    """Every leaf of what a model returned.

    NumPy arrays, Python's numbers (as 0-d arrays) and nested lists of numbers (as one array) count
    as tensors; so do another framework's, as arrays. Sparse tensors are written out, ragged ones
    give their values and row splits, masked arrays their data and their mask.

    Of an object what it shows is visited: public attributes, slots, fields, properties and other
    descriptors of the user's code, what the user's class states of all its objects, the parameters
    that a distribution declares (`parameters`, `params`, `arg_constraints`), and properties that
    only return an attribute. Others are not asked: they may be expensive, or draw. A library's
    object that shows no array is a leaf itself, too; of a model its parameters and buffers are
    leaves. A private attribute is a leaf of another kind where a user-defined class keeps numbers
    in it that nothing public shows, or that a method may give as they are. A container of the
    user's own class shows its attributes beside its items, a number or a text of such a class too,
    and a tensor the tensors among its attributes.

    Args:
        is_tensor: recognises a tensor of the model's framework.
    """
    leaves = list(_leaves((), output, is_tensor, {}))
    found = Outputs()
    found.classes = {
        "/".join(map(str, keys)): leaf.cls for keys, leaf in leaves if isinstance(leaf, _Made)
    }
    leaves = [(keys, leaf) for keys, leaf in leaves if not isinstance(leaf, _Made)]
    for name, (keys, leaf) in zip(_names([keys for keys, _ in leaves]), leaves, strict=True):
        numbers = tuple(str(key) for key in keys if isinstance(key, NumericKey))
        if numbers:
            found.numbers[name] = numbers
        if isinstance(leaf, Foreign):
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
    parts = parts_of_tensor(thing)
    if parts is None and (is_tensor(thing) or _is_numeric(thing)):
        yield keys, thing
        above = {**above, id(thing): keys}
        for name, item in hung_on(thing).items():
            for leaf in _leaves((*keys, name), item, is_tensor, above, asked):
                if _is_array(leaf[1], is_tensor) or isinstance(
                    leaf[1], (Foreign, Setting, Private)
                ):
                    yield leaf
        for name, item in _hidden(thing, keys, [(keys, thing)], is_tensor):
            yield (*keys, name), item
        return
    itself = False  # what it shows may not be all of it
    if parts is None:
        whole = thing if isinstance(thing, (str, bytes)) else _as_one_array(thing)
        ask = type(thing) not in asked
        if whole is not None:
            yield keys, whole
            parts = shown_beside(thing, [thing], ask).items()
        elif (held := parameters(thing)) is not None:
            yield keys, Returned(thing)
            parts = [*_arrays_of(thing, held.values(), is_tensor), *held.items()]
        else:
            parts = shown_items(thing, ask)
            itself = not (is_users_class(type(thing)) or declares_itself(thing))
            itself = itself and items_of(thing) is None
    if parts is None:
        yield keys, thing
        return
    above = {**above, id(thing): keys}
    found: list[_Leaf] = []
    for key, item in parts:
        below = (*keys, *key) if isinstance(key, Path) else (*keys, key)
        led = asked | {type(thing)} if isinstance(key, Answer) else asked
        found += _leaves(below, item, is_tensor, above, led)
    yield from found
    if is_users_class(type(thing)) or names_parameters(thing):
        yield keys, _Made(type(thing))
    if itself and not any(_is_array(leaf, is_tensor) and _size(leaf) > 1 for _, leaf in found):
        yield keys, thing
    for name, item in _hidden(thing, keys, found, is_tensor):
        yield (*keys, name), item


def _arrays_of(
    model: Any, held: Iterable[Any], is_tensor: Callable[[object], bool]
) -> list[tuple[str, Any]]:
    """The public attributes of a model that are arrays, and not among its parameters."""
    known = set(map(id, held))
    return [
        (name, item)
        for name, item in getattr(model, "__dict__", {}).items()
        if name[:1] != "_" and _is_array(item, is_tensor) and id(item) not in known
    ]


# --- leaves --------------------------------------------------------------------------------------


def _is_numeric(thing: object) -> bool:
    return (
        isinstance(thing, (np.ndarray, np.generic))
        and not isinstance(thing, np.ma.MaskedArray)
        and thing.dtype.kind in NUMBERS
    )


def _is_text(tensor: Any) -> bool:
    """Whether a tensor holds strings or handles, as TensorFlow's may."""
    dtype = getattr(tensor, "dtype", None)
    return getattr(dtype, "name", "") in ("string", "resource", "variant")


def _text(leaf: Any) -> Any:
    """A leaf that is not numeric; TensorFlow's strings as NumPy's."""
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
        return array if array.dtype.kind in NUMBERS else None
    if isinstance(thing, range) or any(one.is_shape(thing) for one in traits()):
        return np.asarray(list(thing), np.int64) if None not in list(thing) else None
    if type(thing) is list and thing and _of_numbers(thing):
        try:
            array = np.asarray(thing)
        except ValueError:  # of several lengths: each list by itself
            return None
        exact = array.dtype.kind != "f" or not _holds_long_integers(thing)
        return array if array.dtype.kind in NUMBERS and exact else None
    if isinstance(thing, type) or isinstance(thing, np.ndarray) and not is_narrow(thing):
        return None
    return foreign(thing)


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


# --- private attributes --------------------------------------------------------------------------


def _hidden(
    thing: Any, keys: tuple[Any, ...], found: list[_Leaf], is_tensor: Callable[[object], bool]
) -> Iterator[tuple[str, Any]]:
    """Private attributes with numbers that nothing public shows, of a user-defined class.

    A number is shown if it is a leaf, or if a property that reads the attribute gives as many.
    Of what a library's class keeps there, integers and what is no number are its own affair.
    Integers say how an object works, as public ones do: both objects need not have them. So
    does what is no number and a method reads.
    """
    attributes = private(thing) if is_users_class(type(thing)) else {}
    if not attributes:
        return
    model = names_parameters(thing) or parameters(thing) is not None
    library = named_by_a_library(type(thing))
    leaves = [leaf.tensor if isinstance(leaf, Foreign) else leaf for _, leaf in found]
    public = {id(leaf) for leaf in leaves}
    plain = {leaf.item() for leaf in leaves if isinstance(leaf, np.ndarray) and not leaf.ndim}
    for name, item in attributes.items():
        if name in library and model:
            continue
        held = [
            one
            for one in _numbers(item, is_tensor, set())
            if id(one) not in public and not (isinstance(one, _SCALARS) and one in plain)
        ]
        if name in library and all(isinstance(one, int) for one in held):
            continue
        read = answers_from(type(thing), name)
        given = [
            leaf
            for path, leaf in found
            for first in path[len(keys) : len(keys) + 1]
            if isinstance(first, Answer) and first in read
        ]
        if sum(map(_size, held)) > sum(map(_size, given)):
            setting = all(isinstance(one, int) for one in held)
            yield name, Setting(Private(item)) if setting else Private(item)
        elif (held or isinstance(item, _SCALARS)) and methods_from(type(thing), name):
            array = foreign(item) if _is_array(item, is_tensor) else None
            yield name, Private(item if array is None else array.array)
        elif not held and states_how(item) and methods_from(type(thing), name):
            yield name, Setting(Private(item))


_SCALARS = (int, float, complex)


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
    for _, item in items_of(thing) or ():
        yield from _numbers(item, is_tensor, seen)
    for item in list(getattr(thing, "__dict__", {}).values()):
        for one in _numbers(item, is_tensor, seen):
            if not isinstance(one, _SCALARS):
                yield one


def _is_array(thing: Any, is_tensor: Callable[[object], bool]) -> bool:
    return is_tensor(thing) or _is_numeric(thing) or foreign(thing) is not None


def _size(leaf: Any) -> int:
    """How many values a leaf holds; one if it is no array."""
    leaf = leaf.array if isinstance(leaf, Foreign) else leaf
    return int(np.prod(tuple(getattr(leaf, "shape", ())), dtype=np.int64))
