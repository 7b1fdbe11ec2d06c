"""How state of TensorFlow and Keras is kept: variables, what graphs are made of, and seeds."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.data.ops.iterator_ops import OwnedIterator
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import polymorphic_function
from tensorflow.python.ops.gen_resource_variable_ops import assign_variable_op, read_variable_op
from tensorflow.python.trackable.data_structures import TrackableDataStructure

from parity.code_owners import body_of
from parity.frameworks.tensorflow_weights import Holdings
from parity.keeping.kept import other_generators
from parity.keeping.leaf import (
    CannotPutBack,
    Flag,
    Leaf,
    Put,
    StateRules,
    kept_flags,
    nothing,
    unchanged,
)
from parity.patching import patched
from parity.tape import Native


def holders() -> tuple[type, ...]:
    found = [tf.__internal__.tracking.AutoTrackable, TrackableDataStructure]
    for keras in _kerases():
        found += [keras.layers.Layer, keras.metrics.Metric, keras.optimizers.Optimizer]
    return (*found, *_seed_generators())


def _kerases() -> list[Any]:
    found = [sys.modules.get(name) for name in ("keras", "tf_keras")]
    return [keras for keras in found if hasattr(keras, "optimizers")]


def _seed_generators() -> list[type]:
    """Keras 3's; Keras 2 has none, and no module for them either."""
    if "keras" not in sys.modules and "tf_keras" not in sys.modules:
        return []
    if not _known_generators:  # asked for each thing that a model holds
        modules = [getattr(keras, "random", None) for keras in _kerases()]
        found = [getattr(module, "SeedGenerator", None) for module in modules]
        _known_generators.extend(kind for kind in found if kind is not None)
    return _known_generators


_known_generators: list[type] = []


def makes(owner: Any, name: Any, before: Any, now: Any) -> bool:
    layers = [keras.layers.Layer for keras in _kerases()]
    return isinstance(now, (tf.Module, *layers)) or _variable(now) is not None


def settings() -> list[Put]:
    eager = context.context()
    rng = getattr(eager, "_rng", None)
    seed, state = eager._seed, rng and rng.getstate()
    shared = _shared_by_keras()
    kept = {name: getattr(shared, name, None) for name in _SEEDS}

    def put_back() -> None:
        for name, before in kept.items() if shared else ():
            if getattr(shared, name, None) is not before:
                setattr(shared, name, before)
        now = getattr(eager, "_rng", None)
        if now is not rng or eager._seed != seed or now and now.getstate() != state:
            eager._seed, eager._rng = seed, rng
            if rng is not None:
                rng.setstate(state)
            forget_streams()

    return [put_back, kept_flags(_flags()), *map(_contents, global_seeds())]


# What `keras.utils.set_random_seed` sets: a seed, and the generator that is made by it.
_SEEDS = ("global_random_seed", "global_seed_generator")


def _flags() -> Iterator[Flag]:
    config = tf.config.experimental
    yield config.tensor_float_32_execution_enabled, config.enable_tensor_float_32_execution
    yield tf.config.functions_run_eagerly, tf.config.run_functions_eagerly
    for keras in _kerases():
        yield keras.mixed_precision.global_policy, keras.mixed_precision.set_global_policy
        for name in ("floatx", "epsilon", "image_data_format"):
            yield getattr(keras.backend, name), getattr(keras.backend, f"set_{name}")


def streams() -> dict[str, Any]:
    rng = getattr(context.context(), "_rng", None)
    seeds = [one.numpy().tobytes() for one in global_seeds()]
    return {"tensorflow": (rng and rng.getstate(), seeds)}


def forget_streams() -> None:
    """Kernels keep a place in their stream of random numbers; they start again."""
    pywrap_tfe.TFE_ContextClearCaches(context.context()._context_handle)


def global_generators() -> list[Any]:
    """Those of `keras.random` and `tf.random`, by which whatever is given none draws."""
    module = sys.modules.get("tensorflow.python.ops.stateful_random_ops")
    of_keras = getattr(_shared_by_keras(), "global_seed_generator", None)
    generators = of_keras, getattr(module, "global_generator", None)
    return [one for one in generators if one is not None]


def global_seeds() -> list[Any]:
    """The variables that their states are."""
    return [one.state for one in global_generators()]


def _shared_by_keras() -> Any:
    """What Keras keeps for the whole process; None where nobody asked it for anything yet."""
    state = sys.modules.get("keras.src.backend.common.global_state")
    return getattr(state, "GLOBAL_STATE_TRACKER", None)


def leaf(thing: Any) -> Leaf | None:
    if _variable(thing) is not None:
        return Leaf(partial(_contents, thing))
    if isinstance(thing, _SAVED):
        return Leaf(partial(_saved, thing))
    if isinstance(thing, tf.queue.QueueBase):
        return Leaf(lambda: unchanged(lambda: int(thing.size())))
    at = next((at for kind, at in _generators() if isinstance(thing, kind)), None)
    if at is not None:
        return Leaf(nothing, (("state", thing.state),), partial(_move, thing.state, at))
    if isinstance(thing, tf.types.experimental.PolymorphicFunction):
        return Leaf(nothing, (("", body_of(thing)),))
    if isinstance(thing, tf.types.experimental.ConcreteFunction):
        return Leaf(nothing, (("", thing.variables),))
    return None


def _generators() -> list[tuple[type, int]]:
    """Classes that draw by a state, and where among its numbers the seed is."""
    return [(tf.random.Generator, -1), *((kind, 0) for kind in _seed_generators())]


