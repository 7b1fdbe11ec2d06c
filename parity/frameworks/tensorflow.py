"""TensorFlow and Keras: recorded eagerly through op callbacks, replayed op by op.

The bodies of `tf.function`s are run eagerly while recording, so that every operation is seen, with
its line. A graph that has no Python body any more (a restored SavedModel, a concrete function) is
one operation. Variables are leaves; their reads are the leaf itself.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.eager.execute import quick_execute
from tensorflow.python.framework import op_callbacks, ops
from tensorflow.python.framework.config import is_op_determinism_enabled
from tensorflow.python.util._pywrap_util_port import IsMklEnabled

from parity.code_owners import is_without_object
from parity.errors import InputError, ModelError, NoFloat64
from parity.frameworks import tensorflow_ops as table
from parity.frameworks import tensorflow_state as state
from parity.frameworks.invoke import no_tensors, run, takes_as_given
from parity.frameworks.invoke import other_random_state as other_state_of_numpy
from parity.frameworks.keras_call import keras_arguments
from parity.frameworks.tensorflow_call import Call
from parity.frameworks.tensorflow_traits import TRAITS as TRAITS
from parity.frameworks.tensorflow_watcher import Watcher
from parity.frameworks.tensorflow_words import WORDS as WORDS
from parity.frameworks.threads import followed
from parity.inputs.binding import Arguments, bound
from parity.keeping import left_as_it_was
from parity.model import flatten_inputs, map_arrays
from parity.outputs import flatten as structure
from parity.recorder import Recorder
from parity.tape import Array, Native, Op, Precision, Tape
from parity.weights.tensors import Tensor

if TYPE_CHECKING:
    from parity.model import Inputs, Model

name = "tensorflow"

# --- recognise -----------------------------------------------------------------------------------


def recognises(obj: object) -> bool:
    """Keras models and layers, tf.Modules, tf.functions, and what `tf.saved_model.load` returns."""
    functions = (tf.types.experimental.PolymorphicFunction, tf.types.experimental.ConcreteFunction)
    if isinstance(obj, (*state.keras_layers(), tf.Module, *functions)):
        return True
    return isinstance(obj, tf.__internal__.tracking.AutoTrackable) and (
        callable(obj) or hasattr(obj, "signatures")
    )


def signed(obj: Any) -> Any:
    """See `Framework.signed`."""
    if isinstance(obj, state.keras_layers()):
        return obj.call
    return obj if callable(obj) else getattr(obj, "signatures", {}).get("serving_default")


# --- record --------------------------------------------------------------------------------------


def record(model: Model, inputs: Inputs) -> Tape:
    """Runs a model once, eagerly, and leaves it as it was.

    A model that is not built yet is built by it, as by any first call.

    Raises:
        ModelError: the model raised, returned no tensors, or runs in a TensorFlow 1 graph.
    """
    if not tf.executing_eagerly():
        raise ModelError(
            f"{model.name}: eager execution is off. Remove tf.compat.v1.disable_eager_execution() "
            "(RLlib: import tensorflow before ray), and compare outside `graph.as_default()`."
        )
    tape, built = _record(model, inputs)
    if built:  # its first call made its variables: another one shows what it computes with them
        tape, _ = _record(model, inputs)
    return tape


def _record(model: Model, inputs: Inputs) -> tuple[Tape, bool]:
    """The tape of one run, and whether variables were made by it."""
    function = _callable(model)
    layers = (*state.keras_layers(), tf.Module)
    held = state.holdings(model.obj)
    root = model.obj if isinstance(model.obj, layers) else None

    def is_layer(thing: object) -> bool:
        return isinstance(thing, layers) and id(thing) not in held.inner

    recorder = Recorder(_ADAPTER, is_layer, held.layers, root, separator="/")
    state.give_own_memory(held)
    before = state.snapshot(held)
    watcher = Watcher(recorder, before)

    tensors = _given(model, held, inputs)
    ids = {
        path: watcher.leaf(tensor, "input", path)
        for path, tensor in flatten_inputs(tensors).items()
    }
    args, kwargs = _arguments(model, tensors)

    def call() -> tuple[Any, structure.Outputs, dict[str, int]]:
        with _shorter_messages():
            result = function(*args, **kwargs)
        flat = structure.flatten(result, _is_tensor)
        found = {path: recorder.output(item, watcher.value) for path, item in flat.items()}
        return result, flat, found

    host = recorder.host.watching(model.obj)
    kept = left_as_it_was(model.obj), state.as_made(watcher)
    with kept[0], kept[1], state.eagerly() as called, state.uncollected(), host, _watched(watcher):
        result, flat, outputs = run(model, call)
    if flat.none_of_its_own(recorder.ops):
        raise no_tensors(model, result)
    watcher.name_variables(held)
    for path, value in outputs.items():
        producer = recorder.values[value].op
        if ids and (producer < 0 or recorder.ops[producer].static) and value not in ids.values():
            recorder.caveats.append(
                f"output {path} of {model.name} does not depend on its inputs, "
                "or does so through NumPy, where it cannot be followed"
            )
    tape = recorder.tape(model.name, ids, outputs, flat)
    return dataclasses.replace(tape, traced=bool(called)), bool(watcher.initial)


def plain(model: Model, as_called: bool = False) -> Callable[[Inputs], dict[str, Array]]:
    """Runs the model without callbacks; see `Framework.plain`."""
    function = _callable(model)
    held = state.holdings(model.obj)

    def outputs(inputs: Inputs) -> dict[str, Array]:
        args, kwargs = _arguments(model, _given(model, held, inputs))

        def call() -> dict[str, Array]:
            with _shorter_messages():
                result = function(*args, **kwargs)
            flat = structure.flatten(result, _is_tensor)
            return flat.as_arrays(lambda item: to_numpy(tf.convert_to_tensor(item)))

        eagerly = contextlib.nullcontext() if as_called else state.eagerly()
        with left_as_it_was(model.obj), eagerly:
            return run(model, call)

    return outputs


def _given(model: Model, held: state.Holdings, inputs: Inputs) -> Any:
    """Inputs as tensors: in float32, or where the model takes none in the dtype of its weights."""
    floating = state.float_dtype(model.obj, held)

    def tensors(floating: Any) -> Any:
        return map_arrays(lambda array: _input(array, floating), inputs)

    def call() -> None:
        function = _callable(model)
        args, kwargs = _arguments(model, tensors(tf.float32))
        with _shorter_messages(), left_as_it_was(model.obj), state.eagerly():
            function(*args, **kwargs)

    layers = state.keras_layers()  # which cast their inputs themselves
    if floating != tf.float32 and not isinstance(model.obj, layers):
        floating = tf.float32 if takes_as_given(model, call) else floating
    return tensors(floating)


@contextlib.contextmanager
def other_random_state(turn: int) -> Iterator[None]:
    """See `Framework.other_random_state`."""
    with state.other_seeds(turn), other_state_of_numpy(turn):
        yield


def _callable(model: Model) -> Callable[..., Any]:
    if is_without_object(model.obj):
        raise ModelError(
            f"the object whose method {model.name} is, is gone: a tf.function does not keep it. "
            "Hold it in a variable as long as you compare."
        )
    if callable(model.obj):
        return model.obj  # type: ignore[no-any-return]
    signatures = dict(getattr(model.obj, "signatures", {}))
    if "serving_default" in signatures:
        return signatures["serving_default"]  # type: ignore[no-any-return]
    raise ModelError(
        f"{model.name} cannot be called; hand in a method of it, or a function that calls it"
        + (f", or one of its signatures: {', '.join(signatures)}." if signatures else ".")
    )


def _input(array: Array, floating: Any) -> Native:
    try:
        tensor = tf.constant(np.ascontiguousarray(array) if array.ndim else array)
    except ValueError as error:  # float128
        raise InputError(f"TensorFlow has no {array.dtype}: give inputs as float64.") from error
    return tf.cast(tensor, floating) if array.dtype.kind == "f" else tensor


def _arguments(model: Model, tensors: Any) -> Arguments:
    if isinstance(model.obj, state.keras_layers()):
        return keras_arguments(model, tensors)
    return bound(model, tensors)


def _is_tensor(thing: object) -> bool:
    return isinstance(thing, (tf.Tensor, tf.Variable, *state.keras_variables()))


@contextlib.contextmanager
def _shorter_messages() -> Iterator[None]:
    """Takes the name of the device's function off TensorFlow's messages."""
    try:
        yield
    except tf.errors.OpError as error:
        error._message = re.sub(r"^\{\{.*?\}\} ", "", error.message).split(" name: ")[0]
        raise


@contextlib.contextmanager
def _watched(watcher: Watcher) -> Iterator[None]:
    base: Any = ops._EagerTensorBase
    original = base._numpy

    def numpy(tensor: Native) -> Any:  # .numpy(), float(tensor) and np.asarray(tensor) end here
        found = original(tensor)
        watcher.host_reads(tensor, found)
        return found

    op_callbacks.add_op_callback(watcher)
    base._numpy = numpy
    try:
        with followed(watcher.in_thread):
            yield
    finally:
        watcher.done = True
        base._numpy = original
        op_callbacks.remove_op_callback(watcher)


# --- tensors -------------------------------------------------------------------------------------


def tensors(obj: object) -> list[Tensor]:
    """Variables of numbers; the states of random generators are none of a model's weights."""
    found: dict[int, Tensor] = {}
    for held in state.holdings(obj).variables:
        numbers = held.variable.dtype.is_floating or held.variable.dtype.is_complex
        if (numbers or held.trainable) and not held.state:
            found.setdefault(id(held.variable.handle), _tensor(held))
    return list(found.values())


