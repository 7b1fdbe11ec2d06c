"""Records a model in the way in which it takes its inputs, where it fails on them as given."""

from __future__ import annotations

from dataclasses import replace

from parity.errors import ModelError, ParityError
from parity.inputs.binding import ways
from parity.inputs.binding_advice import advice
from parity.inputs.preprocessing import record
from parity.model import Inputs, Model
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
        advised = advice(model, reference, inputs)
        raise (ModelError(f"{error}\n{advised}") if advised else error) from error.__cause__


def _renamed(model: Model, order: tuple[tuple[str, str], ...]) -> str:
    pairs = ", ".join(f"{name!r} as {other}" for name, other in order)
    return (
        f"{model.name} has other names for its arguments than the inputs have: it got {pairs}, by "
        "their order"
    )
