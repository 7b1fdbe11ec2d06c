"""Follows a Chainer run: functions go onto a tape as they are applied, arrays by their names."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from parity.callstack import is_users
from parity.draws.host import HostDraw
from parity.errors import ModelError
from parity.frameworks.chainer_gradients import BackwardSites
from parity.frameworks.chainer_numpy import import_chainer
from parity.frameworks.chainer_replay import Call, as_nodes, copy_of, is_of_users, state_of
from parity.frameworks.chainer_weights import array_of, is_link, owner_of, path_of
from parity.frameworks.numpy_followed import Followed, Following, plain
from parity.frameworks.threads import followed
from parity.patching import patched
from parity.recorder import Recorder, discover
from parity.tape import Array, LeafKind, Role

chainer = import_chainer()

# Chainer's functions, by class, that put the same values elsewhere.
_MOVES = frozenset(
    "AsStrided Broadcast BroadcastTo Cast Concat Copy Depth2Space Diagonal Dstack ExpandDims Flip "
    "FlipLR FlipUD GetItem Hstack Im2Col Moveaxis Pad PadSequence Permutate Repeat Reshape "
    "Rollaxis SelectItem Separate Shift Space2Depth SplitAxis Squeeze Stack Swapaxes Tile "
    "Transpose TransposeSequence Vstack".split()
)
# Those that may draw random numbers; functions from elsewhere are all watched for it.
_DRAWS = frozenset(
    "Dropout Gaussian NegativeSamplingFunction RReLU SimplifiedDropconnect Zoneout".split()
)
# What a function's forward may read of `chainer.config`.
_SETTINGS = ("train", "enable_backprop", "dtype", "use_ideep", "debug")


class Watch:
    """Reports to the recorder each function that is applied, and the arrays that enter.

    Args:
        sites: hears what is applied, where the model is differentiated.
    """

    def __init__(
        self,
        recorder: Recorder,
        links: Mapping[str, Any],
        obj: object,
        sites: BackwardSites | None = None,
    ) -> None:
        self.recorder = recorder
        self._sites = sites
        self.outside: list[str] = []  # lines that first use an array of the model's NumPy code
        self.following = Following(recorder, self.value)
        self._links = links
        self._obj = obj
        self._names: dict[int, tuple[Array, LeafKind, str]] = {}
        self._drawn = _random_state()
        self._threads: set[int] = set()
        self._changed: dict[int, Array] = {}  # arrays that were changed in place, by identity
        self._by_host: set[int] = set()  # those that the model's own code, or an optimizer, changed

    def changing(self, array: Array) -> None:
        """An array that the model holds is about to be changed, by no function of Chainer's."""
        self.recorder.changes(array, array.copy())
        self._changed[id(array)] = array
        self._by_host.add(id(array))

    def settle(self) -> None:
        """Keeps what was read of arrays that have changed, before they are put back."""
        for array in self._changed.values():
            self.recorder.changes(array, array.copy())

    @contextmanager
    def applying(self) -> Iterator[None]:
        original = chainer.FunctionNode.apply

        def apply(node: Any, inputs: Sequence[Any]) -> Any:
            if threading.get_ident() not in self._threads:
                return original(node, inputs)
            with self.recorder.lock, self.following.on(False):
                return applied(node, [self._not_followed(item) for item in inputs])

        def applied(node: Any, inputs: Sequence[Any]) -> Any:
            _check_arrays(node, inputs)
            before = copy_of(node)
            held = {  # conditions, masks: as they may be values of the tape, by identity
                key: item
                for key, item in vars(state_of(node)).items()
                if isinstance(item, np.ndarray)
            }
            may_draw = node._impl_name in _DRAWS or is_of_users(state_of(node))
            state = _random_state() if may_draw else None
            before_it = len(self.recorder.host.draws)
            outputs = original(node, inputs)
            before._input_layouts = node._input_layouts
            draws = self.recorder.host.draws[before_it:]
            drew = state is not None and state != _random_state() and not draws
            if draws:
                self._drawn = _random_state()
            given = [None if _is_none(item) else array_of(item) for item in inputs]
            self._add(before, given, held, outputs, drew, draws)
            if drew or draws:
                self._drawn = _random_state()
            return outputs

        reads = {name: self._reported(vars(chainer.Variable)[name]) for name in ("array", "data")}
        with patched(chainer.FunctionNode, apply=apply), patched(chainer.Variable, **reads):
            with self._in_thread(), as_nodes(), followed(self._in_thread):
                with self.following.on(), self.following.making():
                    yield

    @contextmanager
    def _in_thread(self) -> Iterator[None]:
        """Sees the functions that this thread applies."""
        own = threading.get_ident()
        self._threads.add(own)
        try:
            yield
        finally:
            self._threads.discard(own)

    def followed(self, item: Any) -> Any:
        """What the model's own code is given in the place of an array of the tape."""
        value = self.recorder.find(item) if isinstance(item, np.ndarray) else None
        return item if value is None else self.following.array(item, value)

    def _not_followed(self, item: Any) -> Any:
        """What a function is applied to: a kernel's own use of NumPy is not looked into."""
        array = array_of(item)
        if not isinstance(array, Followed):
            return item
        own, value = plain(array), self.recorder.find(array)
        if value is not None:
            self.recorder.alias(own, value)
        if isinstance(item, chainer.Variable):
            item._data[0] = own
            return item
        return own

    def _reported(self, own: Any) -> property:
        """A property that follows the array for which the user's own lines ask a variable."""

        def read(variable: Any) -> Any:
            array = own.fget(variable)
            caller = sys._getframe(1)
            if caller.f_code is chainer.as_array.__code__ and caller.f_back is not None:
                caller = caller.f_back
            return self.followed(array) if is_users(caller.f_code) else array

        return property(read, own.fset, own.fdel, own.__doc__)

    def _add(
        self,
        node: Any,
        inputs: Sequence[Array | None],
        held: Mapping[str, Array],
        outputs: Any,
        drew: bool,
        draws: Sequence[HostDraw],
    ) -> None:
        arrays = [item.array for item in outputs]
        # nothing new: an identity, or a function such as F.forget that applied others
        if all(array is None or self.recorder.find(array) is not None for array in arrays):
            return
        kept = tuple(array is not None for array in arrays)
        kind = node._impl_name
        noise = [self.recorder.draw_by_numpy(one) for one in draws]  # before it is looked for
        missing = tuple(place for place, array in enumerate(inputs) if array is None)
        of = None if self._sites is None else self._sites.differentiated_by(node)
        ids = [] if of is None else [*of[1].inputs]
        ids += [self.value(array) for array in inputs if array is not None]
        # a condition that the model's own NumPy code made of values of the run
        pre = vars(state_of(node))
        changed = self._changed_in_place(held, pre)
        for key in changed:  # a leaf, or what an earlier change made, with the values it had
            self.value(held[key])
        masks = {
            key: item
            for key, item in held.items()
            if item.dtype == bool and self.recorder.find(item) is None and not self._name(item)[1]
        }
        held = {key: item for key, item in held.items() if self.recorder.find(item) is not None}
        held.update(masks)
        reads = self.recorder.reads
        ids += [self.value(array) for array in held.values()]
        if reads.first is not None:  # they are right on these inputs only
            reads.baked_leaves.update(self.value(array) for array in masks.values())
        ids += noise
        for key in changed:
            self.recorder.changes(held[key], pre[key].copy())
            self._changed[id(held[key])] = held[key]
        settings = {key: getattr(chainer.config, key) for key in _SETTINGS}
        op = self.recorder.op(
            kind,
            ids,
            [
                (array, array.shape, _dtype_name(array.dtype))
                for array in (*arrays, *(held[key] for key in changed))
                if array is not None
            ],
            role="random" if drew else _role(node),
            attributes=_attributes(node),
            call=Call(node, tuple(held), kept, settings, len(draws), changed, missing, of),
        )
        if self._sites is not None:
            self._sites.forward(outputs[0].creator_node, op)
        if masks and reads.first is None:  # other inputs would not move them
            reads.rounded.add(op.index)
        if any(map(_is_found_order, getattr(node, "slices", None) or ())):
            self.recorder.reads.baked.add(op.index)

    def _changed_in_place(
        self, held: Mapping[str, Array], before: Mapping[str, Any]
    ) -> tuple[str, ...]:
        """Attributes of a node, values of the tape, that its forward pass has changed."""
        return tuple(
            key
            for key, item in held.items()
            if not np.array_equal(before[key], item, equal_nan=item.dtype.kind == "f")
            and (self.recorder.find(item) is not None or self._name(item)[1])
        )

    def value(self, array: Array) -> int:
        """The id of an array; one not seen yet becomes a leaf, by its name in the model."""
        known = self.recorder.find(array)
        if known is not None:
            return known
        kind, name = self._name(array)
        if not name:
            known = self.following.find(array)
            if known is not None:
                self.recorder.alias(array, known)
                return known
            if array.size > 1 and (array != array.flat[0]).any():
                self.following.lost()
            read = self.recorder.as_read(array, array.dtype.name)
            if read is not None:
                return read
        before, self._drawn = self._drawn, _random_state()
        if not self.recorder.host.draws:
            if self._drawn != before and not name:
                output = (array, array.shape, array.dtype.name)
                return self.recorder.op("numpy.random", (), [output], role="random").outputs[0]
            by_host = id(array) in self._by_host
            if by_host or not name and array.size > 1 and (array != array.flat[0]).any():
                self.outside.append(self.recorder.site("").source or "its output")
        return self.recorder.leaf(array, kind, name, array.shape, array.dtype.name)

    def _name(self, array: Array) -> tuple[LeafKind, str]:
        found = self._names.get(id(array))
        if found is None or found[0] is not array:  # parameters may just have been initialised
            self._names = {id(item[0]): item for item in _named_arrays(self._links, self._obj)}
            found = self._names.get(id(array))
        return (found[1], found[2]) if found else ("constant", "")


