"""How a model takes its inputs: what goes as which argument, and in which container.

First as they are given, the way its user would call it: `bind`. A model that fails on that may read
the same arrays in another container; `ways` has those that are tried, in this order. Each hands
over every array under the name, or at the place, that the caller gave it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from parity.errors import InputError
from parity.frameworks import load
from parity.model import (
    Inputs,
    Model,
    fields_of,
    flatten_given,
    is_container,
    is_record,
    map_given,
    name_of,
    parts_of,
    through,
    with_lists,
)

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
FLAG = "training"

# --- as they are given ---------------------------------------------------------------------------


def bound(model: Model, inputs: Inputs, flagged: bool = False) -> Arguments:
    """How a model takes its inputs, in the way that was found for it.

    Args:
        inputs: of any framework's tensors, in the caller's structure.
        flagged: whether it takes `training` whatever its signature.
    """
    given, stated = without_flag(inputs)
    if model.way is not None:
        given = model.way(given)
    return _with_lists(
        _flagged(signed(model), given, stated, model.mode == "train", model.name, flagged)
    )


def signed(model: Model) -> Callable[..., Any]:
    """The function whose signature a model has."""
    return load(model.framework).signed(model.obj)


def bind(function: Callable[..., Any], inputs: Inputs, training: bool = False) -> Arguments:
    """How `function` takes `inputs`: positional for an array or tuple, named for a dict.

    A dict goes as keywords where the names are the function's own, else as one argument, the way
    models over dict observations take it. A record goes as one argument, and by its fields where
    the function does not take one. A flag `training` in a dict goes to functions that take it.

    Args:
        training: what an argument of that name is to be, where the function asks for one.

    Raises:
        InputError: the dict's flag is another, and the function does not take it.
    """
    return _with_lists(_flagged(function, *without_flag(inputs), training, name_of(function)))


def _with_lists(arguments: Arguments) -> Arguments:
    args, kwargs = arguments
    return tuple(map(with_lists, args)), {name: with_lists(one) for name, one in kwargs.items()}


def without_flag(inputs: Inputs) -> tuple[Inputs, bool | None]:
    """The inputs without a flag `training` of the caller's, and its value."""
    stated = inputs.get(FLAG) if isinstance(inputs, Mapping) else None
    if not isinstance(stated, bool):
        return inputs, None
    return {name: item for name, item in inputs.items() if name != FLAG}, stated


def _flagged(
    function: Callable[..., Any],
    inputs: Inputs,
    stated: bool | None,
    training: bool,
    name: str,
    flagged: bool = False,
) -> Arguments:
    signature = signature_of(function)
    args, kwargs = _bound(signature, inputs)
    known = {} if signature is None else signature.parameters
    asked = known.get(FLAG)
    if stated is not None:
        any_name = any(one.kind is one.VAR_KEYWORD for one in known.values())
        if flagged or asked is not None or any_name or signature is None:
            return args, {**kwargs, FLAG: stated}
        if stated != training:
            raise InputError(
                f"The inputs say {FLAG}={stated}, and {name} takes no such argument. Say it of the "
                f"model: parity.wrap(model, mode={'train' if stated else 'eval'!r})."
            )
    if signature is not None and asked is not None and asked.kind is not asked.POSITIONAL_ONLY:
        try:
            given = signature.bind_partial(*args, **kwargs).arguments
        except TypeError:  # the call will say what does not fit
            return args, kwargs
        if FLAG not in given and (training or asked.default is asked.empty):
            kwargs = {**kwargs, FLAG: training}
    return args, kwargs


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _bound(signature: inspect.Signature | None, inputs: Inputs) -> Arguments:
    if isinstance(inputs, _Named):
        return (), dict(inputs)
    if is_record(inputs):
        if takes(signature, inputs):
            return (inputs,), {}
        return _bound(signature, fields_of(inputs))
    if isinstance(inputs, tuple):
        return _by_position(signature, inputs)
    if not isinstance(inputs, Mapping):
        return (inputs,), {}
    names = all(isinstance(name, str) for name in inputs)
    if signature is None or not names or not takes(signature, **inputs):
        return (dict(inputs),), {}
    known = signature.parameters
    placed = any(one.kind in (*_PLACED, one.VAR_POSITIONAL) for one in known.values())
    if any(name in known for name in inputs) or not placed:  # `**observation` takes any name
        return (), dict(inputs)
    return (dict(inputs),), {}


