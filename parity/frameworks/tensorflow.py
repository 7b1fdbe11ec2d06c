"""TensorFlow and Keras: recorded eagerly through op callbacks, replayed op by op.

The bodies of `tf.function`s are run eagerly while recording, so that every operation is seen, with
its line. A graph that has no Python body any more (a restored SavedModel, a concrete function) is
one operation. Variables are leaves; their reads are the leaf itself.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_callbacks, ops
from tensorflow.python.framework.config import is_op_determinism_enabled
from tensorflow.python.util._pywrap_util_port import IsMklEnabled

from parity.code_owners import is_users_class, is_without_object
from parity.errors import InputError, ModelError
from parity.frameworks import owner_of
from parity.frameworks import tensorflow_keeping as state
from parity.frameworks import tensorflow_weights as weights
from parity.frameworks.invoke import no_tensors, run, takes_as_given
from parity.frameworks.invoke import other_random_state as other_state_of_numpy
from parity.frameworks.protocol import Traits
from parity.frameworks.tensorflow_gradients import BackwardSites, differentiable, gradients
from parity.frameworks.tensorflow_operations import SETTINGS, channel_axis, padding, window
from parity.frameworks.tensorflow_operations import WORDS as WORDS
from parity.frameworks.tensorflow_replay import cast as cast
from parity.frameworks.tensorflow_replay import execute as execute
from parity.frameworks.tensorflow_replay import from_numpy as from_numpy
from parity.frameworks.tensorflow_replay import to_numpy as to_numpy
from parity.frameworks.tensorflow_watcher import Watcher
from parity.frameworks.tensorflow_weights import keras_layers
from parity.frameworks.tensorflow_weights import tensors as tensors
from parity.frameworks.threads import followed
from parity.inputs.binding import FLAG, Arguments, bound
from parity.keeping import left_as_it_was
from parity.model import as_it_is, flatten_inputs, is_record, map_arrays
from parity.outputs import flatten as structure
from parity.outputs.tensors import DENSE, ITSELF, Items, Path
from parity.patching import patched
from parity.recorder import Recorder
from parity.tape import Array, Native, Tape

if TYPE_CHECKING:
    from parity.model import Inputs, Model

name = "tensorflow"

# --- recognise -----------------------------------------------------------------------------------


def recognises(obj: object) -> bool:
    """Keras models and layers, tf.Modules, tf.functions, and what `tf.saved_model.load` returns."""
    functions = (tf.types.experimental.PolymorphicFunction, tf.types.experimental.ConcreteFunction)
    if isinstance(obj, (*keras_layers(), tf.Module, *functions)):
        return True
    return isinstance(obj, tf.__internal__.tracking.AutoTrackable) and (
        callable(obj) or hasattr(obj, "signatures")
    )


def signed(obj: Any) -> Any:
    if isinstance(obj, keras_layers()):
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
    layers = (*keras_layers(), tf.Module)
    held = weights.holdings(model.obj)
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

    sites = None if model.cotangents is None else BackwardSites(watcher, ids)

    def call() -> tuple[Any, structure.Outputs, dict[str, int]]:
        result, flat = _called(model, function, tensors, args, kwargs, held, sites)
        found = {path: recorder.output(item, watcher.value) for path, item in flat.items()}
        return result, flat, found

    host = recorder.host.watching(model.obj)
    kept = left_as_it_was(model.obj), watcher.as_made()
    with kept[0], kept[1], state.eagerly() as called, state.uncollected(), host, _watched(watcher):
        result, flat, outputs = run(model, call)
    if flat.none_of_its_own(recorder.ops):
        raise no_tensors(model, result)
    watcher.name_variables(held)
    for path, value in outputs.items():
        producer = recorder.values[value].op
        if path in flat.gradients:
            continue  # of a bias behind all else it depends on no input
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
    held = weights.holdings(model.obj)

    def outputs(inputs: Inputs) -> dict[str, Array]:
        tensors = _given(model, held, inputs)
        args, kwargs = _arguments(model, tensors)

        def call() -> dict[str, Array]:
            _, flat = _called(model, function, tensors, args, kwargs, held)
            return flat.as_arrays(lambda item: to_numpy(tf.convert_to_tensor(item)))

        eagerly = contextlib.nullcontext() if as_called else state.eagerly()
        with left_as_it_was(model.obj), eagerly:
            return run(model, call)

    return outputs


def _called(
    model: Model,
    function: Callable[..., Any],
    inputs: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    held: weights.Holdings,
    sites: BackwardSites | None = None,
) -> tuple[Any, structure.Outputs]:
    """What a model gives, and its tensors, with their gradients where these are asked for."""
    with _shorter_messages():
        if model.cotangents is None:
            result = function(*args, **kwargs)
            return result, structure.flatten(result, _is_tensor)
        with differentiable(inputs, sites) as tape:
            result = function(*args, **kwargs)
            flat = structure.flatten(result, _is_tensor)
        with contextlib.nullcontext() if sites is None else sites.followed():
            found = gradients(tape, flat, inputs, held, model.cotangents, sites)
            flat.add_gradients(found, _is_tensor)  # rows of a table become one, too
    return result, flat


def _given(model: Model, held: weights.Holdings, inputs: Inputs) -> Any:
    """Inputs as tensors: in float32, or where the model takes none in the dtype of its weights."""
    floating = weights.float_dtype(model.obj, held)

    def tensors(floating: Any) -> Any:
        return map_arrays(lambda array: _input(array, floating), inputs)

    def call() -> None:
        function = _callable(model)
        args, kwargs = _arguments(model, tensors(tf.float32))
        with _shorter_messages(), left_as_it_was(model.obj), state.eagerly():
            function(*args, **kwargs)

    layers = keras_layers()  # which cast their inputs themselves
    if floating != tf.float32 and not isinstance(model.obj, layers):
        floating = tf.float32 if takes_as_given(model, call) else floating
    return tensors(floating)


@contextlib.contextmanager
def other_random_state(turn: int) -> Iterator[None]:
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
    if isinstance(model.obj, keras_layers()):
        return _keras_arguments(model, tensors)
    return bound(model, tensors)


def _is_tensor(thing: object) -> bool:
    return isinstance(thing, (tf.Tensor, tf.Variable, *weights.keras_variables()))


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
    try:
        with patched(base, _numpy=numpy), followed(watcher.in_thread):
            yield
    finally:
        watcher.recorder.done = True
        op_callbacks.remove_op_callback(watcher)


def _keras_arguments(model: Model, tensors: Any) -> Arguments:
    """How the model takes its inputs; with its flag of training, unless the inputs have it."""
    args, kwargs = bound(model, tensors, flagged=True)
    taken = inspect.signature(model.obj.call).parameters.values()
    places = [p.name for p in taken if p.kind is p.POSITIONAL_OR_KEYWORD]
    before = places.index(FLAG) if FLAG in places else len(places)
    if not any(p.kind in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY) for p in taken):
        first = next((at for at, arg in enumerate(args) if not _by_place(arg)), len(args))
        if len(args) <= len(places):
            kwargs = {**kwargs, **dict(zip(places[first:], args[first:], strict=False))}
            args = args[:first]
        if len(args) > before:
            args = (list(args),)  # Keras's own way with several inputs: one list of them
    return args, {FLAG: model.mode == "train", **kwargs}


def _by_place(arg: Any) -> bool:
    """Whether Keras takes an argument by position: tensors, and containers that it knows."""
    if isinstance(arg, Mapping):
        return all(map(_by_place, arg.values()))
    if isinstance(arg, tuple):
        return all(map(_by_place, arg))
    return arg is None or not (as_it_is(arg) or is_record(arg))


# --- what is particular to it --------------------------------------------------------------------


def parts(thing: Any) -> Items | None:
    """Ragged and sparse tensors, rows of gradients, and arrays of tensors."""
    kind = type(thing)
    if owner_of(kind.__module__) != "tensorflow" or is_users_class(kind):
        return None
    if kind.__name__ in ("RaggedTensor", "RaggedTensorValue"):
        splits = enumerate(thing.nested_row_splits)
        return [
            ("values", thing.flat_values),
            *((Path(("row_splits", depth)), split) for depth, split in splits),
        ]
    if kind.__name__ == "IndexedSlices":
        return _rows(thing)
    if kind.__name__ == "TensorArray" and callable(getattr(thing, "stack", None)):
        return [(ITSELF, thing.stack())]
    return _sparse(thing) if kind.__name__ == "SparseTensor" else None


def _sparse(thing: Any) -> Items:
    thing = tf.sparse.reorder(thing)
    if int(np.prod(np.asarray(thing.dense_shape, np.float64))) > DENSE:
        places = ("indices", tf.transpose(thing.indices))
        return [("values", thing.values), places, ("shape", thing.dense_shape)]
    return [(ITSELF, tf.sparse.to_dense(thing))]


def _rows(thing: Any) -> Items:
    """Rows of a gradient, as what they stand for: in any order, and some of them several times."""
    shape = None if thing.dense_shape is None else np.asarray(thing.dense_shape, np.float64)
    if shape is not None and int(np.prod(shape)) <= DENSE:
        return [(ITSELF, tf.convert_to_tensor(thing))]
    places = tf.unique(tf.sort(thing.indices))[0]
    rows = tf.math.unsorted_segment_sum(
        thing.values, tf.searchsorted(places, thing.indices), tf.size(places)
    )
    found = [("values", rows), ("indices", places)]
    return found if shape is None else [*found, ("shape", thing.dense_shape)]


def switches() -> dict[str, str]:
    import keras  # after the user's own settings of its backend

    return {
        "keras": keras.__version__,
        "keras backend": keras.config.backend(),
        "keras floatx": keras.config.floatx(),
        "keras dtype policy": keras.config.dtype_policy().name,
        "keras image data format": keras.config.image_data_format(),
        # the logical ones, for asking after them starts TensorFlow, without which nothing runs
        "devices": ", ".join(device.name for device in tf.config.list_logical_devices()),
    }


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


TRAITS = Traits(
    state=state.STATE,
    settings=SETTINGS,
    weights=weights.WEIGHTS,
    window=window,
    padding=padding,
    channel_axis=channel_axis,
    to_bfloat16=lambda tensor: tf.cast(tensor, tf.bfloat16),
    parts=parts,
    is_shape=lambda thing: isinstance(thing, tf.TensorShape),
    is_stateless=lambda op: op.kind.startswith("Stateless"),
    marks=("_keras_mask",),  # which Keras's layers and losses read of a tensor
    parameters=weights.parameters,
    is_traced=state.is_traced,
    switches=switches,
)
_ADAPTER = sys.modules[__name__]
