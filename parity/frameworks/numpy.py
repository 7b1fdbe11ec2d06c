"""NumPy callables: only what goes in and comes out can be seen; said to be so."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from typing import cast as type_cast

import numpy as np

from parity import outputs as structure
from parity.errors import NoFloat64
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
    result = run(model, lambda: model.obj(*args, **kwargs))
    outputs = structure.flatten(result, lambda _: False)
    if not outputs:
        raise no_tensors(model, result)
    arrays = [np.asarray(array) for array in outputs.values()]
    op = recorder.op(
        model.name,
        ids.values(),
        [(array, array.shape, array.dtype.name) for array in arrays],
        call=(model.obj, inputs),
    )
    recorder.caveats.append(
        f"{model.name} is a NumPy function: only its outputs are compared, nothing inside it"
    )
    return recorder.tape(model.name, ids, dict(zip(outputs, op.outputs, strict=True)))


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
    """Calls the function again.

    Raises:
        NoFloat64: it raises where it is given float64.
    """
    function, inputs = op.call
    replaced = iter(arguments)

    def refill(structure_: Any) -> Any:
        if isinstance(structure_, dict):
            return {key: refill(item) for key, item in structure_.items()}
        if isinstance(structure_, tuple):
            return tuple(refill(item) for item in structure_)
        return next(replaced)

    args, kwargs = bind(function, refill(inputs))
    try:
        found = function(*args, **kwargs)
    except Exception as error:  # the user's code may say anything to float64
        if precision is None:
            raise
        raise NoFloat64(f"{type(error).__name__}: {error}") from error
    result = structure.flatten(found, lambda _: False)
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
