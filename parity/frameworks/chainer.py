"""Chainer: each `FunctionNode` that runs is one operation; replayed by a copy of the node."""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from parity import outputs as structure
from parity.errors import ModelError
from parity.frameworks.chainer_numpy import import_chainer
from parity.frameworks.running import preserved_random_state, run
from parity.model import bind, flatten_inputs, map_arrays
from parity.recorder import Recorder, discover
from parity.tape import Array, LeafKind, Native, Op, Precision, Role, Tape
from parity.weights.tensors import Tensor

if TYPE_CHECKING:
    from parity.model import Inputs, Model

chainer = import_chainer()
name = "chainer"

# Chainer's functions, by class, that put the same numbers elsewhere.
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

# --- recognise ---------------------------------------------------------------------------------


def recognises(obj: object) -> bool:
    """A Link, a method of one, an old-style Function, or one of `chainer.functions`."""
    if isinstance(_owner(obj), (chainer.Link, chainer.Function)):
        return True
    return isinstance(obj, FunctionType) and str(obj.__module__).split(".")[0] == "chainer"


def _owner(obj: object) -> object:
    """The object that a method belongs to; anything else itself."""
    return getattr(obj, "__self__", obj)


# --- record ------------------------------------------------------------------------------------


def record(model: Model, inputs: Inputs) -> Tape:
    """Runs a link or a function once, watching `FunctionNode.apply`."""
    links = _links(model.obj)
    _check_device(model, links.values())
    paths = {id(link): path for path, link in links.items()}
    recorder = Recorder(_ADAPTER, _is_link, paths, links.get(""), separator="/")
    dtype = _dtype_of(links.values())
    native = map_arrays(lambda array: _as_input(array, dtype), inputs)
    ids = {
        path: recorder.leaf(_array(item), "input", path, item.shape, item.dtype.name)
        for path, item in flatten_inputs(native).items()
    }
    watch = _Watch(recorder, links, model.obj)
    args, kwargs = bind(_signature_of(model.obj), native)
    with _kept(links.values()), chainer.using_config("use_static_graph", False):
        with chainer.using_config("train", model.mode == "train"), watch.applying():
            result = run(model, lambda: model.obj(*args, **kwargs))
            found = run(model, lambda: structure.flatten(result, _is_variable))
        outputs = {path: watch.value(_array(item)) for path, item in found.items()}
    if not outputs:
        raise ModelError(
            f"{model.name} (chainer) returned no arrays but {type(result).__name__}. "
            "Return a Variable, or tuples, dicts or objects with Variables in them."
        )
    if watch.outside:
        recorder.caveats.append(
            f"{model.name} computes {len(watch.outside)} array(s) outside Chainer's functions, "
            f"first used at {watch.outside[0]}: in replays they stay as they were"
        )
    return recorder.tape(model.name, ids, outputs)


def plain(model: Model) -> Callable[[Inputs], dict[str, Array]]:
    """Runs a link or a function as `record` does; see `Framework.plain`."""
    links = _links(model.obj)
    dtype = _dtype_of(links.values())
    signature = _signature_of(model.obj)

    def outputs(inputs: Inputs) -> dict[str, Array]:
        args, kwargs = bind(signature, map_arrays(lambda array: _as_input(array, dtype), inputs))
        with _kept(links.values()), chainer.using_config("use_static_graph", False):
            with chainer.using_config("train", model.mode == "train"):
                result = run(model, lambda: model.obj(*args, **kwargs))
                found = run(model, lambda: structure.flatten(result, _is_variable))
            return {path: np.array(_array(item)) for path, item in found.items()}

    return outputs


def _is_link(obj: object) -> bool:
    return isinstance(obj, chainer.Link)


def _is_variable(obj: object) -> bool:
    return isinstance(obj, chainer.Variable)


