"""Records a model in the way in which it takes its inputs, where it fails on them as given."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from parity.errors import ModelError, ParityError
from parity.inputs.binding import bind, signature_of, signed, takes, ways, without_flag
from parity.inputs.preprocessing import record
from parity.model import Inputs, Model, fields_of, flatten_given, is_container, is_record
from parity.tape import Tape

# What calls raise that do not fit, and code that reads a container of another kind.
_MISREAD = (TypeError, KeyError, AttributeError, IndexError, ValueError)


def fitted(model: Model, reference: Model | None, inputs: Inputs) -> tuple[Model, Tape]:
    """The model as it takes the inputs, and its tape.

    They are given as they are first. Where the model fails on that, other containers and arguments
    are tried in the order of `binding.ways`, and the first in which it runs is its way.

    Args:
        reference: the model for which the inputs were written; None without others.

    Raises:
        ModelError: it runs in none; the message is that for the inputs as given, and states what
            the model takes.
    """
    try:
        return model, record(model, inputs)
    except ModelError as error:
        # a stage before it makes its inputs: they are its author's
        if not isinstance(error.__cause__, _MISREAD) or model.way is not None or model.before:
            raise
        reference = reference or model
        for way in ways(model, reference, inputs):
            other = replace(model, way=way.arrange)
            try:
                tape = record(other, inputs)
            except ParityError:
                continue
            if way.order:
                tape.caveats.append(_renamed(model, way.order))
            return other, tape
        advised = _advice(model, reference, inputs)
        raise (ModelError(f"{error}\n{advised}") if advised else error) from error.__cause__


def _renamed(model: Model, order: tuple[tuple[str, str], ...]) -> str:
    pairs = ", ".join(f"{name!r} as {other}" for name, other in order)
    return (
        f"{model.name} has other names for its arguments than the inputs have: it got {pairs}, by "
        "their order"
    )


# --- what to write where a model does not take its inputs as they were given ---------------------


def _advice(model: Model, reference: Model, inputs: Inputs) -> str:
    """What a model takes, what it was given, and what to write; "" where neither is in doubt."""
    inputs, _ = without_flag(inputs)
    signature = signature_of(signed(model))
    args, kwargs = bind(signed(model), inputs)
    sentences = []
    fits = takes(signature, *args, **kwargs)
    read = any(map(is_container, (*args, *kwargs.values())))
    if signature is not None and (read or not fits):
        sentences.append(
            f"{model.name} takes {_written(signature)}, and was given {_named(inputs)}."
        )
        other = signature_of(signed(reference))
        if model is not reference and other is not None:
            sentences.append(f"{reference.name} takes {_written(other)}.")
        sentences.append(_to_write(inputs))
    if any(isinstance(one, (bool, int, float)) for one in flatten_given(inputs).values()):
        sentences.append(
            "Numbers and flags of Python's are passed on as they are: for an array of one "
            "number give np.float32(...)."
        )
    return " ".join(sentences)


def _written(signature: inspect.Signature) -> str:
    """A signature without its annotations."""
    empty = inspect.Parameter.empty
    plain = [one.replace(annotation=empty) for one in signature.parameters.values()]
    return str(inspect.Signature(plain))


def _named(inputs: Inputs) -> str:
    if is_record(inputs):
        return f"a {type(inputs).__name__} of {_listed([*fields_of(inputs)])}"
    if isinstance(inputs, Mapping):
        return f"a dict of {_listed([*inputs])}"
    return f"a tuple of {len(inputs)}" if isinstance(inputs, tuple) else "one array"


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(repr, names))


def _to_write(inputs: Inputs) -> str:
    own = "or give the model inputs of its own: parity.wrap(model, inputs=...)"
    if isinstance(inputs, tuple) and not is_record(inputs):
        return (
            "Each part of a tuple is an argument. An argument that is a tuple itself is written "
            f"((first, second),). Give one part for each argument, {own}."
        )
    return f"Give a tuple with one part for each argument, in their order, {own}."
