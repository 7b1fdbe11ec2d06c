"""NumPy callables: only what goes in and comes out can be seen; said to be so."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from typing import cast as type_cast

import numpy as np

from parity import outputs as structure
from parity.draws.host import Host
from parity.frameworks.running import no_tensors, run
from parity.model import bind, flatten_inputs
from parity.recorder import Recorder
from parity.tape import Array, Native, Op, Precision, Tape
from parity.weights.tensors import Tensor

if TYPE_CHECKING:
    from parity.frameworks import Framework
    from parity.model import Inputs, Model

name = "numpy"

# --- recognise ---------------------------------------------------------------------------------


def recognises(obj: object) -> bool:
    return isinstance(obj, np.ufunc)


# --- record ------------------------------------------------------------------------------------


def record(model: Model, inputs: Inputs) -> Tape:
    """Calls a function over arrays; the tape holds one operation, the call itself."""
    recorder = Recorder(_ADAPTER, lambda _: False, {})
    ids = {
        path: recorder.leaf(array, "input", path, array.shape, array.dtype.name)
        for path, array in flatten_inputs(inputs).items()
    }
    args, kwargs = bind(model.obj, inputs)
    with recorder.host.watching(model.obj):
        result = run(model, lambda: model.obj(*args, **kwargs))
    outputs = structure.flatten(result, lambda _: False)
    if not outputs:
        raise no_tensors(model, result)
    noise = [recorder.draw_by_numpy(drawn) for drawn in recorder.host.draws]
    arrays = [np.asarray(array) for array in outputs.values()]
    op = recorder.op(
        model.name,
        [*ids.values(), *noise],
        [(array, array.shape, array.dtype.name) for array in arrays],
        call=(model.obj, inputs, len(noise)),
    )
    recorder.caveats.append(
        f"{model.name} is a NumPy function: only its outputs are compared, nothing inside it"
    )
    tape = recorder.tape(model.name, ids, dict(zip(outputs, op.outputs, strict=True)))
    again = tape.replay()
    if not all(np.array_equal(again.array(value), tape.recorded[value]) for value in op.outputs):
        tape.lost_draws.append(
            f"{model.name} gives other outputs when it runs again: it draws random numbers that "
            "cannot be seen, or keeps state. Draw with numpy.random or a numpy Generator that the "
            "function holds."
        )
    return tape


def plain(model: Model) -> Callable[[Inputs], dict[str, Array]]:
    """The function itself; see `Framework.plain`."""

    def outputs(inputs: Inputs) -> dict[str, Array]:
        args, kwargs = bind(model.obj, inputs)
        result = run(model, lambda: model.obj(*args, **kwargs))
        return {path: np.array(a) for path, a in structure.flatten(result, lambda _: False).items()}

    return outputs


# --- tensors -----------------------------------------------------------------------------------


def tensors(obj: object) -> list[Tensor]:
    """None: nothing inside a NumPy function can be seen."""
    return []


# --- replay ------------------------------------------------------------------------------------


def execute(op: Op, arguments: Sequence[Native], precision: Precision) -> list[Native]:
    """Calls the function again; what it draws is what it drew."""
    function, inputs, draws = op.call
    count = len(arguments) - draws
    replaced = iter(arguments[:count])

    def refill(structure_: Any) -> Any:
        if isinstance(structure_, dict):
            return {key: refill(item) for key, item in structure_.items()}
        if isinstance(structure_, tuple):
            return tuple(refill(item) for item in structure_)
        return next(replaced)

    args, kwargs = bind(function, refill(inputs))
    with Host(arguments[count:]).watching(function) if draws else contextlib.nullcontext():
        result = structure.flatten(function(*args, **kwargs), lambda _: False)
    return [np.asarray(array) for array in result.values()]


def cast(array: Native, precision: Precision) -> Native:
    if precision is not None and np.asarray(array).dtype.kind == "f":
        return np.asarray(array).astype(precision)
    return array


def to_numpy(array: Native) -> Array:
    return np.asarray(array)


def from_numpy(array: Array) -> Native:
    return array


def to_bfloat16(array: Native) -> Native:
    return array  # nor has NumPy


def versions() -> dict[str, str]:
    return {"numpy": np.__version__}


_ADAPTER = type_cast("Framework", sys.modules[__name__])