def _links(obj: object) -> dict[str, Any]:
    """Links by path: `/l1` below a link that is the model, `/net/l1` where something holds it."""
    found: dict[str, Any] = {}

    def add(path: str, link: Any) -> None:
        for below, child in link.namedlinks():
            found.setdefault(path + below.rstrip("/"), child)

    if _is_link(_owner(obj)):
        add("", _owner(obj))
    else:
        for held, link in discover(obj, _is_link).items():
            add(_path(held), link)
    for path, link in list(found.items()):  # links that are attributes and not children
        for held, item in discover(dict(vars(link)), _is_link).items():
            if all(item is not known for known in found.values()):
                add(path + _path(held), item)
    return found


def _path(dotted: str) -> str:
    return "/" + dotted.replace(".", "/")


def _check_device(model: Model, links: Any) -> None:
    for link in links:
        if link.xp is not np:
            raise ModelError(
                f"{model.name} (chainer) is on {link.device}: parity reads Chainer models on the "
                "CPU. Copy it there first: model.to_device('@numpy')."
            )


def _dtype_of(links: Any) -> Any:
    """The floating dtype of the model's parameters, for its inputs."""
    for link in links:
        for parameter in link.params(include_uninit=False):
            if parameter.dtype.kind == "f":
                return parameter.dtype
    return chainer.get_dtype()


def _as_input(array: Array, dtype: Any) -> Any:
    """A Variable, so that operators on it are seen; integers stay arrays, as indices must be."""
    if array.dtype.kind == "f":
        return chainer.Variable(array.astype(dtype))
    return array.copy()


def _signature_of(obj: Any) -> Callable[..., Any]:
    """What says how a model is called: a link's `forward` where it has no `__call__` of its own."""
    if _is_link(obj) and type(obj).__call__ is chainer.Link.__call__ and hasattr(obj, "forward"):
        forward: Callable[..., Any] = obj.forward
        return forward
    return obj  # type: ignore[no-any-return]


def _array(item: Any) -> Array:
    return np.asarray(item.array if isinstance(item, chainer.Variable) else item)


@contextmanager
def _kept(links: Any) -> Iterator[None]:
    """Puts back what a call changes in links and random generators.

    Running statistics are changed in place, recurrent states by assignment. What was not yet
    initialised stays as the first call made it.
    """
    attributes = [(link, dict(vars(link))) for link in links]
    contents = [
        (array, array.copy())
        for link, _ in attributes
        for array in (vars(link)[key] for key in link._persistent)
        if isinstance(array, np.ndarray)
    ]
    try:
        with preserved_random_state():
            yield
    finally:
        for array, content in contents:
            array[...] = content
        for link, before in attributes:
            now = vars(link)
            for key in set(now) - set(before) - link._persistent - link._params:
                if not _is_link(now[key]):
                    del now[key]
            for key, item in before.items():
                if now.get(key) is not item and not (item is None and key in link._persistent):
                    now[key] = item