def _role(node: Any) -> Role:
    moves = node._impl_name in _MOVES and type(node).__module__.startswith("chainer.")
    return "move" if moves else "compute"


def _is_none(item: Any) -> bool:
    return item is None or isinstance(item, chainer.Variable) and item.array is None


def _check_arrays(node: Any, inputs: Sequence[Any]) -> None:
    for item in inputs:
        array = item.array if isinstance(item, chainer.Variable) else item
        # what is no array at all Chainer refuses itself
        if isinstance(array, chainer.get_array_types()) and not isinstance(array, np.ndarray):
            raise ModelError(
                f"{node._impl_name} got {type(array).__module__}.{type(array).__name__}: parity "
                "reads Chainer models that run on NumPy. Copy the model to the CPU with "
                "model.to_device('@numpy') and set chainer.config.use_ideep = 'never'."
            )


def _named_arrays(links: Mapping[str, Any], obj: object) -> Iterator[tuple[Array, LeafKind, str]]:
    """Arrays that a model holds; where one has two names, the last is the one that counts."""
    if not is_link(owner_of(obj)):
        for held, item in discover(obj, _is_array).items():
            yield array_of(item), "constant", path_of(held)
    for path, link in links.items():
        own = {
            key: item
            for key, item in vars(link).items()
            if not is_link(item) and key not in link._params and key not in link._persistent
        }
        for held, item in discover(own, _is_array).items():
            yield array_of(item), "constant", path + path_of(held)
    for path, link in links.items():  # afterwards: a link's closure may hold another's parameters
        for key in link._persistent:
            if isinstance(vars(link)[key], np.ndarray):
                yield vars(link)[key], "buffer", f"{path}/{key}"
        for key in link._params:
            if vars(link)[key].array is not None:
                yield vars(link)[key].array, "parameter", f"{path}/{key}"


