"""What a user hands in: a model of any framework, its mode, its name, its images' layout."""

from __future__ import annotations

import copy
import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from parity.errors import InputError
from parity.frameworks.recognise import prepare
from parity.outputs.gradients import Cotangents
from parity.tape import Array

Layout = Literal["NCHW", "NHWC"]
Mode = Literal["eval", "train"]
# An array, or tuples, lists and dicts of arrays and of what a model gets as it is.
Inputs = Any
# A function of NumPy arrays that runs before a model.
Stage = Callable[..., Any]


@dataclass(frozen=True)
class Model:
    """A model ready to be compared; made by `wrap`.

    Attributes:
        obj: the user's own object, or a library's face of it; never copied, never changed.
        framework: the name of its framework (`torch`, `tensorflow`, `chainer`, `numpy`).
        name: for reports.
        input_layout: how its images lie, or None for 'as the reference's'.
        inputs: its own inputs, or None for the comparison's.
        mode: the mode it runs in; its flags are put back afterwards.
        before: what the inputs go through first, in order.
        way: how its inputs are rearranged, where it does not take them as they are given.
        cotangents: what its outputs are weighted by, where their gradients are outputs too.
    """

    obj: Any
    framework: str
    name: str
    input_layout: Layout | None = None
    inputs: Inputs = None
    mode: Mode = "eval"
    before: tuple[Stage, ...] = ()
    way: Callable[[Inputs], Inputs] | None = None
    cotangents: Cotangents | None = None


def wrap(
    obj: Any,
    framework: str | None = None,
    input_layout: Layout | None = None,
    inputs: Inputs = None,
    name: str | None = None,
    mode: Mode = "eval",
    before: Sequence[Stage] = (),
) -> Model:
    """Says of a model what cannot be seen from it.

    Args:
        obj: a torch `nn.Module`, a Keras model or layer, a `tf.Module`, a Chainer link, or any
            callable over tensors of one framework.
        framework: the framework of a plain function: `torch`, `tensorflow`, `chainer` or `numpy`.
            Models are recognised, and functions where what they hold and read is of one only.
            `rllib` for a ModelV2 or a `TorchRLModule` of RLlib's, or a method of the latter, which
            are recognised too: their outputs get names; see docs/rllib.md.
        input_layout: `"NCHW"` or `"NHWC"`: how the model takes its images. Four-dimensional
            inputs are permuted from the reference's layout.
        inputs: inputs of its own, in its own layout, in place of the comparison's.
        name: for reports; default the name of the class or function.
        mode: `"eval"` (default) or `"train"`: dropout and batch statistics on or off.
        before: functions of NumPy arrays that the inputs go through first, in order, each a stage
            of its own in the report; see docs/stages.md.

    Raises:
        ParityError: the framework is unknown, missing, or not clear.
    """
    __tracebackhide__ = True  # pytest then shows the caller's line alone
    if input_layout not in (None, "NCHW", "NHWC"):
        raise InputError(f"input_layout is {input_layout!r}; it must be 'NCHW' or 'NHWC'.")
    if mode not in ("eval", "train"):
        raise InputError(f"mode is {mode!r}; it must be 'eval' or 'train'.")
    stages = _stages(before)
    if isinstance(obj, Model):
        return dataclasses.replace(
            obj,
            framework=framework or obj.framework,
            name=name or obj.name,
            input_layout=input_layout or obj.input_layout,
            inputs=obj.inputs if inputs is None else inputs,
            mode=mode if mode != "eval" else obj.mode,
            before=stages + obj.before,
        )
    prepared, framework = prepare(obj, framework)
    return Model(prepared, framework, name or name_of(obj), input_layout, inputs, mode, stages)


def _stages(before: Sequence[Stage]) -> tuple[Stage, ...]:
    stages = (before,) if callable(before) else tuple(before)
    for stage in stages:
        if not callable(stage):
            raise InputError(f"before holds {stage!r}; give functions of NumPy arrays.")
    return stages


def name_of(obj: object) -> str:
    """A short name for a model: a function's own, or its class's."""
    if isinstance(obj, partial):
        return name_of(obj.func)
    own = getattr(obj, "__name__", None)
    if isinstance(own, str) and own != "<lambda>":
        return own
    return "lambda" if own else type(obj).__name__


def full_name(name: str, framework: str) -> str:
    """A model's name with its framework, once."""
    return name if f"({framework})" in name else f"{name} ({framework})"


_NUMERIC = "Give arrays of numbers, dense, or tuples and dicts of them."
_NESTED = "a nested tensor has rows of several lengths; pad them, and nest them in the model"


class Items(tuple[Any, ...]):
    """A list of several parts that the caller gave: the model gets a list again."""


def as_it_is(thing: object) -> bool:
    """Whether a model gets a part of its inputs as the caller gave it, and no tensor of it.

    So it is with None and with Python's own flags, words and numbers: code branches on them.
    """
    return thing is None or (
        isinstance(thing, (bool, int, float, str, enum.Enum)) and not isinstance(thing, np.generic)
    )


def as_arrays(inputs: Inputs) -> Inputs:
    """Inputs as NumPy arrays, whatever tensors or lists of numbers they were.

    What a model gets as it is stays; numbers without an array beside them are arrays themselves.
    """
    found = _as_arrays(inputs)
    if isinstance(found, np.ndarray) or not found or flatten_inputs(found):
        return found
    found = map_given(lambda item: None if item is None else _array(item), found)
    if not flatten_inputs(found):
        raise InputError("inputs hold None and no array; give arrays, or tuples and dicts of them.")
    return found