def _tensor(held: state.Held) -> Tensor:
    variable = held.variable

    def write(array: Array) -> None:
        variable.assign(tf.cast(from_numpy(array), variable.dtype))

    return Tensor(
        (held.name,),
        tuple(variable.shape),
        variable.dtype.name,
        "parameter" if held.trainable else "buffer",
        held.trainable,
        lambda: to_numpy(variable.read_value()),
        write,
        held.kept,
        variable.handle,
    )


# --- replay --------------------------------------------------------------------------------------


def execute(op: Op, arguments: Sequence[Native], precision: Precision) -> list[Native]:
    """Runs the kernel again; in float64 the double kernel, or a composition where there is none.

    Raises:
        NoFloat64: for a graph function, or a kernel that does not take it or rounds to less.
    """
    call: Call = op.call
    if "Dequeue" in call.kind:
        raise NoFloat64("what it takes from a queue is gone: it would wait for more")
    known = table.facts(call.kind)
    given: Iterator[Native]
    if precision is None:
        given = map(_as_recorded, arguments, call.dtypes)
        inputs = [next(given) if fixed is None else fixed for fixed in call.arguments]
        results = _run(call, inputs, call.attributes)
    else:
        if known is None or known.holds_graph:
            raise NoFloat64(f"{op.attributes['function']} is a graph: it runs as recorded only")
        given = (cast(argument, precision) for argument in arguments)
        inputs = [next(given) if fixed is None else fixed for fixed in call.arguments]
        compose = table.COMPOSITIONS.get(call.kind)
        if compose:
            results = compose(
                inputs, dict(zip(call.attributes[::2], call.attributes[1::2], strict=True))
            )
        else:
            if call.wide is None:
                call.wide = table.widened(call.attributes, known.types)
            try:
                results = _run(call, inputs, call.wide)
            except tf.errors.OpError as error:  # of a kernel, not of parity
                raise NoFloat64(error.message.split("\n")[0]) from error
        table.check_wide(results, op.kind)
    return [results[index] for index in call.kept]