class _Watch:
    """Tells the recorder of each function that is applied, and of the arrays that enter."""

    def __init__(self, recorder: Recorder, links: Mapping[str, Any], obj: object) -> None:
        self.recorder = recorder
        self.outside: list[str] = []  # lines that first use an array of the model's NumPy code
        self._links = links
        self._obj = obj
        self._names: dict[int, tuple[Array, LeafKind, str]] = {}
        self._drawn = _random_state()

    @contextmanager
    def applying(self) -> Iterator[None]:
        original = chainer.FunctionNode.apply
        thread = threading.get_ident()

        def apply(node: Any, inputs: Sequence[Any]) -> Any:
            if threading.get_ident() != thread:
                return original(node, inputs)
            _check_arrays(node, inputs)
            before = _copy(node)
            held = {  # conditions, masks: as they may be values of the tape, by identity
                key: item
                for key, item in vars(_state(node)).items()
                if isinstance(item, np.ndarray)
            }
            state = _random_state() if _may_draw(node) else None
            outputs = original(node, inputs)
            before._input_layouts = node._input_layouts
            drew = state is not None and state != _random_state()
            self._add(before, [_array(item) for item in inputs], held, outputs, drew)
            if drew:
                self._drawn = _random_state()
            return outputs

        chainer.FunctionNode.apply = apply
        try:
            yield
        finally:
            chainer.FunctionNode.apply = original

    def _add(
        self, node: Any, inputs: list[Array], held: Mapping[str, Array], outputs: Any, drew: bool
    ) -> None:
        arrays = [item.array for item in outputs]
        # nothing new: an identity, or a function such as F.forget that applied others
        if all(array is None or self.recorder.find(array) is not None for array in arrays):
            return
        kept = tuple(array is not None for array in arrays)
        kind = node._impl_name
        ids = [self.value(array) for array in inputs]
        held = {key: item for key, item in held.items() if self.recorder.find(item) is not None}
        ids += [self.value(array) for array in held.values()]
        role: Role = "compute"
        if drew:
            role = "random"
        elif kind in _MOVES and type(node).__module__.startswith("chainer."):
            role = "move"
        self.recorder.op(
            kind,
            ids,
            [
                (array, array.shape, _dtype_name(array.dtype))
                for array in arrays
                if array is not None
            ],
            role=role,
            attributes=_attributes(node),
            call=_Call(node, tuple(held), kept, _settings()),
        )

    def value(self, array: Array) -> int:
        """The id of an array; one not seen yet becomes a leaf, by its name in the model."""
        known = self.recorder.find(array)
        if known is not None:
            return known
        kind, name = self._name(array)
        drawn = _random_state()
        if drawn != self._drawn:
            self._drawn = drawn
            if not name:
                output = (array, array.shape, array.dtype.name)
                return self.recorder.op("numpy.random", (), [output], role="random").outputs[0]
        if not name and array.size > 1 and (array != array.flat[0]).any():
            self.outside.append(self.recorder.site("").source or "its output")
        return self.recorder.leaf(array, kind, name, array.shape, array.dtype.name)

    def _name(self, array: Array) -> tuple[LeafKind, str]:
        found = self._names.get(id(array))
        if found is None or found[0] is not array:  # parameters may just have been initialised
            self._names = {id(item[0]): item for item in _named_arrays(self._links, self._obj)}
            found = self._names.get(id(array))
        return (found[1], found[2]) if found else ("constant", "")


def _check_arrays(node: Any, inputs: Sequence[Any]) -> None:
    for item in inputs:
        array = item.array if isinstance(item, chainer.Variable) else item
        if array is not None and not isinstance(array, np.ndarray):
            raise ModelError(
                f"{node._impl_name} got {type(array).__module__}.{type(array).__name__}: parity "
                "reads Chainer models that run on NumPy. Copy the model to the CPU with "
                "model.to_device('@numpy') and set chainer.config.use_ideep = 'never'."
            )


def _named_arrays(links: Mapping[str, Any], obj: object) -> Iterator[tuple[Array, LeafKind, str]]:
    """Arrays that a model holds; where one has two names, the last is the one that counts."""
    if not _is_link(_owner(obj)):
        for held, item in discover(obj, _is_array).items():
            yield _array(item), "constant", _path(held)
    for path, link in links.items():
        own = {
            key: item
            for key, item in vars(link).items()
            if not _is_link(item) and key not in link._params and key not in link._persistent
        }
        for held, item in discover(own, _is_array).items():
            yield _array(item), "constant", path + _path(held)
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
        for key, item in vars(_state(node)).items()
        if not key.startswith("_") and _is_simple(item)
    }


def _is_simple(item: object) -> bool:
    if isinstance(item, (tuple, list)):
        return all(part is None or part is Ellipsis or _is_simple(part) for part in item)
    return isinstance(item, (bool, int, float, str, np.generic, slice))


def _settings() -> dict[str, Any]:
    return {key: getattr(chainer.config, key) for key in _SETTINGS}


def _may_draw(node: Any) -> bool:
    return node._impl_name in _DRAWS or not type(_state(node)).__module__.startswith("chainer.")


def _random_state() -> tuple[Any, ...]:
    state: Any = np.random.get_state()
    _, key, *rest = state
    return (key.tobytes(), *rest)


# --- tensors -----------------------------------------------------------------------------------


