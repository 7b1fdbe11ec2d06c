"""How a Keras model is called: what it takes by name alone, several inputs, whether it trains."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from parity.inputs.binding import FLAG, Arguments, bound
from parity.model import Model, as_it_is, is_record


def keras_arguments(model: Model, tensors: Any) -> Arguments:
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
