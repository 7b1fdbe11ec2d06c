"""What a user hands in: a model of any framework, its mode, its name, its images' layout."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from parity.errors import InputError
from parity.tape import Array

Layout = Literal["NCHW", "NHWC"]
Mode = Literal["eval", "train"]
# An array, or tuples, lists and dicts of arrays.
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
    """

    obj: Any
    framework: str
    name: str
    input_layout: Layout | None = None
    inputs: Inputs = None
    mode: Mode = "eval"
    before: tuple[Stage, ...] = ()


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
        ParityError: the framework is unknown, missing, or cannot be told.
    """
    from parity.frameworks import prepare

    __tracebackhide__ = True  # pytest then shows the caller's line alone
    if input_layout not in (None, "NCHW", "NHWC"):
        raise InputError(f"input_layout is {input_layout!r}; it must be 'NCHW' or 'NHWC'.")
    if mode not in ("eval", "train"):
        raise InputError(f"mode is {mode!r}; it must be 'eval' or 'train'.")
    stages = _stages(before)
    if isinstance(obj, Model):
        return Model(
            obj.obj,
            framework or obj.framework,
            name or obj.name,
            input_layout or obj.input_layout,
            obj.inputs if inputs is None else inputs,
            mode if mode != "eval" else obj.mode,
            stages + obj.before,
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
    """A model's name with its framework, said once."""
    return name if f"({framework})" in name else f"{name} ({framework})"


_NUMERIC = "Give arrays of numbers, dense, or tuples and dicts of them."
_NESTED = "a nested tensor has rows of several lengths; pad them, and nest them in the model"


def as_arrays(inputs: Inputs) -> Inputs:
    """Inputs with every leaf a NumPy array, whatever tensors or lists of numbers they were."""
    found = _as_arrays(inputs)
    if not isinstance(found, np.ndarray) and found and not flatten_inputs(found):
        raise InputError("inputs hold None and no array; give arrays, or tuples and dicts of them.")
    return found


def _as_arrays(inputs: Inputs) -> Inputs:
    if isinstance(inputs, Mapping):
        return {key: _part(item) for key, item in inputs.items()}
    if is_record(inputs):
        return like(inputs, [_part(item) for item in fields_of(inputs).values()])
    if isinstance(inputs, tuple) or (
        isinstance(inputs, list) and any(hasattr(type(item), "shape") for item in inputs)
    ):
        return tuple(_part(item) for item in inputs)
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
    """A part of the inputs; a model may take None for one that it can do without."""
    return None if item is None else _as_arrays(item)


def is_record(thing: object) -> bool:
    """Whether it holds several values by name: a NamedTuple or an instance of a dataclass."""
    if isinstance(thing, tuple):
        return hasattr(thing, "_fields")
    return dataclasses.is_dataclass(thing) and not isinstance(thing, type)


def fields_of(record: Any) -> dict[str, Any]:
    """What a record holds, by name."""
    if isinstance(record, tuple):
        return dict(zip(record._fields, record, strict=True))  # type: ignore[attr-defined]
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
    if isinstance(inputs, Mapping):
        return {key: map_arrays(function, item) for key, item in inputs.items()}
    if is_record(inputs):
        return like(inputs, [map_arrays(function, one) for one in fields_of(inputs).values()])
    if isinstance(inputs, tuple):
        return tuple(map_arrays(function, item) for item in inputs)
    return None if inputs is None else function(inputs)


def flatten_inputs(inputs: Inputs, path: str = "") -> dict[str, Array]:
    """Arrays by path: `"0"`, `"obs"`, `"1/h"`."""
    if inputs is None:
        return {}
    if isinstance(inputs, Mapping):
        items: Any = inputs.items()
    elif is_record(inputs):
        items = fields_of(inputs).items()
    elif isinstance(inputs, tuple):
        items = enumerate(inputs)
    else:
        return {path or "0": inputs}
    found: dict[str, Array] = {}
    for key, item in items:
        found |= flatten_inputs(item, f"{path}/{key}" if path else str(key))
    return found


def bind(
    function: Callable[..., Any], inputs: Inputs, training: bool = False
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """How `function` takes `inputs`: positional for an array or tuple, named for a dict.

    A dict goes as keywords where the names are the function's own, else as one argument, the way
    models over dict observations take it. A record goes as one argument, and by its fields where
    the function does not take one.

    Args:
        training: what an argument of that name is to be, where the function asks for one.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        signature = None
    args, kwargs = _bound(signature, inputs)
    asked = signature.parameters.get("training") if signature is not None else None
    if signature is not None and asked is not None and asked.kind is not asked.POSITIONAL_ONLY:
        try:
            given = signature.bind_partial(*args, **kwargs).arguments
        except TypeError:  # the call will say what does not fit
            return args, kwargs
        if "training" not in given and (training or asked.default is asked.empty):
            kwargs = {**kwargs, "training": training}
    return args, kwargs


def _bound(
    signature: inspect.Signature | None, inputs: Inputs
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if is_record(inputs):
        if _takes(signature, inputs):
            return (inputs,), {}
        return _bound(signature, fields_of(inputs))
    if isinstance(inputs, tuple):
        return _by_position(signature, inputs)
    if not isinstance(inputs, Mapping):
        return (inputs,), {}
    if signature is None or not _takes(signature, **inputs):
        return (dict(inputs),), {}
    if any(name in signature.parameters for name in inputs):
        return (), dict(inputs)
    return (dict(inputs),), {}


def _by_position(
    signature: inspect.Signature | None, inputs: tuple[Any, ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The last inputs go by name where a function asks for as many by name alone."""
    if signature is None or _takes(signature, *inputs):
        return inputs, {}
    asked = [one for name, one in signature.parameters.items() if name != "training"]
    places = [one for one in asked if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    names = [one.name for one in asked if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    count = len(places)
    if len(inputs) != count + len(names):
        return inputs, {}
    return inputs[:count], dict(zip(names, inputs[count:], strict=True))


def _takes(signature: inspect.Signature | None, *args: Any, **kwargs: Any) -> bool:
    """Whether a call fits; `training` is given where a function asks for it."""
    if signature is None:
        return True
    try:
        bound = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:
        return False
    return all(
        name in bound
        or name == "training"
        or one.default is not one.empty
        or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        for name, one in signature.parameters.items()
    )