def _by_position(signature: inspect.Signature | None, inputs: tuple[Any, ...]) -> Arguments:
    """The last inputs go by name where a function asks for as many by name alone."""
    if signature is None or takes(signature, *inputs):
        return inputs, {}
    asked = [one for name, one in signature.parameters.items() if name != FLAG]
    places = [one for one in asked if one.kind in _PLACED]
    names = [one.name for one in asked if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    count = len(places)
    if len(inputs) != count + len(names):
        return inputs, {}
    return inputs[:count], dict(zip(names, inputs[count:], strict=True))


_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def takes(signature: inspect.Signature | None, *args: Any, **kwargs: Any) -> bool:
    """Whether a call fits; `training` is given where a function asks for it."""
    if signature is None:
        return True
    try:
        given = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:
        return False
    return all(
        name in given
        or name == FLAG
        or one.default is not one.empty
        or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        for name, one in signature.parameters.items()
    )


# --- other ways ----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Way:
    """Another way to hand a model its inputs.

    Attributes:
        arrange: gives inputs of the same structure in another one, which `bind` then takes.
        order: arguments that stand for others by their order, as `(name, argument)`.
    """

    arrange: Callable[[Inputs], Inputs]
    order: tuple[tuple[str, str], ...] = ()


def ways(model: Model, reference: Model, inputs: Inputs) -> Iterator[Way]:
    """The ways in which a model may take inputs on which it fails as they are given.

    All as before, as one argument, or with the parts of the one argument as arguments of their
    own: by names, or in the order of a record's fields or of the reference's arguments where there
    are as many; by names also to what takes any name and hands it on. Each of them with containers
    as they are, with dicts or tuples in place of what has fields, and with fields in place of
    dicts. At last with tensors in place of numbers.
    """
    function = signed(model)
    signature = signature_of(function)
    if signature is None or not is_container(inputs):
        return
    inputs, _ = without_flag(inputs)
    tried = [_outline(bind(function, inputs))]
    passings: list[tuple[Callable[[Inputs], Inputs], Any]] = [(_as_given, ())]
    if not any(one.kind is one.VAR_POSITIONAL for one in signature.parameters.values()):
        passings += [(_as_one, ()), (_spread, ())]
        order = _in_order(signature, signature_of(signed(reference)), _whole(inputs))
        passings += [(partial(_renamed, dict(order)), order)] if order else []
    if any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values()):
        passings.append((_by_name, ()))
    for passing, names in passings:
        for kind in (None, _with_dicts, _with_fields_within, _with_fields, _with_tuples):
            arrange = passing if kind is None else partial(_both, kind, passing)
            args, kwargs = bind(function, arrange(inputs))
            outline = _outline((args, kwargs))
            if outline not in tried and takes(signature, *args, **kwargs):
                tried.append(outline)
                yield Way(arrange, names)
    if any(map(_is_number, flatten_given(inputs).values())):
        yield Way(partial(_with_arrays, load(model.framework).from_numpy))


def _both(
    kind: Callable[[Inputs], Inputs], passing: Callable[[Inputs], Inputs], inputs: Inputs
) -> Inputs:
    return kind(passing(inputs))


def _as_given(inputs: Inputs) -> Inputs:
    return inputs


class _Named(dict[str, Any]):
    """Parts that go by name, to a function that hands any name on."""