@functools.lru_cache(maxsize=64)
def _dtype_name(dtype: Any) -> str:
    return str(np.dtype(dtype).name)  # NumPy works the name out anew each time: slow for small ops


def _is_array(obj: object) -> bool:
    return isinstance(obj, np.ndarray) or (
        isinstance(obj, chainer.Variable) and isinstance(obj.array, np.ndarray)
    )


def _attributes(node: Any) -> dict[str, Any]:
    """The node's own settings, such as strides, axes and epsilons."""
    return {
        key: item
        for key, item in vars(state_of(node)).items()
        if not key.startswith("_") and _is_simple(item)
    }


def _is_simple(item: object) -> bool:
    if isinstance(item, (tuple, list)):
        return all(part is None or part is Ellipsis or _is_simple(part) for part in item)
    return isinstance(item, (bool, int, float, str, np.generic, slice))


def _is_found_order(index: Any) -> bool:
    """Whether an index has another order in each row: nobody writes one, as argsort finds it."""
    if not isinstance(index, np.ndarray) or index.dtype.kind not in "iu" or index.ndim < 2:
        return False
    steps = np.diff(index, axis=-1)
    return bool((steps > 0).any() and (steps < 0).any() and (index != index[:1]).any())


def _random_state() -> tuple[Any, ...]:
    state: Any = np.random.get_state()
    _, key, *rest = state
    return (key.tobytes(), *rest)