def _as_arrays(inputs: Inputs) -> Inputs:
    if isinstance(inputs, list) and (not inputs or any(map(_is_a_part, inputs))):
        inputs = Items(inputs)
    return through(_part, inputs) if is_container(inputs) else _array(inputs)


def _is_a_part(item: object) -> bool:
    """Whether an item of a list is a part of the inputs by itself, and no number of an array."""
    if isinstance(item, (list, tuple)) and not is_record(item):
        return any(map(_is_a_part, item))
    whole = hasattr(type(item), "shape") and not isinstance(item, np.generic)
    return whole or isinstance(item, (Mapping, str, enum.Enum)) or is_record(item)


def _array(inputs: Any) -> Array:
    try:
        if hasattr(inputs, "detach"):  # a torch tensor that may require gradients
            inputs = inputs.detach().cpu()
        array = np.asarray(getattr(inputs, "array", inputs))
    except (ValueError, TypeError, RuntimeError) as error:  # of several lengths, sparse, quantised
        nested = getattr(inputs, "is_nested", False)  # torch says of these that it is at fault
        reason = _NESTED if nested else str(error).rstrip(".!")
        raise InputError(f"inputs make no array: {reason}. {_NUMERIC}") from error
    if array.dtype.kind in "OUSMm" or array.dtype.type is np.void:
        raise InputError(f"inputs hold {type(inputs).__name__} of dtype {array.dtype}. {_NUMERIC}")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _part(item: Any) -> Any:
    return item if as_it_is(item) else _as_arrays(item)


def is_record(thing: object) -> bool:
    """Whether it holds values by name: a NamedTuple, a dataclass's instance, a namespace."""
    if isinstance(thing, tuple):
        return hasattr(thing, "_fields")
    if isinstance(thing, SimpleNamespace):
        return True
    return dataclasses.is_dataclass(thing) and not isinstance(thing, type)


def fields_of(record: Any) -> dict[str, Any]:
    """What a record holds, by name."""
    if isinstance(record, tuple):
        return dict(zip(record._fields, record, strict=True))  # type: ignore[attr-defined]
    if isinstance(record, SimpleNamespace):
        return dict(vars(record))
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def like(record: Any, items: Sequence[Any]) -> Any:
    """A record of the same class that holds other values; a dataclass's own code is not run."""
    if isinstance(record, tuple):
        return record._make(items)  # type: ignore[attr-defined]
    made = copy.copy(record)
    for name, item in zip(fields_of(record), items, strict=True):
        object.__setattr__(made, name, item)
    return made


def lay_out(inputs: Inputs, source: Layout | None, target: Layout | None) -> Inputs:
    """Inputs with their four-dimensional arrays permuted from one image layout to the other."""
    source = source or "NCHW"
    target = target or source
    if source == target:
        return inputs
    axes = (0, 2, 3, 1) if target == "NHWC" else (0, 3, 1, 2)
    return map_arrays(lambda array: array.transpose(axes) if array.ndim == 4 else array, inputs)


def map_arrays(function: Callable[[Array], Any], inputs: Inputs) -> Inputs:
    """The same structure, with `function` applied to every array in it."""
    return map_given(lambda item: item if as_it_is(item) else function(item), inputs)


def map_given(function: Callable[[Any], Any], inputs: Inputs) -> Inputs:
    """The same structure, with `function` applied to arrays and to what a model gets as it is."""
    if is_container(inputs):
        return through(partial(map_given, function), inputs)
    return function(inputs)


def with_lists(inputs: Inputs) -> Any:
    """The same structure with the caller's lists in it, as a model gets it."""
    found = through(with_lists, inputs)
    return list(found) if isinstance(found, Items) else found


def through(change: Callable[[Any], Any], inputs: Inputs) -> Inputs:
    """The same container, with every part changed; what is none as it is."""
    if isinstance(inputs, Mapping):
        return {key: change(item) for key, item in inputs.items()}
    if is_record(inputs):
        return like(inputs, [change(item) for item in fields_of(inputs).values()])
    if isinstance(inputs, tuple):
        items = map(change, inputs)
        return Items(items) if isinstance(inputs, Items) else tuple(items)
    return inputs


def is_container(thing: object) -> bool:
    return isinstance(thing, (tuple, Mapping)) or is_record(thing)


def parts_of(container: Any) -> Mapping[Any, Any]:
    """What a container holds, by its keys, names or places."""
    if isinstance(container, Mapping):
        return container
    return fields_of(container) if is_record(container) else dict(enumerate(container))


def flatten_inputs(inputs: Inputs) -> dict[str, Array]:
    """Arrays by path: `"0"`, `"obs"`, `"1/h"`."""
    return {path: item for path, item in flatten_given(inputs).items() if not as_it_is(item)}


def flatten_given(inputs: Inputs, path: str = "") -> dict[str, Any]:
    """Arrays by path, and what a model gets as it is."""
    if not is_container(inputs):
        return {path or "0": inputs}
    found: dict[str, Any] = {}
    for key, item in parts_of(inputs).items():
        found |= flatten_given(item, f"{path}/{key}" if path else str(key))
    return found
