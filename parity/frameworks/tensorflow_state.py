"""What a TensorFlow model holds, and how it is left as it was before a run."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any, Protocol

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import polymorphic_function
from tensorflow.python.ops.gen_resource_variable_ops import assign_variable_op, read_variable_op

from parity.code_owners import body_of
from parity.frameworks.tensorflow_keeping import forget_streams, global_generators, global_seeds
from parity.keeping.kept import other_generators
from parity.recorder import discover
from parity.tape import Native
from parity.weights.tensors import distinct

# --- what a model holds --------------------------------------------------------------------------


def keras_layers() -> tuple[Any, ...]:
    """The layer classes of the Kerases in use that run on TensorFlow."""
    found = []
    for name in ("keras", "tf_keras"):
        module = sys.modules.get(name)
        layer = getattr(getattr(module, "layers", None), "Layer", None)
        if layer is None or name == "keras" and _backend(module) != "tensorflow":
            continue
        found.append(layer)
    return tuple(found)


def keras_variables() -> tuple[Any, ...]:
    """The variable class of Keras 3, which is not TensorFlow's."""
    module = sys.modules.get("keras")
    variable = getattr(module, "Variable", None)
    return (variable,) if variable is not None and _backend(module) == "tensorflow" else ()


def _backend(module: Any) -> str:
    config = getattr(module, "config", None)
    backend = getattr(config, "backend", None)
    return str(backend()) if backend else "tensorflow"  # Keras 2 has no other


@dataclass(frozen=True, slots=True)
class Held:
    """A variable that a model holds, its path, and of a running statistic what a batch leaves.

    A state, as that of a recurrent layer with stateful=True, is kept from call to call and is none
    of the weights.
    """

    name: str
    variable: Any
    trainable: bool
    kept: float | None = None
    state: bool = False


@dataclass
class Holdings:
    """What a model holds.

    Attributes:
        layers: by `id`, with their paths.
        inner: the `id`s of models by which Keras runs a Sequential, which the user never sees.
    """

    layers: dict[int, str] = field(default_factory=dict)
    inner: set[int] = field(default_factory=set)
    variables: list[Held] = field(default_factory=list)

    def names(self) -> dict[int, Held]:
        """The variables by the `id` of the handle through which operations read them."""
        return {id(held.variable.handle): held for held in self.variables}


def holdings(obj: Any) -> Holdings:
    """Looks into a model, or into what a function refers to.

    Keras names its variables; those of a `tf.Module` are named by the attributes that hold them.
    """
    walk = _Walk()
    kinds = (*walk.keras, *walk.wrapped, walk.tracked, tf.Variable)
    if isinstance(obj, kinds):
        walk.visit("", obj)
    else:
        for name, thing in discover(obj, lambda item: isinstance(item, kinds)).items():
            walk.visit(name.replace(".", "/"), thing)
        listed = getattr(obj, "variables", None)  # of a restored object, a graph function
        for variable in listed if isinstance(listed, (tuple, list)) else ():
            walk.visit("", variable)
    found = walk.found
    names = distinct([held.name for held in found.variables])  # Keras lets them collide
    found.variables = [
        replace(held, name=name) for held, name in zip(found.variables, names, strict=True)
    ]
    return found