def _by_name(inputs: Inputs) -> Inputs:
    found = _spread(inputs)
    return _Named(found) if isinstance(found, Mapping) else found


def _as_one(inputs: Inputs) -> Inputs:
    return (_whole(inputs),)


def _spread(inputs: Inputs) -> Inputs:
    whole = _whole(inputs)
    return fields_of(whole) if is_record(whole) else whole


def _renamed(names: Mapping[str, str], inputs: Inputs) -> Inputs:
    return {names.get(name, name): item for name, item in _spread(inputs).items()}


def _whole(inputs: Inputs) -> Inputs:
    """The container that all is in: that of the one argument, where one is given."""
    one = isinstance(inputs, tuple) and not is_record(inputs) and len(inputs) == 1
    return inputs[0] if one and is_container(inputs[0]) else inputs


def _in_order(
    own: inspect.Signature, reference: inspect.Signature | None, whole: Inputs
) -> tuple[tuple[str, str], ...]:
    """Which argument each of the names is by its order; () where that is not clear.

    A dict has no order but that in which the reference has its names as arguments. Of what may be
    left out, a single one can be known by its order.
    """
    if isinstance(whole, tuple) and not is_record(whole):
        return ()
    names = [*parts_of(whole)]
    if len(names) > 1 and not is_record(whole):
        known = [name for name in (reference.parameters if reference else ()) if name in names]
        if len(known) < len(names):
            return ()
        names = known
    asked = [
        one
        for name, one in own.parameters.items()
        if name != FLAG and one.kind in (*_PLACED[1:], one.KEYWORD_ONLY)
    ]
    needed = [one for one in asked if one.default is one.empty]
    for arguments in (needed, asked):
        others = [
            (name, one) for name, one in zip(names, arguments, strict=False) if name != one.name
        ]
        moved = any(name in own.parameters for name, _ in others)
        optional = sum(one.default is not one.empty for _, one in others)
        if len(arguments) == len(names) and not moved and optional <= 1:
            return tuple((name, one.name) for name, one in others)
    return ()


# --- containers ----------------------------------------------------------------------------------


def _with_dicts(inputs: Inputs) -> Inputs:
    """Dicts in place of what has fields."""
    return through(_with_dicts, fields_of(inputs) if is_record(inputs) else inputs)


def _with_tuples(inputs: Inputs) -> Inputs:
    """Tuples in place of what has fields, in their order."""
    return through(_with_tuples, tuple(parts_of(inputs).values()) if is_record(inputs) else inputs)


def _with_fields(inputs: Inputs) -> Inputs:
    """Objects with fields in place of dicts; no tuples, as a dict's order is nobody's word."""
    if not isinstance(inputs, Mapping) or not all(
        isinstance(key, str) and key.isidentifier() for key in inputs
    ):
        return _with_fields_within(inputs)
    made = dataclasses.make_dataclass("Inputs", list(inputs), eq=False)
    return made(*(_with_fields(item) for item in inputs.values()))


def _with_fields_within(inputs: Inputs) -> Inputs:
    """Likewise, where the dict of all inputs has the names of arguments."""
    return inputs if is_record(inputs) else through(_with_fields, inputs)


def _with_arrays(from_numpy: Callable[[Any], Any], inputs: Inputs) -> Inputs:
    """Tensors in place of Python's numbers; a flag stays one."""

    def made(item: Any) -> Any:
        if not _is_number(item):
            return item
        return from_numpy(np.array(item, np.float32 if isinstance(item, float) else np.int64))

    return map_given(made, inputs)


def _is_number(item: object) -> bool:
    return isinstance(item, (int, float)) and not isinstance(item, (bool, np.generic))


def _outline(thing: Any) -> Any:
    """What is the same for structures that hold the same in the same containers."""
    if not is_container(thing):
        return id(thing)
    kind = type(thing).__name__ if is_record(thing) else isinstance(thing, Mapping)
    return kind, {key: _outline(item) for key, item in parts_of(thing).items()}