def tensors(obj: object) -> list[Tensor]:
    """What is not initialised yet has no shape and is left out: run the model first."""
    names: dict[int, list[str]] = {}
    held: dict[int, tuple[Array, LeafKind, bool, float | None]] = {}
    for path, link in _links(obj).items():
        for key in sorted(link._params) + sorted(link._persistent):
            item = vars(link)[key]
            array = item.array if isinstance(item, chainer.Variable) else item
            if isinstance(array, np.ndarray):
                kind: LeafKind = "parameter" if key in link._params else "buffer"
                rule = getattr(item, "update_rule", None)  # None without an optimizer
                trains = kind == "parameter" and (rule is None or rule.enabled)
                kept = link.decay if key in ("avg_mean", "avg_var") else None
                held.setdefault(id(array), (array, kind, trains, kept))
                names.setdefault(id(array), []).append(f"{path}/{key}")
    return [_tensor(tuple(names[key]), *held[key]) for key in held]


def _tensor(
    names: tuple[str, ...], array: Array, kind: LeafKind, trains: bool, kept: float | None
) -> Tensor:
    def write(contents: Array) -> None:
        array[...] = contents

    name = array.dtype.name
    return Tensor(names, array.shape, name, kind, trains, lambda: array, write, kept, array)


# --- replay ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Call:
    """A function as it was before it ran.

    Attributes:
        held: attributes of the node that are values of the tape: the last of the op's inputs.
        kept: which of its outputs are arrays; the others are None.
    """

    node: Any
    held: tuple[str, ...]
    kept: tuple[bool, ...]
    settings: dict[str, Any]


def execute(op: Op, arguments: Sequence[Native], precision: Precision) -> list[Native]:
    """Runs the forward pass of a copy of the node.

    Raises:
        TypeError: in float64 the function gave something narrower.
    """
    call: _Call = op.call
    node = _copy(call.node)
    count = len(arguments) - len(call.held)
    for key, array in zip(call.held, arguments[count:], strict=True):
        setattr(_state(node), key, array.copy())
    if precision and op.kind == "Cast" and np.dtype(node.type).kind == "f":
        node.type = np.dtype(precision)
    with ExitStack() as stack:
        for key, item in call.settings.items():
            if getattr(chainer.config, key) != item:
                stack.enter_context(chainer.using_config(key, item))
        outputs = node.forward(tuple(arguments[:count]))
    results = [array for array, kept in zip(outputs, call.kept, strict=True) if kept]
    for result in results:
        if precision and result.dtype.kind == "f" and result.dtype != precision:
            raise TypeError(f"{op.kind} gives {result.dtype} for {precision}")
    return results


def _copy(node: Any) -> Any:
    """A node of the same settings; what its forward pass keeps stays its own."""
    copied = object.__new__(type(node))
    vars(copied).update(
        (key, item.copy() if isinstance(item, np.ndarray) else item)
        for key, item in vars(node).items()
    )
    if isinstance(node, chainer.FunctionAdapter):
        copied._function = _copy(node.function)
        copied._function._node = weakref.ref(copied)
        copied._function._owned_node = None
        copied._weak_function = None
    return copied


def _state(node: Any) -> Any:
    """The object that has a node's settings: an old-style function's are its own."""
    return node.function if isinstance(node, chainer.FunctionAdapter) else node


def cast(array: Native, precision: Precision) -> Native:
    if precision is not None and array.dtype.kind == "f":
        return array.astype(precision)
    return array


def to_numpy(array: Native) -> Array:
    return np.asarray(array)


def from_numpy(array: Array) -> Native:
    return np.asarray(array)


# --- versions ----------------------------------------------------------------------------------


def to_bfloat16(array: Native) -> Native:
    return array  # Chainer has no bfloat16


def versions() -> dict[str, str]:
    return {
        "chainer": chainer.__version__,
        "numpy": np.__version__,
        "dtype": str(chainer.get_dtype()),
        "use_ideep": str(chainer.config.use_ideep),
        "ideep": str(chainer.backends.intel64.is_ideep_available()),
    }


_ADAPTER = sys.modules[__name__]