def _move(state: Any, at: int, seed: int) -> None:
    variable = _variable(state)
    numbers = read_variable_op(variable.handle, variable.dtype).numpy().copy()
    numbers[at] = seed
    variable.assign(numbers)


def _variable(thing: Any) -> Any:
    """The TensorFlow variable that a thing is, or that a variable of Keras's is made of."""
    if isinstance(thing, tf.Variable):
        return thing
    keras = getattr(sys.modules.get("keras"), "Variable", None)
    held = getattr(thing, "_value", None) if keras and isinstance(thing, keras) else None
    return held if isinstance(held, tf.Variable) else None


def _contents(thing: Any) -> Put:
    """TensorFlow writes into a buffer only where nobody else holds it, so nothing is copied."""
    variable = _variable(thing)
    trains = [(one, one._trainable) for one in (thing, variable) if hasattr(one, "_trainable")]
    contents: Native = None
    with contextlib.suppress(tf.errors.FailedPreconditionError):  # it has no contents yet
        contents = read_variable_op(variable.handle, variable.dtype)

    def put_back() -> None:
        for one, trained in trains:
            if one._trainable != trained:
                one._trainable = trained
        if contents is None:
            return
        now = read_variable_op(variable.handle, variable.dtype)
        if variable.dtype == tf.string or address(now) != address(contents):
            variable.assign(contents)

    return put_back


# What a checkpoint can hold besides variables: iterators through datasets, and tables.
_SAVED = (
    OwnedIterator,
    tf.lookup.experimental.MutableHashTable,
    tf.lookup.experimental.DenseHashTable,
)


def _saved(thing: Any) -> Put:
    contents: Any = None
    with contextlib.suppress(tf.errors.OpError):  # as of a dataset that a generator gives
        contents = thing._serialize_to_tensors()

    def put_back() -> None:
        if contents is None:
            raise CannotPutBack
        thing._restore_from_tensors(contents)

    return put_back


def address(tensor: Native) -> int:
    """Where a tensor's values lie in memory; those of a scalar too."""
    return int(np.frombuffer(tensor, np.uint8).__array_interface__["data"][0])


STATE = StateRules(holders=holders, leaf=leaf, settings=settings, streams=streams, makes=makes)


# --- during a run --------------------------------------------------------------------------------


def snapshot(held: Holdings) -> dict[int, Native]:
    """What variables contain, by their handles' `id`; a later write does not reach it.

    TensorFlow writes into a buffer only where nobody else holds it, so nothing is copied here.
    """
    variables = [one.variable for one in held.variables]
    variables += [getattr(one, "_value", one) for one in global_seeds()]
    found: dict[int, Native] = {}
    for one in variables:
        with contextlib.suppress(tf.errors.FailedPreconditionError):  # it has no contents yet
            found[id(one.handle)] = read_variable_op(one.handle, one.dtype)
    return found


def give_own_memory(held: Holdings) -> None:
    """Gives scalar variables memory of their own, by which what is read of them is known.

    TensorFlow keeps one tensor for all that are 2.5, a constant and what a variable holds alike.
    """
    for one in held.variables:
        handle, dtype = one.variable.handle, one.variable.dtype
        if one.variable.shape.rank or not (dtype.is_floating or dtype.is_integer):
            continue
        with contextlib.suppress(tf.errors.FailedPreconditionError):  # it has no contents yet
            number = read_variable_op(handle, dtype).numpy()
            assign_variable_op(handle, tf.reshape(tf.constant(number.reshape(1)), ()))


@contextlib.contextmanager
def other_seeds(turn: int) -> Iterator[None]:
    """Lets operations draw by other seeds for a while, and by other global generators."""
    eager = context.context()
    seeds = getattr(eager, "_rng", None)
    before = seeds.getstate() if seeds else None
    with contextlib.ExitStack() as generators:
        for number, one in enumerate(global_generators()):
            generators.enter_context(other_generators(one, turn + 100 * number))
        try:
            if seeds:
                seeds.seed(seeds.getrandbits(64) + turn)
            yield
        finally:
            if seeds:
                seeds.setstate(before)


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Holds the garbage collector off: a recording makes many objects and no garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def eagerly() -> Iterator[list[Any]]:
    """Runs the bodies of `tf.function`s as they were written, and lets errors through as raised.

    What is called within it is listed. TensorFlow itself runs a method's translation for graphs
    once there is one, in a temporary file that is not the user's.
    """
    called: list[Any] = []
    original = polymorphic_function.Function.__call__

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        called.append(function)
        if not tf.config.functions_run_eagerly():  # as where TensorFlow vectorises a loop
            return original(function, *args, **kwargs)
        return body_of(function)(*args, **kwargs)

    functions = tf.config.functions_run_eagerly()
    keras: Any = sys.modules.get("keras")
    filtered = keras is not None and keras.config.is_traceback_filtering_enabled()
    try:
        tf.config.run_functions_eagerly(True)
        if filtered:  # Keras would put a page of arguments into every message
            keras.config.disable_traceback_filtering()
        with patched(polymorphic_function.Function, __call__=call):
            yield called
    finally:
        tf.config.run_functions_eagerly(functions)
        if filtered:
            keras.config.enable_traceback_filtering()


def is_traced() -> bool:
    """Whether a `tf.function` has called what runs, and no `tf.numpy_function` in it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = os.path.basename(frame.f_code.co_filename)
        if name in (_EAGERLY, _IN_PYTHON):
            return name == _EAGERLY
        frame = frame.f_back
    return False


_EAGERLY, _IN_PYTHON = os.path.basename(__file__), "script_ops.py"  # of `eagerly`; TensorFlow's