def _run(call: Call, inputs: list[Native], attributes: tuple[Any, ...]) -> list[Native]:
    given = call.kind, call.outputs, inputs, attributes, context.context()
    if not call.variables:  # nearly always, and a replay is mostly this
        return quick_execute(*given)  # type: ignore[no-any-return]
    with state.contents(call.variables):
        return quick_execute(*given)  # type: ignore[no-any-return]


def _as_recorded(tensor: Native, dtype: int) -> Native:
    return tensor if tensor._datatype_enum() == dtype else tf.cast(tensor, tf.as_dtype(dtype))


def cast(array: Native, precision: Precision) -> Native:
    wider = None if precision is None else table.WIDER.get(array._datatype_enum())
    return array if wider is None else tf.cast(array, wider)


def to_numpy(array: Native) -> Array:
    """NumPy's view of a tensor; bfloat16 and float8, which NumPy has not, become float32."""
    if array._datatype_enum() in _UNKNOWN_TO_NUMPY:
        array = tf.cast(array, tf.float32)
    return array._numpy()  # type: ignore[no-any-return]


def from_numpy(array: Array) -> Native:
    """A tensor on the array's own memory where it is laid out as TensorFlow needs it."""
    array = np.ascontiguousarray(array) if array.ndim else array
    code = tf.as_dtype(array.dtype).as_datatype_enum
    return ops.EagerTensor(array, context.context().device_name, code)


# --- versions ------------------------------------------------------------------------------------


def to_bfloat16(array: Native) -> Native:
    return tf.cast(array, tf.bfloat16)


def is_foreign(op: Op) -> bool:
    return False  # a user's kernel has no known types, and no float64


def versions() -> dict[str, str]:
    """Versions, and the switches that change values."""
    keras = sys.modules.get("keras")
    within = tf.config.threading.get_intra_op_parallelism_threads()
    between = tf.config.threading.get_inter_op_parallelism_threads()
    experimental = tf.config.experimental
    return {
        "tensorflow": tf.__version__,
        **({"keras": keras.__version__} if keras else {}),
        "threads": f"{within or 'all cores'} within an operation, {between or 'all cores'} between",
        "TF32": "on" if experimental.tensor_float_32_execution_enabled() else "off",
        "oneDNN": "on" if IsMklEnabled() else "off",
        "deterministic operations": "on" if is_op_determinism_enabled() else "off",
    }


_UNKNOWN_TO_NUMPY = {int(dtype.as_datatype_enum) for dtype in (tf.bfloat16, *table.FLOAT8)}
_ADAPTER = sys.modules[__name__]