class _Walk:
    """One walk through what models hold; each thing is looked into once."""

    def __init__(self) -> None:
        self.keras, self.wrapped = keras_layers(), keras_variables()
        # a tf.Module, or what was saved of one
        self.tracked = tf.__internal__.tracking.AutoTrackable
        self.found = Holdings()
        self._seen: set[int] = set()
        self._kept: dict[int, float] = {}  # momenta, by the `id` of Keras's variables

    def visit(self, path: str, thing: Any) -> None:
        if isinstance(thing, tf.Variable):
            self._hold(path, thing, bool(thing.trainable))
            return
        if isinstance(thing, self.wrapped):
            self._hold(path, thing._value, bool(thing.trainable))
            return
        if id(thing) in self._seen:
            return
        self._seen.add(id(thing))
        if isinstance(thing, tf.random.Generator):
            self.visit(_join(path, "state"), thing.state)
            return
        if isinstance(thing, (*self.keras, self.tracked)) and path:
            self.found.layers[id(thing)] = path
        if isinstance(thing, self.keras):
            self._layer(path, thing)
        else:
            for key, item in self._items(thing):
                self.visit(_join(path, str(key)), item)

    def _items(self, thing: Any) -> Iterable[tuple[Any, Any]]:
        if isinstance(thing, self.tracked):
            held = vars(thing).items()  # without TensorFlow's own book-keeping
            return [(key, item) for key, item in held if not key.startswith("_self_")]
        if isinstance(thing, Mapping):
            return thing.items()
        return enumerate(thing) if isinstance(thing, (list, tuple)) else ()

    def _layer(self, path: str, thing: Any) -> None:
        for layer in thing._flatten_layers():
            self.found.inner.add(id(getattr(layer, "_functional", None)))
            for key in ("moving_mean", "moving_variance"):
                if hasattr(layer, "momentum") and getattr(layer, key, None) is not None:
                    self._kept[id(getattr(layer, key))] = float(layer.momentum)
        for variable in thing.variables:
            name = str(getattr(variable, "path", variable.name)).split(":")[0]
            name = name.removeprefix(f"{thing.name}/")
            held = getattr(variable, "_value", variable)
            kept = self._kept.get(id(variable))
            self._hold(_join(path, name), held, variable.trainable, kept)
        for layer in thing._flatten_layers():
            inside = "" if layer is thing else layer.name
            for name, variable in _untracked(vars(layer), (*self.wrapped, tf.Variable)):
                held = getattr(variable, "_value", variable)
                self._hold(_join(path, _join(inside, name)), held, False, state=True)

    def _hold(
        self,
        name: str,
        variable: Any,
        trainable: bool,
        kept: float | None = None,
        state: bool = False,
    ) -> None:
        if id(variable) not in self._seen and hasattr(variable, "handle"):
            self._seen.add(id(variable))
            name = name or variable.name.split(":")[0]
            self.found.variables.append(Held(name, variable, trainable, kept, state))


def _untracked(held: Any, kinds: tuple[type, ...], path: str = "") -> Iterator[tuple[str, Any]]:
    """The variables among attributes, in lists, tuples and dicts too: Keras tracks no states."""
    if isinstance(held, kinds):
        yield path, held
    elif isinstance(held, (Mapping, list, tuple)):
        items = held.items() if isinstance(held, Mapping) else enumerate(held)
        for key, item in items:
            if not (isinstance(key, str) and key.startswith("_")):
                yield from _untracked(item, kinds, _join(path, str(key)))


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def float_dtype(obj: Any, held: Holdings) -> Any:
    """The dtype in which a model takes floating inputs: that of its weights."""
    for trainable in (True, False):
        for one in held.variables:
            if one.trainable is trainable and one.variable.dtype.is_floating:
                return one.variable.dtype
    if isinstance(obj, keras_layers()):
        return tf.as_dtype(obj.compute_dtype or "float32")
    return tf.float32


# --- how it is left as it was --------------------------------------------------------------------


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


class Watched(Protocol):
    """What a run did: the variables it wrote, by their handles' `id`; whether it drew numbers."""

    written: set[int]
    drew: bool
    initial: dict[int, tuple[Native, Native]]  # the handles and contents of variables it made


@contextlib.contextmanager
def as_made(watched: Watched) -> Iterator[None]:
    """Gives variables that a run makes what they contained at first, also after an error."""
    try:
        yield
    finally:
        for handle in watched.written & watched.initial.keys():
            assign_variable_op(*watched.initial[handle])
        if watched.drew:
            forget_streams()


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
def contents(variables: Sequence[tuple[Native, Native]]) -> Iterator[None]:
    """Gives variables other contents for a while, by their handles."""
    now = [(handle, read_variable_op(handle, held.dtype)) for handle, held in variables]
    try:
        for handle, held in variables:
            assign_variable_op(handle, held)
        yield
    finally:
        for handle, held in now:
            assign_variable_op(handle, held)


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

    polymorphic_function.Function.__call__ = call
    functions = tf.config.functions_run_eagerly()
    keras: Any = sys.modules.get("keras")
    filtered = keras is not None and keras.config.is_traceback_filtering_enabled()
    try:
        tf.config.run_functions_eagerly(True)
        if filtered:  # Keras would put a page of arguments into every message
            keras.config.disable_traceback_filtering()
        yield called
    finally:
        polymorphic_function.Function.__call__ = original
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
