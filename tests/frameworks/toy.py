"""A small array library, and all that parity has to know of it: its adapter, below.

The library stands for any framework that parity has not seen: it has arrays with kernels of its own
names, layers that hold weights, and a hook by which it reports each kernel that runs.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# --- the library ---------------------------------------------------------------------------------

KERNELS: dict[str, Callable[..., np.ndarray]] = {
    "plus": np.add,
    "minus": np.subtract,
    "times": np.multiply,
    "over": np.divide,
    "dot": np.matmul,
    "ramp": lambda x: np.maximum(x, 0),
    "squash": np.tanh,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "exponential": np.exp,
    "root": np.sqrt,
    "boltzmann": lambda x, axis: _boltzmann(x, axis),
    "total": lambda x, axis, keepdims: x.sum(axis, keepdims=keepdims),
    "average": lambda x, axis, keepdims: x.mean(axis, keepdims=keepdims),
    "shaped": lambda x, shape: x.reshape(shape),
    "turned": lambda x, axes: x.transpose(axes),
    "joined": lambda *arrays, axis: np.concatenate(arrays, axis),
}
# Called after each kernel with its name, what it was given, its settings, and what it gave.
OBSERVERS: list[Callable[[str, Sequence[Any], Mapping[str, Any], Arr], None]] = []


def _boltzmann(x: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


class Arr:
    """An array; every operation gives another one."""

    __slots__ = ("data",)

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def __add__(self, other: Any) -> Arr:
        return apply("plus", self, other)

    def __sub__(self, other: Any) -> Arr:
        return apply("minus", self, other)

    def __mul__(self, other: Any) -> Arr:
        return apply("times", self, other)

    def __truediv__(self, other: Any) -> Arr:
        return apply("over", self, other)

    def __matmul__(self, other: Any) -> Arr:
        return apply("dot", self, other)

    __radd__, __rmul__ = __add__, __mul__

    def ramp(self) -> Arr:
        return apply("ramp", self)

    def squash(self) -> Arr:
        return apply("squash", self)

    def logistic(self) -> Arr:
        return apply("logistic", self)

    def exponential(self) -> Arr:
        return apply("exponential", self)

    def root(self) -> Arr:
        return apply("root", self)

    def boltzmann(self, axis: int = -1) -> Arr:
        return apply("boltzmann", self, axis=axis)

    def total(self, axis: int = -1, keepdims: bool = False) -> Arr:
        return apply("total", self, axis=axis, keepdims=keepdims)

    def average(self, axis: int = -1, keepdims: bool = False) -> Arr:
        return apply("average", self, axis=axis, keepdims=keepdims)

    def shaped(self, *shape: int) -> Arr:
        return apply("shaped", self, shape=shape)

    def turned(self, *axes: int) -> Arr:
        return apply("turned", self, axes=axes)


def joined(*arrays: Arr, axis: int = -1) -> Arr:
    return apply("joined", *arrays, axis=axis)


def apply(kernel: str, *operands: Any, **settings: Any) -> Arr:
    """Runs a kernel on arrays and numbers."""
    result = Arr(compute(kernel, operands, settings))
    for observer in OBSERVERS:
        observer(kernel, operands, settings, result)
    return result


def compute(kernel: str, operands: Sequence[Any], settings: Mapping[str, Any]) -> np.ndarray:
    given = [one.data if isinstance(one, Arr) else one for one in operands]
    return KERNELS[kernel](*given, **settings)


class Layer:
    """Holds arrays and other layers as attributes."""

    def __call__(self, *arrays: Arr) -> Any:
        return self.forward(*arrays)

    def forward(self, *arrays: Arr) -> Any:
        raise NotImplementedError

    def below(self, path: str = "") -> Iterator[tuple[str, Layer]]:
        yield path, self
        for key, item in vars(self).items():
            if isinstance(item, Layer):
                yield from item.below(f"{path}.{key}" if path else key)

    def arrays(self) -> Iterator[tuple[str, Arr]]:
        for path, layer in self.below():
            for key, item in vars(layer).items():
                if isinstance(item, Arr):
                    yield f"{path}.{key}" if path else key, item


class Dense(Layer):
    """x @ weight + bias."""

    def __init__(self, weight: np.ndarray, bias: np.ndarray | None = None) -> None:
        self.weight = Arr(weight)
        self.bias = None if bias is None else Arr(bias)

    def forward(self, x: Arr) -> Arr:  # type: ignore[override]
        product = x @ self.weight
        return product if self.bias is None else product + self.bias


# --- the adapter ---------------------------------------------------------------------------------

from parity.frameworks import invoke  # noqa: E402
from parity.frameworks.invoke import no_tensors, run  # noqa: E402
from parity.frameworks.protocol import Traits  # noqa: E402
from parity.inputs.binding import bound  # noqa: E402
from parity.keeping import left_as_it_was  # noqa: E402
from parity.keeping.leaf import Leaf, Put, StateRules  # noqa: E402
from parity.model import flatten_inputs, map_arrays  # noqa: E402
from parity.operations import table  # noqa: E402
from parity.outputs import flatten as structure  # noqa: E402
from parity.recorder import Recorder, discover  # noqa: E402
from parity.tape import Op, Precision, Tape  # noqa: E402
from parity.weights.tensors import Tensor  # noqa: E402

name = "toy"
WORDS = table(
    {
        "add": "plus",
        "subtract": "minus",
        "multiply": "times",
        "divide": "over",
        "matmul": "dot",
        "relu": "ramp",
        "tanh": "squash",
        "sigmoid": "logistic",
        "exp": "exponential",
        "sqrt": "root",
        "softmax": "boltzmann",
        "sum": "total",
        "mean": "average",
        "reshape": "shaped",
        "transpose": "turned",
        "concatenate": "joined",
    }
)
_MOVES = ("shaped", "turned", "joined")  # the same values elsewhere


def recognises(obj: object) -> bool:
    return isinstance(obj, Layer)


def signed(obj: Any) -> Any:
    return obj.forward if isinstance(obj, Layer) else obj


other_random_state = invoke.other_random_state  # it draws nothing by itself


def _layers(obj: Any) -> dict[str, Layer]:
    """Layers by path: those of the model, or those that a function holds."""
    held = {"": obj} if isinstance(obj, Layer) else discover(obj, recognises)
    return {path: layer for start, root in held.items() for path, layer in root.below(start)}


@dataclass
class _Call:
    """What runs an operation again.

    Attributes:
        fixed: of each operand the number that it is, or None for the next of the inputs.
    """

    kernel: str
    fixed: tuple[Any, ...]
    settings: Mapping[str, Any]


class _Watcher:
    """Puts each kernel that runs on a tape."""

    def __init__(self, recorder: Recorder, weights: Mapping[int, str]) -> None:
        self._recorder, self._weights = recorder, weights

    def value(self, array: Any) -> int:
        array = array if isinstance(array, Arr) else Arr(array)
        known = self._recorder.find(array)
        if known is not None:
            return known
        path = self._weights.get(id(array), "")
        kind = "parameter" if path else "constant"
        return self._recorder.leaf(array, kind, path, array.shape, array.dtype.name)

    def __call__(
        self, kernel: str, operands: Sequence[Any], settings: Mapping[str, Any], result: Arr
    ) -> None:
        fixed = tuple(None if isinstance(one, Arr) else one for one in operands)
        numbers = [one for one in fixed if one is not None]
        self._recorder.op(
            kernel,
            [self.value(one) for one in operands if isinstance(one, Arr)],
            [(result, result.shape, result.dtype.name)],
            role="move" if kernel in _MOVES else "compute",
            attributes={**settings, **({"scalar": numbers[0]} if numbers else {})},
            call=_Call(kernel, fixed, settings),
        )


@contextlib.contextmanager
def _observed(watcher: _Watcher) -> Iterator[None]:
    OBSERVERS.append(watcher)
    try:
        yield
    finally:
        OBSERVERS.remove(watcher)


def record(model: Any, inputs: Any) -> Tape:
    layers = _layers(model.obj)
    recorder = Recorder(_ADAPTER, recognises, {id(one): path for path, one in layers.items()})
    given = map_arrays(Arr, inputs)
    ids = {
        path: recorder.leaf(one, "input", path, one.shape, one.dtype.name)
        for path, one in flatten_inputs(given).items()
    }
    args, kwargs = bound(model, given)
    watcher = _Watcher(recorder, {id(one): path for path, one in _weights(model.obj).items()})
    with left_as_it_was(model.obj), recorder.host.watching(model.obj), _observed(watcher):
        result = run(model, lambda: model.obj(*args, **kwargs))
        outputs = structure.flatten(result, _is_array)
    found = {path: recorder.output(item, watcher.value) for path, item in outputs.items()}
    if outputs.none_of_its_own(recorder.ops):
        raise no_tensors(model, result)
    return recorder.tape(model.name, ids, found, outputs)


def plain(model: Any, as_called: bool = False) -> Any:
    def outputs(inputs: Any) -> dict[str, np.ndarray]:
        args, kwargs = bound(model, map_arrays(Arr, inputs))
        with left_as_it_was(model.obj):
            result = run(model, lambda: model.obj(*args, **kwargs))
            return structure.flatten(result, _is_array).as_arrays(to_numpy)

    return outputs


def _is_array(thing: object) -> bool:
    return isinstance(thing, Arr)


def _weights(obj: Any) -> dict[str, Arr]:
    return {
        f"{path}.{key}" if path else key: item
        for path, layer in _layers(obj).items()
        for key, item in vars(layer).items()
        if isinstance(item, Arr)
    }


def tensors(obj: object) -> list[Tensor]:
    return [_tensor(path, array) for path, array in _weights(obj).items()]


def _tensor(path: str, array: Arr) -> Tensor:
    def write(contents: np.ndarray) -> None:
        array.data = np.array(contents, array.dtype)

    read = lambda: array.data  # noqa: E731
    dtype = array.dtype.name
    return Tensor((path,), array.shape, dtype, "parameter", True, read, write, None, array)


def execute(op: Op, arguments: Sequence[Arr], precision: Precision) -> list[Arr]:
    given = iter(arguments)
    operands = [next(given) if one is None else one for one in op.call.fixed]
    return [Arr(compute(op.call.kernel, operands, op.call.settings))]


def cast(array: Arr, precision: Precision) -> Arr:
    wider = precision is not None and array.dtype.kind == "f"
    return Arr(array.data.astype(precision)) if wider else array


def to_numpy(array: Any) -> np.ndarray:
    return array.data if isinstance(array, Arr) else np.asarray(array)


def from_numpy(array: np.ndarray) -> Arr:
    return Arr(array)


def versions() -> dict[str, str]:
    return {"toy": "1.0"}


def _leaf(thing: Any) -> Leaf | None:
    return Leaf(lambda: _contents(thing)) if isinstance(thing, Arr) else None


def _contents(array: Arr) -> Put:
    before, copy = array.data, array.data.copy()

    def put_back() -> None:
        array.data = before
        before[...] = copy

    return put_back


TRAITS = Traits(state=StateRules(holders=lambda: (Layer,), leaf=_leaf))
_ADAPTER: Any = sys.modules[__name__]
