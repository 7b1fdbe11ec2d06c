"""The weights of Keras and TensorFlow: which variables a model holds, how they are laid out."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from parity.frameworks.protocol import WeightRules
from parity.frameworks.tensorflow_replay import from_numpy, to_numpy
from parity.keeping import once
from parity.outputs.tensors import offers
from parity.recorder import discover
from parity.tape import Array
from parity.weights.cell_weights import CellWeights, cells_by_name, weights_of_cell
from parity.weights.tensors import Tensor, distinct

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
        find = partial(discover, obj, lambda item: isinstance(item, kinds))
        for name, thing in once(obj, "tensorflow", find).items():
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

    def visit(self, path: str, thing: Any) -> None:
        variables: tuple[Any, ...] = (tf.Variable, *self.wrapped)
        if isinstance(thing, variables):
            self._hold(path, thing, bool(thing.trainable))
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
        momenta: dict[int, float] = {}  # by the `id` of Keras's variables
        for layer in thing._flatten_layers():
            self.found.inner.add(id(getattr(layer, "_functional", None)))
            for key in ("moving_mean", "moving_variance"):
                if hasattr(layer, "momentum") and getattr(layer, key, None) is not None:
                    momenta[id(getattr(layer, key))] = float(layer.momentum)
        for variable in thing.variables:
            name = str(getattr(variable, "path", variable.name)).split(":")[0]
            name = name.removeprefix(f"{thing.name}/")
            kept = momenta.get(id(variable))
            self._hold(_join(path, name), variable, variable.trainable, kept)
        for layer in thing._flatten_layers():
            inside = "" if layer is thing else layer.name
            for name, variable in _untracked(vars(layer), (*self.wrapped, tf.Variable)):
                self._hold(_join(path, _join(inside, name)), variable, False, state=True)

    def _hold(
        self,
        name: str,
        variable: Any,
        trainable: bool,
        kept: float | None = None,
        state: bool = False,
    ) -> None:
        variable = getattr(variable, "_value", variable)  # what Keras wraps
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


def tensors(obj: object) -> list[Tensor]:
    """Variables of numbers; the states of random generators are none of a model's weights."""
    found: dict[int, Tensor] = {}
    for held in holdings(obj).variables:
        numbers = held.variable.dtype.is_floating or held.variable.dtype.is_complex
        if (numbers or held.trainable) and not held.state:
            found.setdefault(id(held.variable.handle), _tensor(held))
    return list(found.values())


def _tensor(held: Held) -> Tensor:
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


def parameters(thing: Any) -> dict[str, Any] | None:
    """The weights of a tf.Module or a Keras layer, without the state of its generators."""
    if not offers(thing, "with_name_scope") and not offers(thing, "get_weights", "get_config"):
        return None
    held: Any = getattr(thing, "weights", None) or getattr(thing, "variables", ())
    own = f"{getattr(thing, 'name', '')}/"  # which Keras counts on with each layer
    return {getattr(one, "path", one.name).removeprefix(own): one for one in held}


# --- how weights are laid out and stored ---------------------------------------------------------

_CELL = re.compile(r"(?P<cell>.*/)?(?P<role>kernel|recurrent_kernel|bias)$")
_GATES = {3: (1, 0, 2)}  # a GRU's are z, r, n; an LSTM's are in the common order
_FORMATS = ("keras", "keras-weights", "keras-h5")


def _cell(own: Mapping[str, Array]) -> CellWeights | None:
    if not {"kernel", "recurrent_kernel"} <= set(own):
        return None
    units, columns = own["recurrent_kernel"].shape
    order = _GATES.get(columns // units, tuple(range(columns // units)))

    def rows(array: Array) -> Array:  # (..., gates x units) to (gates x units, ...)
        gates = array.reshape(*array.shape[:-1], len(order), units)[..., order, :]
        return np.moveaxis(gates.reshape(*array.shape), -1, 0)

    biases = [rows(one) for one in np.atleast_2d(own["bias"])] if "bias" in own else []
    return weights_of_cell(units, rows(own["kernel"]), rows(own["recurrent_kernel"]), biases)


def own_writer(obj: Any, name: str) -> Callable[[str], Any] | None:
    found = getattr(obj, "save_weights" if name.endswith(".weights.h5") else "save", None)
    return found if callable(found) else None


def own_reader(obj: Any, format: str) -> Callable[[str], Any] | None:
    found = getattr(obj, "load_weights", None) if format in _FORMATS else None
    return found if callable(found) else None


def input_shapes(obj: Any) -> list[tuple[int | None, ...]]:
    return [tuple(getattr(one, "shape", ())) for one in getattr(obj, "inputs", None) or ()]


def takes_channels_last(obj: Any) -> bool:
    for layer in getattr(obj, "layers", None) or ():
        if type(layer).__name__ not in ("InputLayer", "Rescaling"):
            window = hasattr(layer, "kernel_size") or hasattr(layer, "pool_size")
            return window and getattr(layer, "data_format", None) == "channels_last"
    return False


WEIGHTS = WeightRules(
    cells=partial(cells_by_name, pattern=_CELL, reader=_cell),
    own_writer=own_writer,
    own_reader=own_reader,
    input_shapes=input_shapes,
    takes_channels_last=takes_channels_last,
)
